"""Attention in a subnetwork of the unit, with prev: and base:base: inside of it."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "ctx": {"class": "linear", "activation": None, "n_out": 3, "from": "encoder"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "output", "initial_output": 0},
            "s": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 4, "from": ["prev:embed", "prev:att"]},
            "att": {
                "class": "subnetwork",
                "from": "s",
                "subnetwork": {
                    "query": {"class": "linear", "activation": None, "n_out": 3, "from": "data"},
                    "feedback": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:accum"},
                    "energy_in": {
                        "class": "combine",
                        "kind": "add",
                        "from": ["base:base:ctx", "query", "feedback"],
                    },
                    "energy_tanh": {"class": "activation", "activation": "tanh", "from": "energy_in"},
                    "energy": {"class": "linear", "activation": None, "n_out": 1, "from": "energy_tanh"},
                    "weights": {"class": "softmax_over_spatial", "from": "energy"},
                    "accum": {
                        "class": "eval",
                        "eval": "source(0) + source(1)",
                        "from": ["prev:accum", "weights"],
                        "out_type": {"dim": 1, "shape": (None, 1)},
                    },
                    "att0": {"class": "generic_attention", "weights": "weights", "base": "base:base:encoder"},
                    "output": {"class": "merge_dims", "axes": "except_batch", "from": "att0"},
                },
            },
            "prob": {"class": "softmax", "from": ["s", "att"], "target": "classes", "loss": "ce"},
        },
    },
}
fetch = ["output"]
lens = {"data": [7, 4, 5], "classes": [4, 2, 3]}
train = True
param_scale = 0.8
