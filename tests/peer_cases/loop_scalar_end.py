"""A loop of unknown length whose end is one flag for the whole batch: a length without batch."""

extern_data = {"data": {"dim": 3}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "max_seq_len": 10,
        "unit": {
            "s": {"class": "combine", "kind": "add", "from": ["prev:s", "base:mean"]},
            "end": {"class": "compare", "kind": "equal", "value": 3, "from": ":i"},
            "output": {"class": "copy", "from": "s"},
        },
    },
    "eos": {
        "class": "rec",
        "from": [],
        "max_seq_len": 10,
        "include_eos": True,
        "unit": {
            "end": {"class": "compare", "kind": "equal", "value": 2, "from": ":i"},
            "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": ["prev:output", "base:mean"]},
        },
        "is_output_layer": True,
    },
    "summed": {"class": "reduce", "mode": "sum", "axis": "T", "from": "output", "is_output_layer": True},
}
fetch = ["output", "eos", "summed"]
lens = {"data": [4, 2, 3]}
