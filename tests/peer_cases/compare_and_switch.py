"""Compare: kinds, chains, values, broadcasting, labels. Switch: layers, numbers, broadcasting, labels."""

extern_data = {
    "data": {"dim": 4},
    "labels": {"dim": 6, "sparse": True, "available_for_inference": True},
    "more": {"dim": 6, "sparse": True, "available_for_inference": True},
    "numbers": {"shape": (), "dtype": "int32", "available_for_inference": True},
}
network = {
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "a": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "a"},
    "frame": {"class": "reduce", "mode": "mean", "axis": "F", "from": "data"},
    "one": {"class": "linear", "activation": None, "n_out": 1, "from": "data"},
    "split": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "data"},
    "scalar": {"class": "constant", "value": 0.25},
    "chain": {"class": "compare", "kind": "less", "from": ["data", "a", "vector"], "value": 0.5},
    "per_seq": {"class": "compare", "kind": "greater_equal", "from": ["vector", "data"]},
    "per_frame": {"class": "compare", "kind": "<=", "from": ["frame", "data"]},
    "per_split": {"class": "compare", "kind": "<", "from": ["split", "frame"]},
    "tb": {"class": "compare", "kind": ">", "from": ["time_major", "a"]},
    "bt": {"class": "compare", "kind": ">=", "from": ["a", "time_major"]},
    "to_scalar": {"class": "compare", "kind": "greater", "from": ["scalar", "data"]},
    "label": {"class": "compare", "from": "data:labels", "value": 2},
    "label_2": {"class": "compare", "kind": "<>", "from": ["data:labels", "data:labels"]},
    "number": {"class": "compare", "kind": "==", "from": "data:numbers", "value": 2},
    "either": {"class": "compare", "kind": "logical_or", "from": ["per_seq", "tb"]},
    "flag": {"class": "compare", "kind": "greater", "from": "frame", "value": 0},
    "flag_1": {"class": "compare", "kind": "greater", "from": "one", "value": 0.0},
    "flag_seq": {"class": "compare", "kind": "greater", "from": "vector", "value": 0.5},
    "both": {"class": "switch", "condition": "chain", "true_from": "data", "false_from": "a"},
    "number_f": {"class": "switch", "condition": "flag", "true_from": "data", "false_from": 1},
    "number_t": {"class": "switch", "condition": "flag_seq", "true_from": 0.5, "false_from": "vector"},
    "numbers": {"class": "switch", "condition": "flag_seq", "true_from": 0.5, "false_from": 1},
    "size_1": {"class": "switch", "condition": "flag_1", "true_from": "data", "false_from": "vector"},
    "larger": {"class": "switch", "condition": "tb", "true_from": "vector", "false_from": "scalar"},
    "tb_true": {"class": "switch", "condition": "flag", "true_from": "time_major", "false_from": "a"},
    "tb_false": {"class": "switch", "condition": "chain", "true_from": "vector", "false_from": "time_major"},
    "tb_condition": {"class": "switch", "condition": "tb", "true_from": "data", "false_from": "vector"},
    "labels_2": {"class": "switch", "condition": "number", "true_from": "data:labels", "false_from": "data:labels"},
    "output": {"class": "combine", "kind": "add", "from": ["both", "size_1"]},
}
for _name, _layer in network.items():
    if _layer["class"] in ("compare", "switch"):
        _layer["is_output_layer"] = True
lens = {"data": [5, 2, 4], "labels": [5, 2, 4], "more": [3, 1, 2]}
