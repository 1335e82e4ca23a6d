"""slice_nd: starts and sizes as numbers and layers, several starts for a sequence."""

extern_data = {"data": {"dim": 2}, "labels": {"dim": 6, "sparse": True, "available_for_inference": True}}
cut = {"class": "slice_nd", "from": "x", "size": None, "loss": "as_is"}
opts = {
    "rest": {"start": "last"},
    "rest1": {"start": 1},
    "at_least3": {"start": "last", "min_size": 3},
    "at_least9": {"start": "last", "min_size": 9},
    "at_least2": {"start": "first", "min_size": 2},
    "early": {"start": "early"},
    "constant": {"start": "one"},
    "two": {"start": "last", "size": 2},
    "three": {"start": 1, "size": 3},
    "three_from_0": {"start": 0, "size": 3},
    "begin": {"start": None, "size": 2},
    "constant_three": {"start": "one", "size": 3},
    "early_three": {"start": "early", "size": 3},
    "size_layer": {"start": "first", "size": "len"},
    "size_layer_short": {"start": 1, "size": "last"},
    "time_major": {"from": "rec", "start": "first"},
    "time_major_two": {"from": "rec", "start": "last", "size": 2},
}
network = {name: {**cut, **o} for name, o in opts.items()}
network.update(
    {
        "x": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
        "rec": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
        "len": {"class": "length", "from": "data"},
        "last": {"class": "eval", "eval": "source(0) - 1", "from": "len"},
        "first": {"class": "eval", "eval": "source(0) * 0 + 1", "from": "len"},
        "early": {"class": "eval", "eval": "source(0) - 3", "from": "len"},
        "one": {"class": "constant", "value": 1},
        "several": {"class": "eval", "eval": "source(0) % 3", "from": "data:labels"},
        "several_two": {"class": "slice_nd", "from": "x", "size": 2, "start": "several"},
        "several_rest": {"class": "slice_nd", "from": "x", "size": None, "start": "several"},
        "size_constant": {"class": "slice_nd", "from": "x", "start": "first", "size": "one"},
        "labels": {"class": "slice_nd", "size": 2, "start": "first", "from": "data:labels"},
        "labels_rest": {"class": "slice_nd", "size": None, "start": "first", "from": "data:labels"},
        "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "rest1", "loss": "as_is"},
    }
)
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4], "labels": [3, 1, 2]}
train = True
