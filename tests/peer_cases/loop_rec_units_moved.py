"""rec layers with cell units that need no previous frame: whole sequences, behind the loop or before."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "start": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "mean"},
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "unit": {
            "first": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "data:source"},
            "second": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "first", "initial_state": "ones"},
            "s": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["second", "prev:s"]},
            "third": {"class": "rec", "unit": "gru", "n_out": 2, "from": "s", "initial_state": "base:start"},
            "fourth": {
                "class": "rec",
                "unit": "lstm",
                "n_out": 2,
                "from": ["prev:s", "third"],
                "initial_state": "ones",
            },
            "prob": {"class": "softmax", "from": ["fourth", "prev:third"], "target": "classes", "loss": "ce"},
            "output": {"class": "copy", "from": "prob"},
        },
    },
}
fetch = ["output", "output/first", "output/second", "output/fourth"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
param_scale = 0.7
train = True
