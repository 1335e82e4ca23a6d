"""Masked frames of labels and of a time-major layer; a mask that is false for a whole sequence."""

extern_data = {"data": {"dim": 2}, "labels": {"dim": 5, "sparse": True, "shape": (None,)}}
M = {"class": "masked_computation", "mask": "mask", "is_output_layer": True}
network = {
    "rec": {"class": "rec", "unit": "gru", "n_out": 3, "from": "data"},
    "mask": {"class": "compare", "kind": "greater", "from": "first", "value": 0.2},
    "first": {"class": "reduce", "mode": "max", "axis": "F", "from": "rec"},
    "embedding": {"class": "linear", "activation": None, "n_out": 3, "from": "data"},
    "softmax": {**M, "from": "rec", "unit": {"class": "softmax", "n_out": 4, "from": "data"}},
    "mean": {**M, "from": "rec", "unit": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"}},
    "argmax": {**M, "from": "rec", "unit": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "data"}},
    "window": {**M, "from": "embedding", "unit": {"class": "window", "window_size": 3, "from": "data"}},
    "dropout": {**M, "from": "embedding", "unit": {"class": "dropout", "dropout": 0.5, "from": "data"}},
    "output": {"class": "linear", "activation": None, "n_out": 2, "loss": "as_is", "from": "softmax"},
}
lens = {"data": [6, 1, 4], "labels": [3, 2, 2]}
