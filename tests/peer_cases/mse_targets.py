"""Mean squared error, against vectors, labels, layers; targets of all kinds."""

extern_data = {
    "data": {"dim": 4},
    "classes": {"dim": 5, "sparse": True, "available_for_inference": False},
    "clean": {"dim": 4, "available_for_inference": False},
    "vector": {"shape": (3,), "available_for_inference": False},
}
network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "plain": {"class": "linear", "activation": None, "target": "clean", "from": "h", "loss": "mse"},
    "acted": {"class": "linear", "activation": "sigmoid", "target": "clean", "from": "h", "loss": "mse", "n_out": 4},
    "labels": {"class": "linear", "activation": "sigmoid", "n_out": 5, "target": "classes", "from": "h", "loss": "mse"},
    "tm": {"class": "linear", "activation": None, "target": "clean", "from": "time_major", "loss": "mse"},
    "to_layer": {"class": "linear", "activation": None, "n_out": 4, "target": "layer:h", "from": "data", "loss": "mse"},
    "to_layer2": {"class": "linear", "activation": None, "n_out": 4, "target": "h", "from": "data", "loss": "mse"},
    "seq": {"class": "reduce", "mode": "max", "axis": "T", "from": "h"},
    "of_vector": {"class": "linear", "activation": None, "target": "vector", "from": "seq", "loss": "mse"},
    "registered": {
        "class": "linear",
        "activation": "sigmoid",
        "n_out": 3,
        "from": "data",
        "register_as_extern_data": "made",
    },
    "to_registered": {"class": "linear", "activation": None, "target": "made", "from": "h", "loss": "mse"},
    "reads_registered": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": "data:made",
        "is_output_layer": True,
    },
    "list_target": {"class": "softmax", "target": ["classes", "clean"], "from": "h", "loss": "ce"},
    "n_out_of_target": {
        "class": "linear",
        "activation": "tanh",
        "target": "classes",
        "from": "h",
        "is_output_layer": True,
    },
    "ctc_dim": {
        "class": "softmax",
        "target": "classes",
        "loss": "ctc",
        "loss_scale": 0.1,
        "loss_opts": {"beam_width": 1, "ctc_opts": {"ignore_longer_outputs_than_inputs": True}},
        "from": "h",
    },
    "default_target": {"class": "softmax", "loss": "ce", "from": "h"},
    "output": {"class": "copy", "from": "plain"},
}
fetch = [name for name in network if name != "registered"]
lens = {"data": [5, 3, 4], "classes": [5, 3, 4], "clean": [5, 3, 4]}
values = {"classes": [[1, 3, 0, 2, 4], [2, 0, 3, 0, 0], [3, 4, 1, 2, 0]]}
train = True
