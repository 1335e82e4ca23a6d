"""A config of the oldest style: num_inputs and num_outputs, no from, an output per target."""

config = {"num_inputs": 4, "num_outputs": {"classes": [3, 1], "phones": (5, 1), "extra": [2, 2]}, "target": "classes"}
feed = ["data", "classes", "phones", "extra"]
network = {
    "hidden": {"class": "hidden", "activation": "tanh", "n_out": 6, "L2": 0.01, "dropout": 0.0},
    "both": {"class": "linear", "activation": "relu", "n_out": 3, "from": ["data:extra"]},
    "phones_out": {"class": "softmax", "loss": "ce", "target": "phones", "from": ["hidden"]},
    "unused": {"class": "linear", "activation": None, "n_out": 3, "from": ["both"]},
    "#comment": "nothing",
    "output": {"class": "softmax", "loss": "ce", "from": ["hidden"]},
}
lens = {"data": [5, 3, 4], "classes": [5, 3, 4], "phones": [5, 3, 4], "extra": [5, 3, 4]}
train = True
