"""The LSTM with layer normalisation in many places."""

_off = {"global_norm": False, "cell_norm": False}
_units = {
    "default": {},
    "no_norm": dict(_off),
    "no_norm_concat": dict(_off, with_concat=True, forget_bias=1.0),
    "joined": {"global_norm": False, "global_norm_joined": True},
    "joined_concat": {"global_norm": False, "global_norm_joined": True, "with_concat": True, "hidden_norm": True},
    "per_gate": {"global_norm": False, "per_gate_norm": True, "forget_bias": 1.0},
    "per_gate_concat": {"global_norm": False, "per_gate_norm": True, "with_concat": True, "cell_norm": False},
    "not_in_output": {"cell_norm_in_output": False},
    "hidden": {"hidden_norm": True, "norm_gain": 0.5, "norm_shift": 0.25, "forget_bias": 2.0},
    "no_cell": {"cell_norm": False, "hidden_norm": True, "variance_epsilon": 0.01},
    "zero_dropout": {"dropout": 0.0, "dropout_h": 0.0},
}
extern_data = {"data": {"dim": 3}}
network = {
    name: {"class": "rec", "unit": "layernormvariantslstm", "unit_opts": opts, "n_out": 7, "from": "data"}
    for name, opts in _units.items()
}
network["backward"] = dict(network["default"], direction=-1)
network["last"] = {"class": "get_last_hidden_state", "from": ["default", "not_in_output"], "n_out": 28}
network["last"]["is_output_layer"] = True
network["output"] = {"class": "copy", "from": [*sorted(_units), "backward"], "loss": "as_is"}
lens = {"data": [5, 1, 3]}
train = True
