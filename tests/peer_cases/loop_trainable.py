"""Parameters that are not trained, of single layers in and out of the loop and of a whole loop; custom name scopes."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
unit = {
    "fixed_in": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data:source", "trainable": False},
    "fixed": {
        "class": "linear",
        "activation": "tanh",
        "n_out": 3,
        "from": ["fixed_in", "prev:cell"],
        "trainable": False,
    },
    "cell": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": "fixed", "trainable": True, "name_scope": "other"},
    "root": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "cell", "name_scope": "/root_scope"},
    "same": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "root", "name_scope": ""},
    "output": {"class": "softmax", "from": "same", "target": "classes", "loss": "ce"},
}
network = {
    "part": {"class": "rec", "from": "data", "target": "classes", "unit": unit, "is_output_layer": True},
    "none": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "trainable": False,
        "unit": unit,
        "is_output_layer": True,
    },
    "named": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "name_scope": "named_scope",
        "unit": unit,
        "is_output_layer": True,
    },
}
network["output"] = network.pop("part")
fetch = ["output", "none", "named"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
train = True
