"""Last states: parts by name, several sources, through sub-networks."""

_lstm = {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"}
_last = {"class": "get_last_hidden_state", "is_output_layer": True}
_inner = {"lin": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"}}
_inner["output"] = dict(_lstm, **{"from": "lin"})
extern_data = {"data": {"dim": 3}}
network = {
    "forward": dict(_lstm),
    "backward": dict(_lstm, direction=-1),
    "native": dict(_lstm, unit="nativelstm2"),
    "sub": {"class": "subnetwork", "subnetwork": _inner, "from": "data"},
    "all": dict(_last, **{"from": "forward", "n_out": 4}),
    "star": dict(_last, **{"from": "backward", "key": "*", "n_out": 4}),
    "c": dict(_last, **{"from": "forward", "key": "c", "n_out": 2}),
    "h": dict(_last, **{"from": "native", "key": "h", "n_out": 2}),
    "concat": dict(_last, **{"from": ["forward", "backward"], "n_out": 8}),
    "concat_h": dict(_last, **{"from": ["forward", "native", "backward"], "key": "h", "n_out": 6, "combine": "concat"}),
    "add": dict(_last, **{"from": ["forward", "backward"], "combine": "add", "n_out": 4}),
    "inner": dict(_last, **{"from": "sub", "n_out": 4}),
    "inner_c": dict(_last, **{"from": "sub", "key": "c", "n_out": 2}),
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": ["concat", "inner"], "loss": "as_is"},
}
lens = {"data": [5, 1, 3]}
train = True
