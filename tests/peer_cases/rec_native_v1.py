"""The first native LSTM, which has the cell state only as its state, and the variant with one matrix."""

extern_data = {"data": {"dim": 3}}
network = {
    "native": {"class": "rec", "unit": "nativelstm", "n_out": 2, "from": "data", "is_output_layer": True},
    "native_bw": {"class": "rec", "unit": "NativeLstm", "n_out": 2, "direction": -1, "from": "data"},
    "last": {"class": "get_last_hidden_state", "from": ["native", "native_bw"], "n_out": 4, "is_output_layer": True},
    "output": {"class": "copy", "from": ["native", "native_bw"], "loss": "as_is"},
}
lens = {"data": [5, 1, 3]}
train = True
