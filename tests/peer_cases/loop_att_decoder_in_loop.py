"""Attention decoder in training, everything left in the loop: losses and gradients as when moved out."""

extern_data = {"data": {"dim": 5}, "classes": {"dim": 6, "sparse": True, "available_for_inference": False}}
network = {
    "enc_fw": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "direction": 1, "from": "data"},
    "enc_bw": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "direction": -1, "from": "data"},
    "encoder": {"class": "copy", "from": ["enc_fw", "enc_bw"]},
    "enc_ctx": {"class": "linear", "activation": None, "with_bias": True, "n_out": 5, "from": "encoder"},
    "inv_fertility": {"class": "linear", "activation": "sigmoid", "with_bias": False, "n_out": 1, "from": "encoder"},
    "enc_value": {"class": "split_dims", "axis": "F", "dims": (1, 4), "from": "encoder"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "optimize_move_layers_out": False,
        "max_seq_len": "max_len_from('base:encoder')",
        "unit": {
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "from": "output_prob",
                "initial_output": 0,
            },
            "end": {"class": "compare", "value": 0, "from": "output"},
            "embed": {
                "class": "linear",
                "activation": None,
                "with_bias": False,
                "n_out": 4,
                "from": "output",
                "initial_output": 0,
            },
            "feedback": {
                "class": "linear",
                "activation": None,
                "with_bias": False,
                "n_out": 5,
                "from": "prev:accum_weights",
            },
            "s_ctx": {"class": "linear", "activation": None, "with_bias": False, "n_out": 5, "from": "s"},
            "energy_in": {"class": "combine", "kind": "add", "n_out": 5, "from": ["base:enc_ctx", "feedback", "s_ctx"]},
            "energy_tanh": {"class": "activation", "activation": "tanh", "from": "energy_in"},
            "energy": {"class": "linear", "activation": None, "with_bias": False, "n_out": 1, "from": "energy_tanh"},
            "weights": {"class": "softmax_over_spatial", "from": "energy"},
            "accum_weights": {
                "class": "eval",
                "from": ["prev:accum_weights", "weights", "base:inv_fertility"],
                "eval": "source(0) + source(1) * source(2) * 0.5",
                "out_type": {"dim": 1, "shape": (None, 1)},
            },
            "att0": {"class": "generic_attention", "weights": "weights", "base": "base:enc_value"},
            "att": {"class": "merge_dims", "axes": "except_batch", "from": "att0"},
            "s": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 5, "from": ["prev:embed", "prev:att"]},
            "readout_in": {"class": "linear", "activation": None, "n_out": 6, "from": ["s", "prev:embed", "att"]},
            "readout": {
                "class": "reduce_out",
                "mode": "max",
                "num_pieces": 2,
                "from": "readout_in",
                "is_output_layer": True,
            },
            "output_prob": {
                "class": "softmax",
                "from": "readout",
                "dropout": 0.0,
                "target": "classes",
                "loss": "ce",
                "loss_opts": {"label_smoothing": 0.1},
            },
        },
    },
    "decision": {
        "class": "decide",
        "from": "output",
        "loss": "edit_distance",
        "target": "classes",
        "only_on_search": True,
    },
}
fetch = ["encoder", "output", "output/readout"]
lens = {"data": [7, 4, 5], "classes": [4, 2, 3]}
train = True
param_scale = 0.8
