"""A loop in a loop: over the encoder frames for every label; an inner cell over them as well."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["embed", "prev:summary"]},
            "x": {"class": "combine", "kind": "add", "from": ["base:encoder", "s"]},
            "inner": {
                "class": "rec",
                "from": "x",
                "unit": {
                    "a": {
                        "class": "linear",
                        "activation": "tanh",
                        "n_out": 3,
                        "from": ["data:source", "prev:a", "base:s"],
                    },
                    "output": {"class": "combine", "kind": "add", "from": ["a", "prev:output"]},
                },
            },
            "cell": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "from": "x", "direction": -1},
            "energy": {"class": "linear", "activation": None, "n_out": 1, "from": ["inner", "cell"]},
            "weights": {"class": "softmax_over_spatial", "from": "energy"},
            "summary0": {"class": "generic_attention", "weights": "weights", "base": "base:encoder"},
            "summary": {"class": "merge_dims", "axes": "except_batch", "from": "summary0", "is_output_layer": True},
            "prob": {"class": "softmax", "from": ["summary", "s"], "target": "classes", "loss": "ce"},
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
        },
    },
}
fetch = ["output", "output/summary"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
train = True
param_scale = 0.7
