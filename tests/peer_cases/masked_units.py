"""Layers on masked frames, with names of all kinds in their unit, losses and constraints."""

extern_data = {"data": {"dim": 2}, "classes": {"dim": 3, "sparse": True}}
lin = {"class": "linear", "n_out": 3, "from": "data"}
M = {"class": "masked_computation", "mask": "mask", "is_output_layer": True}
network = {
    "sum": {"class": "reduce", "mode": "sum", "axis": "F", "from": "data"},
    "mask": {"class": "compare", "kind": "greater", "from": "sum", "value": 0.0},
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "hidden": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "rec": {"class": "rec", "unit": "gru", "n_out": 3, "from": "hidden"},
    "linear": {**M, "from": "data", "unit": lin},
    "several": {**M, "from": "rec", "unit": {**lin, "from": ["data", "hidden", "rec"]}},
    "with_mean": {**M, "from": "hidden", "unit": {**lin, "from": ["data", "mean"]}},
    "time_major": {**M, "from": "rec", "unit": lin},
    "recurrent": {**M, "from": "data", "unit": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"}},
    "subnet": {
        **M,
        "from": "data",
        "unit": {
            "class": "subnetwork",
            "from": "data",
            "subnetwork": {
                "a": {"class": "linear", "activation": "tanh", "n_out": 5, "from": ["data", "base:hidden"]},
                "output": {"class": "linear", "n_out": 3, "from": "a"},
            },
        },
    },
    "part": {"class": "copy", "from": "subnet/a", "is_output_layer": True},
    "scoped": {**M, "from": "data", "unit": lin, "name_scope": "other"},
    "no_source": {**M, "unit": {"class": "copy", "from": "hidden"}},
    "labels": {**M, "from": "hidden", "unit": {"class": "copy", "from": "hidden"}},
    "again": {**M, "from": "data", "masked_from": "linear", "unit": lin},
    "with_loss": {**M, "from": "data", "unit": {**lin, "loss": "as_is", "L2": 0.1}},
    "output": {"class": "linear", "activation": None, "n_out": 2, "loss": "as_is", "from": "again"},
    "output2": {"class": "linear", "activation": None, "n_out": 2, "loss": "as_is", "from": "subnet"},
    "output3": {"class": "linear", "activation": None, "n_out": 2, "loss": "as_is", "from": "recurrent"},
    "output4": {"class": "linear", "activation": None, "n_out": 2, "loss": "as_is", "from": "several"},
    "output5": {"class": "linear", "activation": None, "n_out": 2, "loss": "as_is", "from": "with_mean"},
    "output6": {"class": "linear", "activation": None, "n_out": 2, "loss": "as_is", "from": "time_major"},
    "output7": {"class": "linear", "activation": None, "n_out": 2, "loss": "as_is", "from": "scoped"},
}
lens = {"data": [5, 2, 3], "classes": [4, 2, 3]}
train = True
