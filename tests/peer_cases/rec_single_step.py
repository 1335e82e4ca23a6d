"""An input without time axis: one step, from a given state."""

extern_data = {"data": {"shape": (3,), "dim": 3, "time_dim_axis": None}, "seq": {"dim": 3}}
network = {
    "before": {"class": "rec", "unit": "gru", "n_out": 2, "from": "data:seq"},
    "before_h": {"class": "get_last_hidden_state", "from": "before", "n_out": 2},
    "gru": {"class": "rec", "unit": "gru", "n_out": 2, "from": "data", "state": {"state": "before_h"}},
    "last": {"class": "get_last_hidden_state", "from": "gru", "n_out": 2, "is_output_layer": True},
    "output": {"class": "copy", "from": "gru", "loss": "as_is"},
}
train = True
