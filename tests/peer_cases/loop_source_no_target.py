"""Loops over their sources without a target: one source, two sources, dropout 0, a source that is labels."""

extern_data = {"data": {"dim": 3}, "labels": {"dim": 4, "sparse": True}}
network = {
    "enc": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
    "one": {
        "class": "rec",
        "from": "data",
        "unit": {
            "output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["prev:output", "data:source"]}
        },
    },
    "two": {
        "class": "rec",
        "from": ["data", "enc"],
        "dropout": 0.0,
        "L2": 0.1,
        "unit": {
            "a": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:output"]},
            "output": {"class": "combine", "kind": "add", "from": ["a", "prev:a"]},
        },
    },
    "sparse": {
        "class": "rec",
        "from": "data:labels",
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "data:source"},
            "output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["embed", "prev:output"]},
        },
    },
    "no_loop": {
        "class": "rec",
        "from": "data",
        "unit": {"output": {"class": "linear", "activation": "relu", "n_out": 3, "from": "data:source"}},
    },
    "output": {"class": "copy", "from": ["one", "two", "no_loop"], "loss": "as_is"},
    "output2": {"class": "copy", "from": "sparse", "loss": "as_is"},
}
fetch = ["one", "two", "sparse", "no_loop", "output"]
lens = {"data": [5, 2, 4], "labels": [3, 4, 1]}
train = True
