"""Sequences without frames: loop over sources, loop over a target, end in the first step."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "source": {
        "class": "rec",
        "from": "data",
        "unit": {
            "s": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 3,
                "from": ["data:source", "prev:s"],
                "need_last": True,
            },
            "output": {"class": "copy", "from": ["s", "prev:s"]},
        },
    },
    "sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "data"},
    "length": {"class": "length", "from": "data"},
    "unknown": {
        "class": "rec",
        "from": [],
        "max_seq_len": 10,
        "unit": {
            "end": {"class": "compare", "kind": "greater_equal", "from": [":i", "base:length"]},
            "output": {"class": "combine", "kind": "add", "from": ["prev:output", "base:sum"]},
        },
        "is_output_layer": True,
    },
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["embed", "prev:prob", "base:sum"]},
            "prob": {"class": "softmax", "from": "s", "target": "classes", "loss": "ce"},
            "output": {"class": "choice", "target": "classes", "beam_size": 2, "from": "prob", "initial_output": 0},
        },
    },
    "loss": {"class": "copy", "from": "source", "loss": "as_is"},
}
fetch = ["source", "unknown", "output"]
lens = {"data": [3, 0, 1], "classes": [2, 1, 0]}
train = True
