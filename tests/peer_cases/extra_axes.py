"""Inputs with more axes, static and dynamic, and what broadcasts how between them."""

extern_data = {
    "data": {"dim": 3},
    "image": {"shape": (None, 4, 3), "available_for_inference": True},
    "two_times": {"shape": (None, None, 3), "available_for_inference": True},
    "ones": {"shape": (None, 1), "available_for_inference": True},
    "one_frame": {"shape": (1, 3), "available_for_inference": True},
    "same_len": {"dim": 3, "available_for_inference": True},
}
network = {
    "linear4": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data:image", "is_output_layer": True},
    "linear_tt": {"class": "softmax", "n_out": 2, "from": "data:two_times", "is_output_layer": True},
    "norm4": {"class": "layer_norm", "from": "data:image", "is_output_layer": True},
    "twice": {"class": "copy", "from": ["data:image", "linear4"], "is_output_layer": True},
    "mean_t": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data:image"},
    "minus": {"class": "combine", "kind": "sub", "from": ["data:image", "mean_t"], "is_output_layer": True},
    "with_mean": {"class": "copy", "from": ["data:image", "mean_t"], "is_output_layer": True},
    "seq": {"class": "reduce", "mode": "max", "axis": "except_batch", "from": "data:image"},
    "times_seq": {"class": "combine", "kind": "mul", "from": ["data:image", "seq"], "is_output_layer": True},
    "col": {"class": "reduce", "mode": "mean", "axis": "T", "keep_dims": True, "from": "data"},
    "minus_col": {"class": "combine", "kind": "sub", "from": ["data", "col"], "is_output_layer": True},
    "one_feature": {"class": "combine", "kind": "mul", "from": ["data", "feature1"], "is_output_layer": True},
    "feature1": {"class": "linear", "activation": "sigmoid", "n_out": 1, "from": "data"},
    "kept": {"class": "reduce", "mode": "max", "axis": "F", "keep_dims": True, "from": "data"},
    "div_kept": {"class": "combine", "kind": "sub", "from": ["data", "kept"], "is_output_layer": True},
    "eval_kept": {"class": "eval", "eval": "source(0) - source(1)", "from": ["data", "kept"], "is_output_layer": True},
    "eval_one": {
        "class": "eval",
        "eval": "source(0) - source(1)",
        "from": ["data", "feature1"],
        "is_output_layer": True,
    },
    "mean_tt": {"class": "reduce", "mode": "mean", "axis": "dyn:1", "from": "data:two_times"},
    "minus_tt": {"class": "combine", "kind": "sub", "from": ["data:two_times", "mean_tt"], "is_output_layer": True},
    "pool_tt": {
        "class": "pool",
        "mode": "max",
        "pool_size": (2, 2),
        "padding": "same",
        "from": "data:two_times",
        "is_output_layer": True,
    },
    "output": {"class": "copy", "from": ["minus_col", "div_kept"]},
}
fetch = [name for name in network]
lens = {
    "data": [5, 2, 4],
    "image": [3, 1, 2],
    "two_times": [[3, 2, 1], [2, 4, 1]],
    "ones": [5, 2, 4],
    "same_len": [5, 2, 4],
}
zero_padding = True
train = True
