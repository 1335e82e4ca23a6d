"""decide with the option length_normalization; decide within the network of a source that has no beam."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": 5,
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "output", "initial_output": 0},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 4, "from": ["prev:embed", "base:mean"]},
            "prob": {"class": "softmax", "from": "s", "target": "classes"},
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 4,
                "from": "prob",
                "initial_output": 0,
                "length_normalization": False,
            },
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "normed": {"class": "decide", "from": "output", "length_normalization": True, "is_output_layer": True},
    "copied": {"class": "decide", "from": "mean", "is_output_layer": True},
}
fetch = ["output", "normed", "copied"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
search = True
param_scale = 1.2
param_seed = 20
