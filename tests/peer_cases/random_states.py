"""Random numbers, a function of a state, of all distributions; how the states go on."""

extern_data = {"data": {"dim": 2}}
U = {"class": "random", "distribution": "uniform", "is_output_layer": True}
N = {"class": "random", "distribution": "normal", "is_output_layer": True}
network = {
    "bound": {**U, "shape": [2, 3], "bound": 1.5},
    "stddev": {**U, "shape": [50], "mean": 5.0, "stddev": 2.0},
    "stddev_only": {**U, "shape": [50], "stddev": 2.0},
    "range": {**U, "shape": [50], "minval": 3.0, "maxval": 10.0},
    "maxval": {**U, "shape": [50], "maxval": 2.0},
    "ints": {**U, "shape": [4, 5], "minval": 3, "maxval": 10, "dtype": "int32"},
    "wide_ints": {**U, "shape": [20], "maxval": 100000000000, "dtype": "int64"},
    "normal": {**N, "shape": [5]},
    "normal_scaled": {**N, "shape": [5], "mean": 100.0, "stddev": 2.0},
    "truncated": {**N, "distribution": "truncated_normal", "shape": [300], "mean": 1.0, "stddev": 2.0},
    "scalar": {**N, "shape": ()},
    "double": {**N, "shape": [3], "dtype": "float64"},
    "half": {**U, "shape": [3], "bound": 1.0, "dtype": "float16"},
    "static": {**N, "shape": [3], "static": True, "seed": 1},
    "static_again": {**N, "shape": [3], "static": True, "seed": 1},
    "static_by_network": {**N, "shape": [3], "static": True},
    "seed": {**N, "shape": [3], "seed": [1, 2, 3]},
    "state": {"class": "random_state_init", "seed": 3, "is_output_layer": True},
    "own_state": {"class": "random_state_init", "is_output_layer": True},
    "from_state": {**U, "shape": [3], "bound": 1.0, "explicit_state": "state"},
    "var": {
        "class": "variable",
        "shape": [3],
        "dtype": "int64",
        "init_by_layer": "state",
        "trainable": False,
        "is_output_layer": True,
    },
    "from_var": {**U, "shape": [3], "bound": 1.0, "explicit_state": "var"},
    "counted": {"class": "variable", "shape": [3], "dtype": "int64", "init_by_layer": "state", "trainable": False},
    "from_counted": {**N, "shape": [3], "explicit_state": "counted", "auto_update_state": True},
    "limit": {"class": "constant", "value": 7.0},
    "by_layer": {**U, "shape": [10], "maxval": "limit"},
    "mean_by_layer": {**N, "shape": [10], "mean": "limit", "stddev": 0.001},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": "data", "loss": "as_is"},
}
train = True
fetch = [name for name in network if name != "counted"]
