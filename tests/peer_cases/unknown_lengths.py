"""Layers that give a new time axis with out_type: its lengths are those of the source."""

extern_data = {"data": {"dim": 3}, "other": {"dim": 3, "available_for_inference": True}}
network = {
    "typed": {
        "class": "eval",
        "eval": "source(0, auto_convert=False) * 2",
        "from": "data",
        "out_type": {"shape": (None, 3)},
        "is_output_layer": True,
    },
    "back": {"class": "combine", "kind": "add", "from": ["data", "typed"], "is_output_layer": True},
    "joined": {"class": "copy", "from": ["typed", "data"], "is_output_layer": True},
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "typed", "is_output_layer": True},
    "sum_of": {"class": "combine", "kind": "add", "from": ["typed", "h"], "is_output_layer": True},
    "h": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": "typed", "loss": "as_is"},
}
lens = {"data": [5, 2, 4], "other": [5, 2, 4]}
train = True
