"""back_prop False: no gradient goes through this loop; the layers after it and before it get theirs by other ways."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "enc": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "loop": {
        "class": "rec",
        "from": "enc",
        "back_prop": False,
        "unit": {
            "output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:output"]}
        },
    },
    "with": {
        "class": "rec",
        "from": "enc",
        "back_prop": True,
        "unit": {
            "output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:output"]}
        },
    },
    "stop": {"class": "scaled_grad", "scale": 0.0, "from": "loop"},
    "output": {"class": "softmax", "from": ["stop", "with"], "target": "classes", "loss": "ce"},
}
fetch = ["loop", "with", "output"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
train = True
