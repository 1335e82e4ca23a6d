"""Normalization layers and dropout within a loop, on the dev set: running statistics, no dropout."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "dropout": 0.4,
        "unit": {
            "s": {
                "class": "linear",
                "activation": None,
                "n_out": 4,
                "from": ["data:source", "prev:norm"],
                "dropout": 0.3,
            },
            "norm": {"class": "layer_norm", "from": "s"},
            "batch": {"class": "batch_norm", "from": "s", "param_version": 2, "masked_time": True},
            "in_loop": {"class": "combine", "kind": "add", "from": ["prev:in_loop", "s"]},
            "drop": {"class": "dropout", "dropout": 0.5, "from": ["in_loop", "batch"]},
            "output": {"class": "softmax", "from": "drop", "target": "classes", "loss": "ce"},
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
