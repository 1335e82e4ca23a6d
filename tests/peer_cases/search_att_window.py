"""Search with attention in a window that starts at the best frame of the previous step."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": 5,
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 4, "from": ["base:mean", "embed"]},
            "energy": {
                "class": "dot",
                "red1": -1,
                "red2": -1,
                "var1": "T",
                "var2": "T?",
                "from": ["base:encoder", "s"],
            },
            "weights": {
                "class": "softmax_over_spatial",
                "from": "energy",
                "window_start": "prev:best",
                "window_size": 3,
                "is_output_layer": True,
            },
            "best": {
                "class": "reduce",
                "mode": "argmax",
                "axis": "T",
                "from": "weights",
                "initial_output": 0,
                "is_output_layer": True,
            },
            "att": {"class": "generic_attention", "weights": "weights", "base": "base:encoder"},
            "prob": {"class": "softmax", "from": ["s", "att"], "target": "classes"},
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/weights", "output/best", "decision"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
search = True
param_scale = 0.8
param_seed = 37
