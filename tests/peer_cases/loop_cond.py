"""cond in the loop, by the step index: branches that read layers of the unit and of the outer network."""

extern_data = {"data": {"dim": 3}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "first": {"class": "compare", "kind": "less", "value": 2, "from": ":i"},
            "chosen": {
                "class": "cond",
                "from": [],
                "condition": "first",
                "true_layer": {
                    "class": "linear",
                    "activation": "tanh",
                    "n_out": 3,
                    "from": ["data:source", "prev:output"],
                },
                "false_layer": {
                    "class": "subnetwork",
                    "from": ["prev:output"],
                    "subnetwork": {
                        "a": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
                        "output": {"class": "combine", "kind": "add", "from": ["a", "base:base:mean"]},
                    },
                },
            },
            "output": {"class": "copy", "from": "chosen"},
        },
    },
    "loss": {"class": "copy", "from": "output", "loss": "as_is"},
}
fetch = ["output"]
lens = {"data": [5, 2, 4]}
train = True
param_scale = 0.7
