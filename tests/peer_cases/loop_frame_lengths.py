"""Layers of the loop with a time axis of their own whose length differs from frame to frame, read from outside."""

extern_data = {"data": {"dim": 2}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "rest": {"class": "slice_nd", "from": "base:data", "start": "start_int", "size": None},
            "start_b": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "prev:sum"},
            "start_int": {"class": "reinterpret_data", "set_sparse": False, "from": "start_b"},
            "sum0": {"class": "reduce", "mode": "sum", "axis": "stag:sliced-time", "from": "rest"},
            "sum": {"class": "combine", "kind": "add", "from": ["data:source", "sum0"], "is_output_layer": True},
            "label": {"class": "copy", "from": "start_b", "is_output_layer": True},
            "output": {"class": "linear", "activation": None, "n_out": 2, "from": "sum"},
        },
    },
}
fetch = ["output", "output/sum", "output/label"]
lens = {"data": [5, 2, 4]}
