"""Units with a state of one part: gru, basic rnn, recurrent highway."""

_units = {
    "gru": {"unit": "gru"},
    "gru_bw": {"unit": "GRU", "direction": -1},
    "rnn": {"unit": "basicrnn", "L2": 0.1},
    "rnn_bw": {"unit": "BasicRNN", "direction": -1},
    "rhn": {"unit": "rhn"},
    "rhn_bw": {"unit": "RHN", "direction": -1, "unit_opts": {"depth": 2, "transform_bias": -1.0}},
}
extern_data = {"data": {"dim": 3}}
network = {name: dict(opts, **{"class": "rec", "n_out": 2, "from": "data"}) for name, opts in _units.items()}
network["output"] = {"class": "copy", "from": sorted(_units), "loss": "as_is"}
for _name in _units:
    network["last_" + _name] = {"class": "get_last_hidden_state", "from": _name, "n_out": 2, "is_output_layer": True}
network["key_none"] = {
    "class": "get_last_hidden_state",
    "from": "gru",
    "n_out": 2,
    "key": None,
    "is_output_layer": True,
}
lens = {"data": [5, 1, 3]}
train = True
