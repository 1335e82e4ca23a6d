"""Initial states of recurrent layers in all forms, and last states."""

_lstm = {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"}
_gru = {"class": "rec", "unit": "gru", "n_out": 2, "from": "data"}
extern_data = {"data": {"dim": 3}}
network = {
    "zeros": dict(_lstm, initial_state="zeros"),
    "zero": dict(_lstm, initial_state=0),
    "ones": dict(_lstm, initial_state="ones"),
    "one": dict(_gru, initial_state=1),
    "var": dict(_lstm, initial_state="var"),
    "var_gru": dict(_gru, initial_state="var", direction=-1),
    "ones_rhn": dict(_gru, unit="rhn", initial_state="ones"),
    "last_frame": {"class": "get_last_hidden_state", "from": "var", "key": "h", "n_out": 2},
    "from_list": dict(_lstm, initial_state=["last_frame", "zeros"]),
    "from_dict": dict(_lstm, initial_state={"h": "last_frame", "c": "var"}, direction=-1),
    "from_layer": dict(_gru, initial_state="one"),
    "from_output": dict(_gru, initial_state="last_frame"),
    "native_var": dict(_lstm, unit="nativelstm2", initial_state="var"),
    "native_ones": dict(_lstm, unit="nativelstm2", initial_state={"h": 1, "c": "ones"}, direction=-1),
}
_layers = sorted(name for name in network if name != "last_frame")
network["output"] = {"class": "copy", "from": _layers, "loss": "as_is"}
lens = {"data": [5, 1, 3]}
train = True
