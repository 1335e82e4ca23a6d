"""Subnetworks: not joined sources, nested, base:, losses and constraints inside, other entry points, name scopes."""

extern_data = {
    "data": {"dim": 4},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": False},
    "more": {"dim": 2, "available_for_inference": True},
}
network = {
    "a": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "b": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "joined": {
        "class": "subnetwork",
        "from": ["a", "b"],
        "subnetwork": {"output": {"class": "linear", "activation": "relu", "n_out": 4, "from": "data"}},
    },
    "separate": {
        "class": "subnetwork",
        "from": ["a", "b"],
        "concat_sources": False,
        "subnetwork": {
            "x": {"class": "linear", "activation": None, "n_out": 4, "from": "data:0"},
            "y": {"class": "linear", "activation": None, "n_out": 4, "from": "data:b"},
            "z": {"class": "linear", "activation": None, "n_out": 4, "from": "data"},
            "output": {"class": "combine", "kind": "add", "from": ["x", "y", "z"]},
        },
    },
    "nested": {
        "class": "subnetwork",
        "from": "b",
        "subnetwork": {
            "inner": {
                "class": "subnetwork",
                "from": ["data", "base:a"],
                "subnetwork": {
                    "ff": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data", "L2": 0.01},
                    "far": {"class": "linear", "activation": None, "n_out": 5, "from": "base:base:joined"},
                    "aux": {"class": "softmax", "from": "ff", "loss": "ce", "target": "classes", "loss_scale": 0.2},
                    "output": {"class": "combine", "kind": "add", "from": ["ff", "far"]},
                },
            },
            "more": {"class": "linear", "activation": None, "n_out": 5, "from": "data:more"},
            "pooled": {"class": "reduce", "mode": "mean", "axis": "T", "from": "more"},
            "output": {"class": "combine", "kind": "add", "from": ["inner", "pooled", "inner/ff"]},
        },
    },
    "unused": {
        "class": "subnetwork",
        "from": "data",
        "subnetwork": {
            "a": {"class": "linear", "activation": None, "n_out": 3, "from": "data"},
            "output": {
                "class": "linear",
                "activation": None,
                "n_out": 2,
                "from": "a",
                "loss": "as_is",
                "loss_scale": 0.1,
            },
        },
    },
    "by_part": {"class": "linear", "activation": None, "n_out": 3, "from": "unused/a"},
    "default_from": {
        "class": "subnetwork",
        "from": "a",
        "L2": 0.1,
        "dropout": 0.0,
        "subnetwork": {
            "ff": {"class": "linear", "activation": None, "n_out": 3},
            "output": {"class": "copy", "from": "ff"},
        },
    },
    "frozen": {
        "class": "subnetwork",
        "from": "a",
        "trainable": False,
        "subnetwork": {"output": {"class": "linear", "activation": None, "n_out": 3, "from": "data"}},
    },
    "loss_of_sub": {
        "class": "subnetwork",
        "from": "a",
        "loss": "ce",
        "target": "classes",
        "loss_scale": 0.5,
        "subnetwork": {"output": {"class": "softmax", "n_out": 3, "from": "data"}},
    },
    "scoped": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "name_scope": "other/place",
        "from": "a",
        "is_output_layer": True,
    },
    "scoped_abs": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "name_scope": "/absolute",
        "from": "a",
        "is_output_layer": True,
    },
    "output": {
        "class": "softmax",
        "from": ["separate", "nested", "by_part", "default_from", "frozen", "loss_of_sub"],
        "loss": "ce",
        "target": "classes",
    },
}
fetch = [
    "joined",
    "separate",
    "separate/x",
    "nested",
    "nested/inner",
    "nested/inner/aux",
    "nested/inner/far",
    "by_part",
    "unused",
    "unused/a",
    "default_from",
    "loss_of_sub",
    "frozen",
    "scoped",
    "scoped_abs",
    "output",
]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4], "more": [3, 2, 2]}
train = True
