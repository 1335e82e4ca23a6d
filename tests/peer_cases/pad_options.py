"""pad: axes, numbers, modes, values, padding behind each sequence's end."""

extern_data = {"data": {"dim": 2}, "labels": {"dim": 6, "sparse": True, "available_for_inference": True}}
pad = {"class": "pad", "from": "x", "axes": "T", "padding": (1, 2), "loss": "as_is"}
opts = {
    "both": {"padding": 1},
    "one": {"padding": (0, 2), "value": 0.5},
    "listed": {"padding": [(2, 1)], "value": 3},
    "two_axes": {"axes": ["T", "F"], "padding": [(1, 0), (0, 2)], "value": 0.5},
    "two_axes_alike": {"axes": ["T", "F"], "padding": 1},
    "two_axes_pair": {"axes": ["T", "F"], "padding": (1, 2)},
    "features": {"axes": "F", "padding": (1, 0)},
    "static": {"axes": "static", "padding": 1, "value": 2},
    "spatial": {"axes": "spatial", "padding": 1},
    "none": {"padding": 0},
    "reflect": {"mode": "reflect"},
    "symmetric": {"mode": "symmetric"},
    "replication": {"mode": "replication"},
    "replication_features": {"mode": "replication", "axes": "F"},
    "upper": {"mode": "CONSTANT"},
    "time_major": {"from": "rec", "value": 3},
    "layer": {"value": "seven"},
    "ends": {"value": 0.5, "handle_dynamic_dims": True},
    "ends_two_axes": {"axes": ["F", "T"], "padding": [(1, 1), (1, 2)], "value": 0.5, "handle_dynamic_dims": True},
    "ends_time_major": {"from": "rec", "value": 3, "handle_dynamic_dims": True},
    "ends_layer": {"value": "seven", "handle_dynamic_dims": True},
}
network = {name: {**pad, **o} for name, o in opts.items()}
labels = {"class": "pad", "from": "data:labels", "axes": "T", "padding": (1, 1), "value": 5}
network.update(
    {
        "x": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
        "rec": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
        "seven": {"class": "constant", "value": 7.0},
        "labels": labels,
        "ends_labels": {**labels, "handle_dynamic_dims": True},
        "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "both", "loss": "as_is"},
    }
)
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 3, 4], "labels": [3, 1, 2]}
train = True
