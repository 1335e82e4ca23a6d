"""Combine: kinds, broadcasting, labels, activation, bias."""

extern_data = {
    "data": {"dim": 4},
    "other": {"dim": 4, "available_for_inference": True},
    "vector": {"shape": (4,), "available_for_inference": True},
    "labels": {"dim": 6, "sparse": True, "available_for_inference": True},
    "scalars": {"shape": (), "dtype": "float32", "available_for_inference": True},
}
network = {
    "a": {"class": "activation", "activation": "exp", "from": "data"},
    "b": {"class": "linear", "activation": "sigmoid", "n_out": 4, "from": "data"},
    "flag_a": {"class": "eval", "eval": "source(0) > 1", "from": "a", "out_type": {"dtype": "bool"}},
    "flag_b": {"class": "eval", "eval": "source(0) > 0.5", "from": "b", "out_type": {"dtype": "bool"}},
    "max_t": {"class": "reduce", "mode": "max", "axis": "T", "from": "a"},
    "max_f": {"class": "reduce", "mode": "max", "axis": "F", "from": "a"},
    "plus_vector": {"class": "combine", "kind": "add", "from": ["a", "data:vector"], "is_output_layer": True},
    "vector_plus": {"class": "combine", "kind": "sub", "from": ["data:vector", "a"], "is_output_layer": True},
    "outer": {"class": "combine", "kind": "mul", "from": ["max_t", "max_f"], "is_output_layer": True},
    "per_frame": {"class": "combine", "kind": "truediv", "from": ["a", "max_f"], "is_output_layer": True},
    "per_seq": {"class": "combine", "kind": "mul", "from": ["a", "data:scalars"], "is_output_layer": True},
    "three": {"class": "combine", "kind": "average", "from": ["a", "b", "max_t"], "is_output_layer": True},
    "acted": {
        "class": "combine",
        "kind": "add",
        "activation": "tanh",
        "from": ["a", "b"],
        "n_out": 4,
        "is_output_layer": True,
    },
    "biased": {
        "class": "combine",
        "kind": "add",
        "with_bias": True,
        "activation": "relu",
        "from": ["a", "b"],
        "is_output_layer": True,
    },
    "labels_add": {"class": "combine", "kind": "add", "from": ["data:labels", "data:labels"], "is_output_layer": True},
    "labels_max": {
        "class": "combine",
        "kind": "maximum",
        "from": ["data:labels", "labels_add"],
        "is_output_layer": True,
    },
    "single": {"class": "combine", "kind": "add", "from": ["a"], "is_output_layer": True},
    "atan2": {"class": "combine", "kind": "atan2", "from": ["a", "b"], "is_output_layer": True},
    "as_eval": {
        "class": "combine",
        "kind": "eval",
        "eval": "source(0) * 2 - source(1)",
        "from": ["a", "b"],
        "is_output_layer": True,
    },
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "mixed": {"class": "combine", "kind": "add", "from": ["time_major", "a"], "is_output_layer": True},
    "mixed2": {"class": "combine", "kind": "add", "from": ["a", "time_major"], "is_output_layer": True},
    "output": {"class": "combine", "kind": "add", "from": ["biased", "mixed"], "loss": "as_is", "loss_scale": 0.1},
}
for _kind in [
    "add",
    "+",
    "sub",
    "-",
    "mul",
    "*",
    "truediv",
    "/",
    "floordiv",
    "//",
    "mod",
    "pow",
    "maximum",
    "minimum",
    "squared_difference",
    "logaddexp",
]:
    network["kind " + _kind.replace("/", "d")] = {
        "class": "combine",
        "kind": _kind,
        "from": ["a", "b"],
        "is_output_layer": True,
    }
for _kind in ["logical_and", "logical_or"]:
    network[_kind] = {"class": "combine", "kind": _kind, "from": ["flag_a", "flag_b"], "is_output_layer": True}
lens = {"data": [5, 2, 4], "other": [5, 2, 4], "labels": [3, 4, 2]}
train = True
