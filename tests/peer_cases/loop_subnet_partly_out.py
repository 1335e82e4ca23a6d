"""Subnetworks of the unit of which some layers need the previous frame and some do not; losses in them."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "unit": {
            "sub": {
                "class": "subnetwork",
                "from": "data:source",
                "subnetwork": {
                    "pre": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
                    "loop": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["pre", "prev:loop"]},
                    "post": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "loop"},
                    "aux": {"class": "softmax", "from": "pre", "target": "classes", "loss": "ce", "loss_scale": 0.5},
                    "output": {"class": "copy", "from": ["post", "pre"]},
                },
            },
            "only_input": {
                "class": "subnetwork",
                "from": "data:source",
                "subnetwork": {
                    "a": {"class": "linear", "activation": "relu", "n_out": 3, "from": "data"},
                    "output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "a", "L2": 0.1},
                },
            },
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["only_input", "prev:sub/loop"]},
            "prob": {"class": "softmax", "from": ["sub", "s"], "target": "classes", "loss": "ce"},
            "output": {"class": "copy", "from": "prob"},
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
param_scale = 0.7
train = True
