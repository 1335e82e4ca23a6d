"""Zoneout factors 0 while training: a plain LSTM."""

extern_data = {"data": {"dim": 3}}
network = {
    "plain": {"class": "rec", "unit": "zoneoutlstm", "n_out": 2, "from": "data"},
    "bias": {"class": "rec", "unit": "zoneoutlstm", "n_out": 2, "from": "data", "direction": -1},
    "output": {"class": "copy", "from": ["plain", "bias"], "loss": "as_is"},
}
lens = {"data": [5, 1, 3]}
train = True
