"""Layers of the unit with members or with names of others in options: split, switch, gating, broadcasting."""

extern_data = {"data": {"dim": 4}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "parts": {"class": "split", "axis": "F", "size_splits": [1, 3], "from": "x"},
            "x": {"class": "linear", "activation": "tanh", "n_out": 4, "from": ["data:source", "prev:gated"]},
            "gated": {"class": "gating", "activation": "tanh", "from": "x"},
            "gate": {"class": "activation", "activation": "sigmoid", "from": "parts/0"},
            "one_minus": {"class": "eval", "eval": "1.0 - source(0)", "from": "gate"},
            "left": {"class": "combine", "kind": "mul", "from": ["prev:mix", "gate"]},
            "right": {"class": "combine", "kind": "mul", "from": ["parts/1", "one_minus"]},
            "mix": {"class": "combine", "kind": "add", "from": ["left", "right"], "is_output_layer": True},
            "max": {"class": "reduce", "mode": "max", "axis": "F", "keep_dims": True, "from": "prev:mix"},
            "positive": {"class": "compare", "kind": "greater", "value": 0.0, "from": "max_"},
            "max_": {"class": "squeeze", "axis": "F", "from": "max"},
            "chosen": {"class": "switch", "condition": "positive", "true_from": "mix", "false_from": "parts/1"},
            "output": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 2,
                "from": ["chosen", "gated"],
                "loss": "as_is",
            },
        },
    },
}
fetch = ["output", "output/mix"]
lens = {"data": [5, 2, 4]}
train = True
param_scale = 0.7
