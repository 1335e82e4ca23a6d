"""A loop over its source with an end layer: the length is what the end layer says, while the frames last."""

extern_data = {"data": {"dim": 2}}
unit = {
    "c": {"class": "combine", "kind": "add", "from": ["prev:c", "data:source"], "is_output_layer": True},
    "big": {"class": "reduce", "mode": "max", "axis": "F", "from": "c"},
    "end": {"class": "compare", "kind": "greater", "value": 1.5, "from": "big"},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": "c"},
}
network = {
    "with_end": {"class": "rec", "from": "data", "max_seq_len": "max_len_from('base:data')", "unit": unit},
    "without": {
        "class": "rec",
        "from": "data",
        "unit": {k: v for k, v in unit.items() if k != "end"},
        "is_output_layer": True,
    },
    "output": {"class": "copy", "from": "with_end/c"},
}
fetch = ["with_end", "with_end/c", "without", "output"]
lens = {"data": [5, 2, 4]}
