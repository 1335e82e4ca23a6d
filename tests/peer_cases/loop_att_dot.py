"""Dot attention with one head: query from a GRU cell, energy by `dot`, softmax over the encoder frames; training."""

extern_data = {"data": {"dim": 5}, "classes": {"dim": 6, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": "max_len_from('base:encoder')",
        "unit": {
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "from": "prob",
                "initial_output": 0,
            },
            "end": {"class": "compare", "value": 0, "from": "output"},
            "embed": {
                "class": "linear",
                "activation": None,
                "n_out": 3,
                "from": "output",
                "initial_output": "apply(0)",
            },
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 4, "from": ["prev:embed", "prev:att"]},
            "energy": {
                "class": "dot",
                "red1": "F",
                "red2": "F",
                "var1": "T",
                "var2": None,
                "from": ["base:encoder", "s"],
            },
            "weights": {"class": "softmax_over_spatial", "energy_factor": 0.5, "from": "energy"},
            "att": {"class": "generic_attention", "weights": "weights", "base": "base:encoder"},
            "readout": {"class": "linear", "activation": "tanh", "n_out": 5, "from": ["s", "att"]},
            "prob": {"class": "softmax", "from": "readout", "target": "classes", "loss": "ce"},
        },
    },
}
fetch = ["output", "output/readout"]
lens = {"data": [7, 4, 5], "classes": [4, 2, 3]}
train = True
param_scale = 0.8
