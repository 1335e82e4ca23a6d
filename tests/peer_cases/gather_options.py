"""gather_nd, gather: positions as numbers and layers, axes, labels, time-major input."""

extern_data = {"data": {"dim": 3}, "labels": {"dim": 6, "sparse": True, "available_for_inference": True}}
number = "tf.cast(source(0, auto_convert=False)[:, :, 0] * 4.0, tf.int32) % 2"
places = {"dtype": "int32", "shape": (None,), "dim": 2, "sparse": True, "feature_dim_axis": None}
loss = {"loss": "as_is"}
gather, gather_nd = {"class": "gather", "from": "x", "axis": "T"}, {"class": "gather_nd", "from": "x"}
network = {
    "x": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "rec": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "len": {"class": "length", "from": "data"},
    "last": {"class": "eval", "eval": "source(0) - 1", "from": "len"},
    "places": {"class": "eval", "eval": number, "from": "data", "out_type": places},
    "one": {"class": "constant", "value": 1},
    "highest": {"class": "reduce", "mode": "max", "axis": "T", "from": "rec"},
    "features": {"class": "eval", "eval": "source(0) % 3", "from": "data:labels"},
    "nd_last": {**gather_nd, "position": "last", **loss},
    "nd_last_time_major": {**gather_nd, "from": "rec", "position": "last", **loss},
    "nd_labels": {**gather_nd, "from": "data:labels", "position": "labels_last"},
    "labels_len": {"class": "length", "from": "data:labels"},
    "labels_last": {"class": "eval", "eval": "source(0) - 1", "from": "labels_len"},
    "nd_places": {**gather_nd, "position": "places"},
    "nd_places_time_major": {**gather_nd, "from": "rec", "position": "places"},
    "nd_constant": {**gather_nd, "position": "one", **loss},
    "nd_features": {**gather_nd, "from": "highest", "position": "first"},
    "first": {"class": "eval", "eval": "source(0) * 0 + 1", "from": "len"},
    "number": {**gather, "position": 1, **loss},
    "number_features": {**gather, "axis": "F", "position": 1, **loss},
    "number_batch": {**gather, "axis": "B", "position": 1},
    "last_frame": {**gather, "position": "last", **loss},
    "last_frame_time_major": {**gather, "from": "rec", "position": "last", **loss},
    "clipped": {**gather, "position": "data:labels", "clip_to_valid": True, **loss},
    "clipped_number": {**gather, "position": 3, "clip_to_valid": True, **loss},
    "feature": {**gather, "axis": "F", "position": "first", **loss},
    "feature_places": {**gather, "axis": "F", "position": "features"},
    "frames": {**gather, "position": "places"},
    "frames_of_labels": {**gather, "from": "data:labels", "position": "labels_last"},
    "constant": {**gather, "position": "one", **loss},
    "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "nd_last", **loss},
}
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4], "labels": [3, 1, 2]}
train = True
