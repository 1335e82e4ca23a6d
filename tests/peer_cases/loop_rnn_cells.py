"""rnn_cell with every unit in the loop, each fed by the previous output of all."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
cells = {
    "standard": {"unit": "standardlstm"},
    "standard0": {"unit": "standardlstm", "unit_opts": {"forget_bias": 0.0}},
    "peep": {"unit": "standardlstm", "unit_opts": {"use_peepholes": True}},
    "block": {"unit": "LSTMBlock"},
    "basic": {"unit": "BasicLSTM"},
    "gru": {"unit": "GRU"},
    "rnn": {"unit": "BasicRNN"},
    "rhn": {"unit": "rhn", "unit_opts": {"depth": 2}},
    "zoneout": {"unit": "zoneoutlstm", "unit_opts": {"zoneout_factor_cell": 0.3, "zoneout_factor_output": 0.2}},
    "norm": {"unit": "layernormvariantslstm"},
    "norm_gates": {
        "unit": "layernormvariantslstm",
        "unit_opts": {"global_norm": False, "per_gate_norm": True, "cell_norm_in_output": False, "hidden_norm": True},
    },
}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "unit": {
            **{
                name: {
                    "class": "rnn_cell",
                    "n_out": 2,
                    "from": ["data:source", "prev:all"],
                    **opts,
                    "is_output_layer": True,
                }
                for name, opts in cells.items()
            },
            "all": {"class": "linear", "activation": "tanh", "n_out": 3, "from": sorted(cells)},
            "prob": {"class": "softmax", "from": "all", "target": "classes", "loss": "ce"},
            "output": {"class": "copy", "from": "prob"},
        },
    },
}
fetch = ["output"] + ["output/" + name for name in cells]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
param_scale = 0.7
