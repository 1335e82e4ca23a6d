"""The layers dot_attention, concat_attention and gauss_window_attention within a loop."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "ctx": {"class": "linear", "activation": None, "n_out": 3, "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "output", "initial_output": 0},
            "s": {
                "class": "rnn_cell",
                "unit": "gru",
                "n_out": 3,
                "from": ["prev:embed", "prev:dot_att", "prev:concat_att", "prev:gauss"],
            },
            "dot_att": {
                "class": "dot_attention",
                "from": "s",
                "base": "base:encoder",
                "base_ctx": "base:ctx",
                "energy_factor": 0.6,
                "is_output_layer": True,
            },
            "concat_att": {
                "class": "concat_attention",
                "from": "s",
                "base": "base:encoder",
                "base_ctx": "base:ctx",
                "is_output_layer": True,
            },
            "step": {"class": "linear", "activation": "sigmoid", "n_out": 1, "from": "s"},
            "step_": {"class": "squeeze", "axis": "F", "from": "step"},
            "position": {"class": "combine", "kind": "add", "from": ["prev:position", "step_"]},
            "gauss": {
                "class": "gauss_window_attention",
                "from": "position",
                "base": "base:encoder",
                "window_size": 3,
                "std": 0.7,
                "is_output_layer": True,
            },
            "prob": {"class": "softmax", "from": ["s", "dot_att"], "target": "classes", "loss": "ce"},
        },
    },
}
fetch = ["output", "output/dot_att", "output/concat_att", "output/gauss"]
lens = {"data": [7, 4, 5], "classes": [4, 2, 3]}
train = True
param_scale = 0.8
