"""Attention in a window that follows the best frame of the previous step; a start frame; energies in log space."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "output", "initial_output": 0},
            "s": {"class": "rnn_cell", "unit": "basicrnn", "n_out": 4, "from": ["prev:embed", "prev:att"]},
            "energy": {
                "class": "dot",
                "red1": "F",
                "red2": "F",
                "var1": "T",
                "var2": None,
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
            "from_start": {
                "class": "softmax_over_spatial",
                "from": "energy",
                "start": "prev:best",
                "energy_factor": 0.5,
                "is_output_layer": True,
            },
            "log": {"class": "softmax_over_spatial", "from": "energy", "log_space": True, "is_output_layer": True},
            "att": {"class": "generic_attention", "weights": "weights", "base": "base:encoder"},
            "att2": {"class": "generic_attention", "weights": "from_start", "base": "base:encoder"},
            "prob": {"class": "softmax", "from": ["s", "att", "att2"], "target": "classes", "loss": "ce"},
        },
    },
}
fetch = ["output", "output/weights", "output/best", "output/from_start", "output/log"]
lens = {"data": [7, 4, 5], "classes": [4, 2, 3]}
train = True
param_scale = 0.8
