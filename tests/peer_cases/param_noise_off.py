"""Noise and dropout on parameters are off when not training; their options, by layer and by config."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True, "available_for_inference": False}}
network = {
    "a": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data", "param_dropout": 0.3, "L2": 0.1},
    "b": {
        "class": "linear",
        "activation": "tanh",
        "n_out": 5,
        "from": "a",
        "param_variational_noise": 0,
        "param_dropout_min_ndim": 1,
        "param_device": "CPU",
    },
    "c": {"class": "linear", "activation": "relu", "n_out": 5, "from": "b", "reuse_params": "b"},
    "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 5, "from": "c", "param_variational_noise": 0.2},
    "output": {"class": "softmax", "from": ["c", "lstm"], "loss": "ce", "target": "classes"},
}
config = {"param_variational_noise": 0.5, "param_dropout": 0.1, "param_dropout_min_ndim": 2}
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
