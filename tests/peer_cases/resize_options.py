"""resize: kinds, factors, axes, labels."""

extern_data = {"data": {"dim": 2}, "labels": {"dim": 6, "sparse": True, "available_for_inference": True}}
resize = {"class": "resize", "from": "x", "axis": "T", "factor": 2, "loss": "as_is"}
opts = {
    "default": {},
    "nn": {"kind": "nn", "factor": 3},
    "nearest": {"kind": "nearest_neighbor"},
    "linear": {"kind": "linear"},
    "linear3": {"kind": "linear", "factor": 3},
    "cubic": {"kind": "cubic"},
    "cubic3": {"kind": "cubic", "factor": 3},
    "fill": {"kind": "fill", "factor": 3, "fill_value": 0.5},
    "fill_int": {"kind": "fill", "factor": 2, "fill_value": 9},
    "half": {"factor": 0.5},
    "half_linear": {"factor": 0.5, "kind": "linear"},
    "float": {"factor": 1.5},
    "float_linear": {"factor": 1.5, "kind": "linear"},
    "float_cubic": {"factor": 1.5, "kind": "cubic"},
    "time_major": {"from": "rec", "kind": "linear"},
    "time_major_nn": {"from": "rec"},
    "split": {"from": "parts", "kind": "linear"},
}
network = {name: {**resize, **o} for name, o in opts.items()}
labels = {"class": "resize", "axis": "T", "factor": 2, "from": "data:labels"}
network.update(
    {
        "x": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
        "rec": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
        "six": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
        "features": {"class": "resize", "from": "x", "axis": "F", "factor": 2, "kind": "linear"},
        "features_fill": {"class": "resize", "from": "x", "axis": "F", "factor": 2, "kind": "fill", "fill_value": 3.0},
        "split_nn": {"class": "resize", "from": "parts", "axis": "static:0", "factor": 2},
        "parts": {"class": "split_dims", "axis": "F", "dims": (3, 2), "from": "six"},
        "labels": labels,
        "labels_fill": {**labels, "kind": "fill", "factor": 3, "fill_value": 5},
        "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "linear", "loss": "as_is"},
    }
)
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4], "labels": [3, 1, 2]}
train = True
