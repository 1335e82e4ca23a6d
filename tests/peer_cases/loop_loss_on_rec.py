"""A loss on the rec layer itself, for a unit of layers and for a cell; L2 and dropout 0 on it."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "cell": {
        "class": "rec",
        "unit": "nativelstm2",
        "n_out": 4,
        "from": "data",
        "L2": 0.1,
        "dropout": 0.0,
        "loss": "as_is",
    },
    "output": {
        "class": "rec",
        "from": "cell",
        "target": "classes",
        "loss": "ce",
        "loss_scale": 0.5,
        "L2": 0.01,
        "unit": {
            "s": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 4,
                "from": ["data:source", "prev:s"],
                "dropout": 0.0,
            },
            "output": {"class": "softmax", "from": "s", "n_out": 4},
        },
    },
}
fetch = ["cell", "output"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
train = True
