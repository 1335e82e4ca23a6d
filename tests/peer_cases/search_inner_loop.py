"""Search with a loop over the encoder in each step: an inner cell per hypothesis."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": 5,
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["base:mean", "embed", "prev:summary"]},
            "x": {"class": "combine", "kind": "add", "from": ["base:encoder", "s"]},
            "cell": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "from": "x", "direction": -1},
            "both": {"class": "copy", "from": "cell"},
            "summary": {"class": "reduce", "mode": "mean", "axis": "T", "from": "both"},
            "prob": {"class": "softmax", "from": ["summary", "s"], "target": "classes"},
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "decision"]
lens = {"data": [5, 2, 4], "classes": [4, 2, 3]}
search = True
param_scale = 0.8
param_seed = 32
