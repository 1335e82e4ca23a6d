"""The option size_target: in evaluation, the time axis of the output is that of a target."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "typed": {
        "class": "eval",
        "eval": "source(0, auto_convert=False) * 2",
        "from": "data",
        "out_type": {"shape": (None, 3)},
        "size_target": "classes",
        "is_output_layer": True,
    },
    "plain": {
        "class": "linear",
        "activation": "tanh",
        "n_out": 3,
        "from": "data",
        "size_target": "classes",
        "is_output_layer": True,
    },
    "copied": {"class": "copy", "from": "data", "size_target": "classes", "is_output_layer": True},
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "plain", "is_output_layer": True},
    "output": {"class": "softmax", "from": "typed", "loss": "ce", "target": "classes"},
}
lens = {"data": [5, 2, 4], "classes": [5, 2, 3]}
train = True
zero_padding = True
