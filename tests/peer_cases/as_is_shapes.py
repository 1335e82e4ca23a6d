"""The loss as_is on outputs of all kinds of shapes, and their norm factors; only an error; mean loss."""

extern_data = {
    "data": {"dim": 3},
    "image": {"shape": (None, 2, 3), "available_for_inference": True},
    "vector": {"shape": (4,), "available_for_inference": True},
}
network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "frames": {"class": "copy", "from": "h", "loss": "as_is"},
    "no_feature": {"class": "reduce", "mode": "sum", "axis": "F", "from": "h", "loss": "as_is"},
    "no_time": {"class": "reduce", "mode": "sum", "axis": "T", "from": "h", "loss": "as_is"},
    "only_batch": {"class": "reduce", "mode": "sum", "axes": ["T", "F"], "from": "h", "loss": "as_is"},
    "no_batch": {"class": "reduce", "mode": "sum", "axes": ["B", "T"], "from": "h", "loss": "as_is"},
    "scalar": {"class": "reduce", "mode": "mean", "axes": ["B", "T", "F"], "from": "h", "loss": "as_is"},
    "image": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data:image", "loss": "as_is"},
    "vector": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data:vector", "loss": "as_is"},
    "ints": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "h", "loss": "as_is"},
    "as_error": {"class": "copy", "from": "h", "loss": "as_is", "loss_opts": {"as_error": True}},
    "time_major": {
        "class": "rec",
        "unit": "standardlstm",
        "n_out": 3,
        "from": "data",
        "loss": "as_is",
        "loss_opts": {"use_normalized_loss": True},
    },
    "output": {"class": "copy", "from": "frames"},
}
lens = {"data": [4, 2, 3], "image": [3, 1, 2]}
train = True
