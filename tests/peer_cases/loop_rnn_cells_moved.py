"""rnn_cell with every unit, not fed by previous outputs: all of them leave the loop; training."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
cells = {
    "standard": {"unit": "standardlstm"},
    "block": {"unit": "LSTMBlock", "unit_opts": {"forget_bias": 0.5}},
    "basic": {"unit": "BasicLSTM", "initial_state": "ones"},
    "gru": {"unit": "GRU", "initial_state": "ones"},
    "rnn": {"unit": "BasicRNN"},
    "rhn": {"unit": "rhn", "unit_opts": {"depth": 2}},
    "norm": {"unit": "layernormvariantslstm", "initial_state": "ones"},
    "norm_concat": {"unit": "layernormvariantslstm", "unit_opts": {"global_norm": False, "with_concat": True}},
    "norm_joined": {"unit": "layernormvariantslstm", "unit_opts": {"global_norm": False, "global_norm_joined": True}},
}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "unit": {
            **{
                name: {"class": "rnn_cell", "n_out": 2, "from": "data:source", **opts, "is_output_layer": True}
                for name, opts in cells.items()
            },
            "prob": {"class": "softmax", "from": sorted(cells), "target": "classes", "loss": "ce"},
            "output": {"class": "copy", "from": "prob"},
        },
    },
}
fetch = ["output"] + ["output/" + name for name in cells]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
param_scale = 0.7
train = True
