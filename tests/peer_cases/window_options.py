"""Windows: sizes, left and right parts, strides, axes."""

extern_data = {"data": {"dim": 3}, "labels": {"dim": 5, "sparse": True, "available_for_inference": True}}
opts = {
    "w3": {"window_size": 3},
    "w4": {"window_size": 4},
    "w1": {"window_size": 1},
    "left": {"window_size": 3, "window_left": 2},
    "left0": {"window_size": 3, "window_left": 0},
    "right": {"window_size": 3, "window_right": 2},
    "right0": {"window_size": 5, "window_right": 0},
    "both": {"window_size": 4, "window_left": 1, "window_right": 2},
    "stride2": {"window_size": 3, "stride": 2},
    "right1_stride2": {"window_size": 2, "window_right": 1, "stride": 2},
    "valid": {"window_size": 3, "padding": "valid"},
    "valid_stride": {"window_size": 2, "padding": "valid", "stride": 2},
    "over_features": {"window_size": 2, "axis": "F"},
}
network = {name: dict(o, **{"class": "window", "from": "data", "is_output_layer": True}) for name, o in opts.items()}
network.update(
    {
        "labels": {"class": "window", "window_size": 3, "from": "data:labels", "is_output_layer": True},
        "merged": {"class": "merge_dims", "axes": "static", "from": "w3", "is_output_layer": True},
        "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
        "on_time_major": {"class": "window", "window_size": 3, "from": "time_major", "is_output_layer": True},
        "summed": {"class": "reduce", "mode": "sum", "axis": "stag:window", "from": "w3", "is_output_layer": True},
        "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "merged", "loss": "as_is"},
    }
)
lens = {"data": [5, 2, 4], "labels": [3, 1, 2]}
train = True
zero_padding = True
