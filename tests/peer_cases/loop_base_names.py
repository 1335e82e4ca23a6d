"""Names with base: in nested subnetworks of the unit: the unit, the outer network, the previous frame of the unit."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "unit": {
            "x": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:sub"]},
            "y": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data:source"},
            "sub": {
                "class": "subnetwork",
                "from": "x",
                "subnetwork": {
                    "a": {"class": "combine", "kind": "add", "from": ["data", "base:prev:x", "base:base:mean"]},
                    "inner": {
                        "class": "subnetwork",
                        "from": ["a", "base:y"],
                        "concat_sources": False,
                        "subnetwork": {
                            "b": {
                                "class": "combine",
                                "kind": "add",
                                "from": ["data:0", "data:1", "base:base:base:mean", "base:prev:a"],
                            },
                            "output": {"class": "activation", "activation": "tanh", "from": ["b"]},
                        },
                    },
                    "output": {"class": "copy", "from": "inner"},
                },
            },
            "prob": {"class": "softmax", "from": ["sub", "sub/a", "sub/inner/b"], "target": "classes", "loss": "ce"},
            "output": {"class": "copy", "from": "prob"},
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
param_scale = 0.7
train = True
