"""The native LSTM with one matrix for input and state."""

extern_data = {"data": {"dim": 3}}
network = {
    "forward": {"class": "rec", "unit": "NativeLstmLowMem", "n_out": 2, "from": "data"},
    "backward": {"class": "rec", "unit": "nativelstmlowmem", "n_out": 2, "direction": -1, "from": "data"},
    "last": {"class": "get_last_hidden_state", "from": ["forward", "backward"], "n_out": 8, "is_output_layer": True},
    "output": {"class": "copy", "from": ["forward", "backward"], "loss": "as_is"},
}
lens = {"data": [5, 1, 3]}
train = False
