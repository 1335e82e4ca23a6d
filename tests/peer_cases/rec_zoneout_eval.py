"""Zoneout in evaluation: the mean of the noise."""

_units = {
    "plain": {},
    "cell": {"zoneout_factor_cell": 0.5},
    "output_state": {"zoneout_factor_output": 0.25},
    "both": {"zoneout_factor_cell": 0.5, "zoneout_factor_output": 0.25},
    "both_out": {"zoneout_factor_cell": 0.15, "zoneout_factor_output": 0.05, "use_zoneout_output": True},
}
extern_data = {"data": {"dim": 3}}
network = {
    name: {"class": "rec", "unit": "zoneoutlstm", "unit_opts": opts, "n_out": 2, "from": "data"}
    for name, opts in _units.items()
}
network["both_bw"] = {"class": "rec", "unit": "ZoneoutLSTM", "unit_opts": _units["both"], "n_out": 2, "from": "data"}
network["both_bw"]["direction"] = -1
network["last"] = {"class": "get_last_hidden_state", "from": ["both", "both_out"], "n_out": 8, "is_output_layer": True}
network["output"] = {"class": "copy", "from": [*sorted(_units), "both_bw"], "loss": "as_is"}
lens = {"data": [5, 1, 3]}
