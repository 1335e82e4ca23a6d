"""Transformer decoder block with relative positions and cross attention, everything in the loop; training."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "dec_key0": {"class": "linear", "activation": None, "with_bias": False, "n_out": 6, "from": "encoder"},
    "dec_value0": {"class": "linear", "activation": None, "with_bias": False, "n_out": 6, "from": "encoder"},
    "dec_key": {"class": "split_dims", "axis": "F", "dims": (2, 3), "from": "dec_key0"},
    "dec_value": {"class": "split_dims", "axis": "F", "dims": (2, 3), "from": "dec_value0"},
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
            "embed": {"class": "linear", "activation": None, "with_bias": False, "n_out": 6, "from": "prev:output"},
            "self_norm": {"class": "layer_norm", "from": "embed"},
            "rel_pos": {"class": "relative_positional_encoding", "n_out": 3, "clipping": 2, "from": "self_norm"},
            "self_att": {
                "class": "self_attention",
                "num_heads": 2,
                "total_key_dim": 6,
                "n_out": 6,
                "attention_left_only": True,
                "key_shift": "rel_pos",
                "from": "self_norm",
            },
            "self_out": {"class": "combine", "kind": "add", "n_out": 6, "from": ["embed", "self_att"]},
            "query0": {"class": "linear", "activation": None, "with_bias": False, "n_out": 6, "from": "self_out"},
            "query": {"class": "split_dims", "axis": "F", "dims": (2, 3), "from": "query0"},
            "energy": {
                "class": "dot",
                "red1": -1,
                "red2": -1,
                "var1": "T",
                "var2": "T?",
                "from": ["base:dec_key", "query"],
            },
            "weights": {"class": "softmax_over_spatial", "energy_factor": 3**-0.5, "from": "energy"},
            "att0": {"class": "generic_attention", "weights": "weights", "base": "base:dec_value"},
            "att": {"class": "merge_dims", "axes": "static", "from": "att0"},
            "decoder": {
                "class": "combine",
                "kind": "add",
                "n_out": 6,
                "from": ["self_out", "att"],
                "is_output_layer": True,
            },
            "output_prob": {"class": "softmax", "from": "decoder", "target": "classes", "loss": "ce"},
        },
    },
}
fetch = ["output", "output/decoder"]
lens = {"data": [7, 4, 5], "classes": [4, 2, 3]}
train = True
