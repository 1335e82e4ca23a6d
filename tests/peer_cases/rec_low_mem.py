"""The native LSTM with one matrix for input and state.

All sequences are as long as the batch: the stored gradients of shorter ones, read backwards, would hold something of
the padding.
"""

extern_data = {"data": {"dim": 3}}
network = {
    "forward": {"class": "rec", "unit": "NativeLstmLowMem", "n_out": 2, "from": "data"},
    "backward": {"class": "rec", "unit": "nativelstmlowmem", "n_out": 2, "direction": -1, "from": "data"},
    "output": {"class": "copy", "from": ["forward", "backward"], "loss": "as_is"},
}
lens = {"data": [5, 5, 5]}
train = True
