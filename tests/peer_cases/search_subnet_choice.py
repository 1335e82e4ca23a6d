"""Search over a subnetwork with states, end by two conditions, last frames by need_last."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "length": {"class": "length", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": 7,
        "unit": {
            "dec": {
                "class": "subnetwork",
                "from": ["prev:output"],
                "subnetwork": {
                    "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "data"},
                    "sum": {"class": "combine", "kind": "add", "from": ["embed", "prev:sum"]},
                    "s": {
                        "class": "rnn_cell",
                        "unit": "gru",
                        "n_out": 4,
                        "from": ["sum", "base:base:mean", "base:prev:output2"],
                    },
                    "output": {"class": "copy", "from": ["s", "sum"]},
                },
            },
            "output2": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 2,
                "from": "output",
                "initial_output": "ones",
            },
            "prob": {"class": "softmax", "from": "dec", "target": "classes"},
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
            "is_end": {"class": "compare", "value": 0, "from": "output"},
            "too_long": {
                "class": "eval",
                "eval": "source(0) + 2 > source(1)",
                "from": [":i", "base:length"],
                "out_type": {"dtype": "bool", "shape": (), "sparse": False, "dim": None},
            },
            "end": {"class": "combine", "kind": "logical_or", "from": ["is_end", "too_long"]},
            "count": {
                "class": "linear",
                "activation": None,
                "n_out": 2,
                "from": ["prev:count", "output2"],
                "need_last": True,
            },
        },
    },
    "last": {"class": "rec_last_output", "rec_layer": "output", "sub_layer_name": "count", "is_output_layer": True},
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "last", "decision"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
search = True
param_scale = 1.2
param_seed = 12
