"""cumsum, top_k. Along time, top_k is only compared for [batch, time]: with more axes the reference stops."""

extern_data = {"data": {"dim": 2}, "labels": {"dim": 6, "sparse": True, "available_for_inference": True}}
cumsum = {"class": "cumsum", "from": "x", "loss": "as_is"}
network = {
    "x": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
    "rec": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
    "six": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "parts": {"class": "split_dims", "axis": "F", "dims": (3, 2), "from": "six"},
    "scalar": {"class": "reduce", "mode": "sum", "axis": "F", "from": "six"},
    "cumsum": cumsum,
    "reverse": {**cumsum, "reverse": True},
    "features": {**cumsum, "axis": "F"},
    "features_reverse": {**cumsum, "axis": "F", "reverse": True},
    "time_major": {**cumsum, "from": "rec"},
    "summand": {**cumsum, "additional_left_summand_per_element": 5},
    "summand_float": {**cumsum, "additional_left_summand_per_element": 0.5, "reverse": True},
    "labels": {"class": "cumsum", "from": "data:labels"},
    "labels_summand": {"class": "cumsum", "from": "data:labels", "additional_left_summand_per_element": 2},
    "top": {"class": "top_k", "from": "six", "axis": "F", "k": 2},
    "top_places": {"class": "copy", "from": "top/indices"},
    "top1": {"class": "top_k", "from": "six", "axis": "F", "k": 1},
    "top_time_major": {"class": "top_k", "from": "rec", "axis": "F", "k": 2},
    "top_labels": {"class": "top_k", "from": "data:labels", "axis": "T", "k": 2},
    "top_time": {"class": "top_k", "from": "scalar", "axis": "T", "k": 3},
    "top_time_places": {"class": "copy", "from": "top_one/indices"},
    "top_one": {"class": "top_k", "from": "scalar", "axis": "T", "k": 1},
    "top_list": {"class": "top_k", "from": "six", "axis": ["F"], "k": 2},
    "top_list_places": {"class": "copy", "from": "top_list/indices0"},
    "top_two": {"class": "top_k", "from": "parts", "axis": ["static:0", "F"], "k": 3},
    "top_two_first": {"class": "copy", "from": "top_two/indices0"},
    "top_two_second": {"class": "copy", "from": "top_two/indices1"},
    "two": {"class": "constant", "value": 2},
    "top_constant": {"class": "top_k", "from": "six", "axis": "F", "k": "two"},
    "len": {"class": "length", "from": "data:labels"},
    "top_len": {"class": "top_k", "from": "data:labels", "axis": "T", "k": "len"},
    "top_batch": {"class": "top_k", "from": "x", "axis": "B", "k": 2},
    "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "cumsum", "loss": "as_is"},
}
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4], "labels": [4, 2, 3]}
train = True
