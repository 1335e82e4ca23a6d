"""Cross entropy of outputs that are not normalised, of several activations."""

extern_data = {
    "data": {"dim": 4},
    "classes": {"dim": 5, "sparse": True, "available_for_inference": False},
}


def layer(activation, source="h"):
    return {
        "class": "linear",
        "activation": activation,
        "n_out": 5,
        "from": source,
        "loss": "generic_ce",
        "target": "classes",
    }


network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "sigmoid": layer("sigmoid"),
    "exp": layer("exp"),
    "softplus": layer("softplus"),
    "on_time_major": layer("sigmoid", "time_major"),
    "output": {"class": "copy", "from": "h"},
}
lens = {"data": [5, 3, 4], "classes": [5, 3, 4]}
train = True
