"""One of two layers, by the data or by a constant: all that a branch may be, with gradients."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True}}
lin = {"class": "linear", "n_out": 3, "from": "data"}
pool = {"class": "pool", "pool_size": (2,), "padding": "same", "from": "data"}
network = {
    "yes": {"class": "constant", "value": True},
    "no": {"class": "constant", "value": False},
    "sum": {"class": "reduce", "mode": "sum", "axes": ["b", "t", "f"], "from": "data"},
    "high": {"class": "compare", "kind": "greater", "from": "sum", "value": -1000.0},
    "low": {"class": "compare", "kind": "less", "from": "sum", "value": -1000.0},
    "known": {
        "class": "cond",
        "from": [],
        "condition": "yes",
        "true_layer": lin,
        "false_layer": {"class": "copy", "from": "hidden"},
        "is_output_layer": True,
    },
    "known_not": {
        "class": "cond",
        "from": [],
        "condition": "no",
        "true_layer": lin,
        "false_layer": {"class": "copy", "from": "hidden"},
        "is_output_layer": True,
    },
    "hidden": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "two_linear": {
        "class": "cond",
        "from": [],
        "condition": "high",
        "true_layer": lin,
        "false_layer": {**lin, "activation": "tanh"},
        "is_output_layer": True,
    },
    "copy": {
        "class": "cond",
        "from": [],
        "condition": "low",
        "true_layer": lin,
        "false_layer": {"class": "copy", "from": "hidden"},
        "is_output_layer": True,
    },
    "train": {
        "class": "cond",
        "from": [],
        "condition": {"class": "train_flag"},
        "true_layer": lin,
        "false_layer": {"class": "copy", "from": "hidden"},
        "is_output_layer": True,
    },
    "pooled": {
        "class": "cond",
        "from": [],
        "condition": "low",
        "true_layer": {**pool, "mode": "max"},
        "false_layer": {**pool, "mode": "avg"},
        "is_output_layer": True,
    },
    "rec": {
        "class": "cond",
        "from": [],
        "condition": "high",
        "true_layer": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
        "false_layer": {"class": "copy", "from": "hidden"},
        "is_output_layer": True,
    },
    "norm": {
        "class": "cond",
        "from": [],
        "condition": "high",
        "true_layer": {"class": "batch_norm", "from": "data"},
        "false_layer": {"class": "copy", "from": "data"},
        "is_output_layer": True,
    },
    "subnet": {
        "class": "cond",
        "from": [],
        "condition": "high",
        "is_output_layer": True,
        "true_layer": {
            "class": "subnetwork",
            "from": "data",
            "subnetwork": {
                "a": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data"},
                "output": {"class": "linear", "n_out": 3, "from": ["a", "base:hidden"]},
            },
        },
        "false_layer": {
            "class": "subnetwork",
            "from": "data",
            "subnetwork": {
                "a": {"class": "linear", "activation": "relu", "n_out": 5, "from": "data"},
                "output": {"class": "linear", "n_out": 3, "from": "a", "activation": None, "name_scope": "other"},
            },
        },
    },
    "labels": {
        "class": "cond",
        "from": [],
        "condition": "high",
        "true_layer": {"class": "copy", "from": "data:classes"},
        "false_layer": {"class": "copy", "from": "data:classes"},
        "is_output_layer": True,
    },
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "loss": "as_is",
        "from": ["two_linear", "copy", "train", "rec", "norm", "subnet"],
    },
}
lens = {"data": [5, 2, 3], "classes": [4, 2, 3]}
train = True
