"""Search with attention of two heads and weight feedback; layers of all hypotheses read from outside."""

extern_data = {"data": {"dim": 5}, "classes": {"dim": 6, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "enc_ctx": {"class": "linear", "activation": None, "n_out": 5, "from": "encoder"},
    "fertility": {"class": "linear", "activation": "sigmoid", "with_bias": False, "n_out": 2, "from": "encoder"},
    "enc_value": {"class": "split_dims", "axis": "F", "dims": (2, 3), "from": "encoder"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
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
            "target_embed": {
                "class": "linear",
                "activation": None,
                "with_bias": False,
                "n_out": 4,
                "from": "output",
                "initial_output": 0,
            },
            "weight_feedback": {
                "class": "linear",
                "activation": None,
                "with_bias": False,
                "n_out": 5,
                "from": "prev:accum",
            },
            "s_transformed": {"class": "linear", "activation": None, "with_bias": False, "n_out": 5, "from": "s"},
            "energy_in": {
                "class": "combine",
                "kind": "add",
                "n_out": 5,
                "from": ["base:enc_ctx", "weight_feedback", "s_transformed"],
            },
            "energy_tanh": {"class": "activation", "activation": "tanh", "from": "energy_in"},
            "energy": {"class": "linear", "activation": None, "with_bias": False, "n_out": 2, "from": "energy_tanh"},
            "weights": {"class": "softmax_over_spatial", "from": "energy", "is_output_layer": True},
            "accum": {
                "class": "eval",
                "from": ["prev:accum", "weights", "base:fertility"],
                "eval": "source(0) + source(1) * source(2) * 0.5",
                "out_type": {"dim": 2, "shape": (None, 2)},
                "is_output_layer": True,
            },
            "att0": {"class": "generic_attention", "weights": "weights", "base": "base:enc_value"},
            "att": {"class": "merge_dims", "axes": "except_batch", "from": "att0", "is_output_layer": True},
            "s": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 5, "from": ["prev:target_embed", "prev:att"]},
            "readout_in": {
                "class": "linear",
                "activation": None,
                "n_out": 6,
                "from": ["s", "prev:target_embed", "att"],
            },
            "readout": {"class": "reduce_out", "mode": "max", "num_pieces": 2, "from": "readout_in"},
            "output_prob": {
                "class": "softmax",
                "from": "readout",
                "dropout": 0.3,
                "target": "classes",
                "loss": "ce",
                "loss_only_on_non_search": True,
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
fetch = ["output", "output/weights", "output/accum", "output/att", "decision"]
lens = {"data": [7, 4, 5], "classes": [4, 2, 3]}
search = True
param_scale = 0.8
param_seed = 22
