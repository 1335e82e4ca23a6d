"""A gradient as a value that has a gradient itself."""

extern_data = {"data": {"dim": 2}}
network = {
    "hidden": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "hidden2": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "hidden"},
    "total": {"class": "reduce", "mode": "sum", "axes": ["b", "t", "f"], "from": "hidden2"},
    "grad_data": {"class": "gradient", "y": "total", "x": "data"},
    "grad_hidden": {"class": "gradient", "y": "total", "x": "hidden"},
    "output": {
        "class": "rec",
        "unit": "standardlstm",
        "n_out": 2,
        "from": ["grad_data", "grad_hidden"],
        "loss": "as_is",
    },
}
train = True
