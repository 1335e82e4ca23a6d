"""The output of a loop has the axis of its source or target: combined with both, pooled, as input of further loops."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
unit = {"output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:output"]}}
network = {
    "one": {"class": "rec", "from": "data", "unit": unit},
    "with_data": {"class": "combine", "kind": "add", "from": ["one", "data"]},
    "pooled": {"class": "pool", "mode": "max", "padding": "same", "pool_size": (2,), "from": "with_data"},
    "two": {"class": "rec", "from": "pooled", "unit": unit},
    "both": {"class": "copy", "from": ["two", "pooled"], "is_output_layer": True},
    "back": {"class": "rec", "unit": "nativelstm2", "direction": -1, "n_out": 2, "from": "two"},
    "three": {"class": "rec", "from": ["back", "two"], "unit": unit, "loss": "as_is"},
    "labels": {"class": "linear", "activation": None, "n_out": 3, "from": "data:classes"},
    "output": {
        "class": "rec",
        "from": "labels",
        "target": "classes",
        "unit": {**unit, "prob": {"class": "softmax", "from": "output", "target": "classes", "loss": "ce"}},
    },
    "with_labels": {"class": "combine", "kind": "add", "from": ["output", "labels"], "is_output_layer": True},
}
fetch = ["one", "with_data", "two", "both", "three", "output", "with_labels"]
lens = {"data": [5, 2, 4], "classes": [4, 2, 3]}
train = True
