"""A condition that only the step knows: do we train."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True}}
flag = {"class": "train_flag"}
network = {
    "rec": {"class": "rec", "unit": "gru", "n_out": 3, "from": "data"},
    "flag": {**flag, "is_output_layer": True},
    "linear": {
        "class": "cond",
        "condition": flag,
        "from": [],
        "true_layer": {"class": "linear", "activation": "relu", "n_out": 3, "from": "rec"},
        "false_layer": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "rec"},
        "is_output_layer": True,
    },
    "dropped": {
        "class": "cond",
        "condition": "flag",
        "from": [],
        "true_layer": {"class": "dropout", "dropout": 0.5, "from": "rec"},
        "false_layer": {"class": "copy", "from": "rec"},
        "is_output_layer": True,
    },
    "window": {
        "class": "cond",
        "condition": "flag",
        "from": [],
        "true_layer": {"class": "window", "window_size": 3, "from": "data"},
        "false_layer": {"class": "window", "window_size": 3, "window_right": 0, "from": "data"},
        "is_output_layer": True,
    },
    "scalar": {
        "class": "cond",
        "condition": "flag",
        "from": [],
        "true_layer": {"class": "reduce", "mode": "sum", "axes": ["b", "t", "f"], "from": "rec"},
        "false_layer": {"class": "reduce", "mode": "max", "axes": ["b", "t", "f"], "from": "rec"},
        "is_output_layer": True,
    },
    "output": {"class": "softmax", "from": "linear", "loss": "ce", "target": "classes"},
}
lens = {"data": [5, 2, 3], "classes": [5, 2, 3]}
