"""Gradients through switch."""

extern_data = {"data": {"dim": 4}}
network = {
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "a": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "b": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "vector"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "flag": {"class": "compare", "kind": "less", "from": ["a", "time_major"]},
    "both": {"class": "switch", "condition": "flag", "true_from": "a", "false_from": "b"},
    "other": {"class": "switch", "condition": "flag", "true_from": "b", "false_from": "time_major"},
    "output": {"class": "linear", "activation": None, "n_out": 3, "from": ["both", "other"], "loss": "as_is"},
}
lens = {"data": [5, 2, 4]}
train = True
