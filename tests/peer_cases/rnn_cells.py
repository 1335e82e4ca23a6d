"""Single-frame units over the time axis, with states of all kinds."""

extern_data = {"data": {"dim": 4}}
R = {"class": "rec", "from": "data", "n_out": 3, "is_output_layer": True}
C = {"class": "rnn_cell", "from": "data", "n_out": 3, "is_output_layer": True}
network = {
    "bw": {**R, "unit": "standardlstm", "direction": -1},
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "init": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "mean"},
    "standard": {**C, "unit": "standardlstm"},
    "var": {**C, "unit": "LSTMBlock", "initial_state": "var"},
    "block_fused": {**C, "unit": "LSTMBlockFused", "from": "bw", "initial_state": {"c": "init", "h": "init"}},
    "cudnn": {**C, "unit": "cudnnlstm", "initial_state": {"h": "zeros", "c": 1}},
    "basic": {**C, "unit": "BasicLSTM", "unit_opts": {"forget_bias": 0.5}},
    "vanilla": {**C, "unit": "vanillalstm"},
    "zoneout": {**C, "unit": "zoneoutlstm", "unit_opts": {"zoneout_factor_cell": 0.0}},
    "norm": {**C, "unit": "layernormvariantslstm"},
    "highway": {**C, "unit": "rhn", "unit_opts": {"depth": 2}},
    "gru": {**C, "unit": "gru", "initial_state": "init"},
    "simple": {**C, "unit": "basicrnn", "initial_state": 1, "from": ["data", "bw"]},
    "scoped": {**C, "unit": "gru", "name_scope": "other"},
    "shared": {**C, "unit": "gru", "reuse_params": "gru"},
    "last": {"class": "get_last_hidden_state", "from": "standard", "n_out": 6, "is_output_layer": True},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "loss": "as_is",
        "from": [
            "standard",
            "var",
            "block_fused",
            "cudnn",
            "basic",
            "vanilla",
            "zoneout",
            "norm",
            "highway",
            "gru",
            "simple",
            "scoped",
            "shared",
        ],
    },
}
lens = {"data": [4, 2, 3]}
train = True
