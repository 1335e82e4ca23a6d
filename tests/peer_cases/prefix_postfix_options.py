"""prefix_in_time, postfix_in_time: values, repeats, axes, layers as values, labels, time-major input."""

extern_data = {"data": {"dim": 2}, "labels": {"dim": 6, "sparse": True, "available_for_inference": True}}
prefix, postfix = {"class": "prefix_in_time", "from": "x"}, {"class": "postfix_in_time", "from": "x"}
loss = {"loss": "as_is"}
network = {
    "x": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
    "prefix": {**prefix, **loss},
    "prefix2": {**prefix, "prefix": 0.5, "repeat": 2, **loss},
    "prefix0": {**prefix, "repeat": 0},
    "prefix_time_major": {**prefix, "from": "time_major", "prefix": 3, **loss},
    "prefix_features": {**prefix, "axis": "F", "prefix": -1.0, **loss},
    "prefix_labels": {**prefix, "from": "data:labels", "prefix": 5},
    "prefix_based": {**prefix, "size_base": "postfix"},
    "both": {"class": "combine", "kind": "add", "from": ["prefix_based", "postfix"], **loss},
    "postfix": {**postfix, **loss},
    "postfix2": {**postfix, "postfix": 0.5, "repeat": 2, **loss},
    "postfix0": {**postfix, "repeat": 0, **loss},
    "postfix_time_major": {**postfix, "from": "time_major", "postfix": 3, **loss},
    "postfix_features": {**postfix, "axis": "F", "postfix": -1.0, **loss},
    "postfix_labels": {**postfix, "from": "data:labels", "postfix": 5},
    "highest": {"class": "reduce", "mode": "max", "axis": "T", "from": "time_major"},
    "postfix_layer": {**postfix, "postfix": "highest", **loss},
    "postfix_layer_time_major": {**postfix, "from": "time_major", "postfix": "highest", "repeat": 2, **loss},
    "seven": {"class": "constant", "value": 7.0},
    "postfix_constant": {**postfix, "postfix": "seven", **loss},
    "per_seq": {"class": "reduce", "mode": "mean", "axis": "F", "from": "highest"},
    "postfix_per_seq": {**postfix, "postfix": "per_seq", **loss},
    "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "prefix2", **loss},
}
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4], "labels": [3, 1, 2]}
train = True
