"""LSTM units by all their names, both directions, options of the cells, L2 on a recurrent layer."""

_units = {
    "standard": {"unit": "standardlstm"},
    "standard_bw": {"unit": "StandardLSTM", "direction": -1, "unit_opts": {"forget_bias": 0.0}},
    "peepholes": {"unit": "standardlstm", "unit_opts": {"use_peepholes": True, "forget_bias": 0.5}, "L2": 0.1},
    "peepholes_bw": {"unit": "standardlstm", "unit_opts": {"use_peepholes": True}, "direction": -1},
    "basic": {"unit": "BasicLSTM", "unit_opts": {"forget_bias": 2.0}},
    "block": {"unit": "LSTMBlock", "L2": 0.01},
    "block_fused_bw": {"unit": "lstmblockfused", "direction": -1},
    "vanilla": {"unit": "vanillalstm"},
    "lstmp": {"unit": "lstmp", "direction": -1},
    "no_dropout": {"unit": "nativelstm2", "dropout": 0.0, "unit_opts": {"rec_weight_dropout": 0}},
}
extern_data = {"data": {"dim": 3}}
network = {name: dict(opts, **{"class": "rec", "n_out": 2, "from": "data"}) for name, opts in _units.items()}
network["output"] = {"class": "copy", "from": sorted(_units), "loss": "as_is", "n_out": 20}
lens = {"data": [5, 1, 3]}
train = True
