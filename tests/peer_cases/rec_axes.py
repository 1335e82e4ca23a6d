"""Recurrence over other axes than time, further axes merged into the batch; sparse input; no input projection."""

extern_data = {
    "data": {"shape": (None, 4, 3), "dim": 3},
    "labels": {"dim": 5, "sparse": True},
    "gates": {"dim": 8},
}
network = {
    "over_time": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
    "over_time_bw": {"class": "rec", "unit": "gru", "n_out": 2, "from": "data", "direction": -1},
    "over_static": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data", "axis": "static:0"},
    "over_static_native": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "from": "data", "axis": "static:0"},
    "native": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "from": "data"},
    "sparse": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "from": "data:labels"},
    "sparse_bw": {"class": "rec", "unit": "lstm", "n_out": 2, "from": "data:labels", "direction": -1},
    "no_projection": {
        "class": "rec",
        "unit": "nativelstm2",
        "n_out": 2,
        "from": "data:gates",
        "input_projection": False,
    },
}
for _name in network:
    network[_name]["is_output_layer"] = True
network["output"] = {"class": "copy", "from": ["over_time", "over_time_bw", "native"], "loss": "as_is"}
lens = {"data": [5, 1, 3], "labels": [4, 2, 1], "gates": [2, 4, 1]}
train = True
