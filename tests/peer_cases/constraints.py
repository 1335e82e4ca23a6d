"""Constraints: L2 over all parameters, also in subnetworks; spatial smoothing."""

extern_data = {"data": {"dim": 4}}
network = {
    "l2": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data", "L2": 0.1},
    "darc": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "l2"},
    "darc_plain": {"class": "linear", "activation": None, "n_out": 4, "from": "l2"},
    "smooth": {"class": "linear", "activation": "relu", "n_out": 100, "from": "darc", "spatial_smoothing": 0.01},
    "norm": {"class": "layer_norm", "from": "darc_plain", "L2": 0.03},
    "lstm": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data", "L2": 0.02},
    "sub": {
        "class": "subnetwork",
        "from": "l2",
        "L2": 0.5,
        "subnetwork": {
            "ff": {"class": "linear", "activation": None, "n_out": 3, "from": "data", "L2": 0.04},
            "inner": {
                "class": "subnetwork",
                "from": "ff",
                "subnetwork": {
                    "output": {"class": "linear", "activation": None, "n_out": 3, "from": "data", "L2": 0.05}
                },
            },
            "output": {"class": "copy", "from": "inner"},
        },
    },
    "reused": {"class": "linear", "activation": None, "n_out": 4, "from": "l2", "reuse_params": "l2", "L2": 0.2},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["smooth", "norm", "lstm", "sub", "reused"],
        "loss": "as_is",
    },
}
lens = {"data": [5, 2, 4]}
train = True
