"""shift_axis, repeat, seq_len_mask."""

extern_data = {"data": {"dim": 2}, "labels": {"dim": 6, "sparse": True, "available_for_inference": True}}
shift = {"class": "shift_axis", "from": "x", "axis": "T", "loss": "as_is"}
repeat = {"class": "repeat", "from": "x", "axis": "T", "loss": "as_is"}
mask = {"class": "seq_len_mask", "from": "x", "mask_value": 0.5, "loss": "as_is"}
number = "tf.cast(source(0, auto_convert=False)[:, :, 0] * 4.0, tf.int32) %% %i"
counts = {"dtype": "int32", "shape": (None,), "dim": 5, "sparse": True, "feature_dim_axis": None}
network = {
    "x": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
    "rec": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
    "len": {"class": "length", "from": "data"},
    "last": {"class": "eval", "eval": "source(0) - 1", "from": "len"},
    "first": {"class": "eval", "eval": "source(0) * 0 + 1", "from": "len"},
    "counts": {"class": "eval", "eval": number % 3, "from": "data", "out_type": counts},
    "shift1": {**shift, "amount": 1},
    "shift2": {**shift, "amount": 2, "pad_value": 0.5},
    "shift9": {**shift, "amount": 9},
    "left1": {**shift, "amount": -1, "pad_value": 0.5},
    "left3": {**shift, "amount": -3},
    "shift_cut": {**shift, "amount": 1, "pad": False},
    "left_cut": {**shift, "amount": -1, "pad": False},
    "shift_same": {**shift, "amount": 1, "adjust_size_info": False},
    "left_same": {**shift, "amount": -1, "adjust_size_info": False, "pad_value": 0.5},
    "features_cut": {**shift, "axis": "F", "amount": 1, "pad": False},
    "features_left_cut": {**shift, "axis": "F", "amount": -1, "pad": False},
    "shift_time_major": {**shift, "from": "rec", "amount": 1},
    "shift_labels": {"class": "shift_axis", "from": "data:labels", "axis": "T", "amount": 1, "pad_value": 5},
    "repeat2": {**repeat, "repetitions": 2},
    "repeat1": {**repeat, "repetitions": 1},
    "repeat_time_major": {**repeat, "from": "rec", "repetitions": 2},
    "repeat_features": {"class": "repeat", "from": "x", "axis": "F", "repetitions": 2},
    "repeat_labels": {"class": "repeat", "from": "data:labels", "axis": "T", "repetitions": 3},
    "repeat_each": {**repeat, "repetitions": "counts"},
    "repeat_each_time_major": {**repeat, "from": "rec", "repetitions": "counts"},
    "repeat_by_labels": {"class": "repeat", "from": "data:labels", "axis": "T", "repetitions": "data:labels"},
    "repeat_per_seq": {**repeat, "repetitions": "first"},
    "two": {"class": "constant", "value": 2},
    "repeat_constant": {**repeat, "repetitions": "two"},
    "mask": mask,
    "mask_time_major": {**mask, "from": "rec"},
    "mask_labels": {"class": "seq_len_mask", "from": "data:labels", "mask_value": 5},
    "mask_source": {**mask, "seq_len_source": "rec"},
    "mask_start": {**mask, "start": "first"},
    "mask_window": {**mask, "window_start": "first", "window_size": "last"},
    "mask_window2": {**mask, "window_start": "first", "window_size": 2},
    "mask_all": {**mask, "start": "first", "window_start": "last", "window_size": 2},
    "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "mask", "loss": "as_is"},
}
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4], "labels": [3, 1, 2]}
train = True
