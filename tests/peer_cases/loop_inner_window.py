"""A cell over the window of each frame: an inner sequence a frame, which leaves the loop or stays."""

extern_data = {"data": {"dim": 3}}
network = {
    "win": {"class": "window", "window_size": 3, "from": "data"},
    "output": {
        "class": "rec",
        "from": "win",
        "unit": {
            "inner": {"class": "rec", "unit": "lstm", "axis": "stag:window", "n_out": 2, "from": "data:source"},
            "flat": {"class": "reduce", "mode": "max", "axis": "stag:window", "from": "inner"},
            "s": {"class": "linear", "activation": "tanh", "n_out": 2, "from": ["flat", "prev:s"]},
            "mixed": {"class": "combine", "kind": "add", "from": ["inner", "prev:s"]},
            "inner2": {"class": "rec", "unit": "gru", "axis": "stag:window", "n_out": 2, "from": "mixed"},
            "sum": {"class": "reduce", "mode": "sum", "axis": "stag:window", "from": "inner2"},
            "output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["s", "sum"], "loss": "as_is"},
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4]}
train = True
param_scale = 0.7
