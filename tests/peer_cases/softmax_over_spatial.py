"""Softmax over an axis: which one, what takes part, layouts."""

extern_data = {"data": {"dim": 4}, "query": {"dim": 6, "available_for_inference": True}}
network = {
    "a": {"class": "linear", "activation": None, "n_out": 4, "from": "data"},
    "b": {"class": "linear", "activation": None, "n_out": 6, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "split": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "a"},
    "frame": {"class": "reduce", "mode": "max", "axis": "F", "from": "data"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "energy": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["b", "data:query"]},
    "lens": {"class": "length", "from": "data"},
    "ones": {"class": "eval", "eval": "source(0) * 0 + 1", "from": "lens"},
    "middle": {"class": "eval", "eval": "tf.math.floordiv(source(0), 2)", "from": "lens"},
    "plain": {"class": "softmax_over_spatial", "from": "a"},
    "tb": {"class": "softmax_over_spatial", "from": "time_major"},
    "plain_split": {"class": "softmax_over_spatial", "from": "split"},
    "plain_frame": {"class": "softmax_over_spatial", "from": "frame"},
    "of_energy": {"class": "softmax_over_spatial", "from": "energy"},
    "over_query": {"class": "softmax_over_spatial", "axis": "stag:query", "from": "energy"},
    "over_data": {"class": "softmax_over_spatial", "axis": "stag:extern_data:data", "from": "energy"},
    "static": {"class": "softmax_over_spatial", "axis": "F", "from": "a"},
    "static_split": {"class": "softmax_over_spatial", "axis": "static:0", "from": "split"},
    "static_tb": {"class": "softmax_over_spatial", "axis": "F", "from": "time_major"},
    "static_vector": {"class": "softmax_over_spatial", "axis": "F", "from": "vector"},
    "over_batch": {"class": "softmax_over_spatial", "axis": "B", "from": "vector"},
    "factor": {"class": "softmax_over_spatial", "energy_factor": 0.3, "from": "a"},
    "log": {"class": "softmax_over_spatial", "log_space": True, "energy_factor": 2.0, "from": "a"},
    "start": {"class": "softmax_over_spatial", "start": "ones", "from": "a"},
    "start_tb": {"class": "softmax_over_spatial", "start": "middle", "from": "time_major"},
    "start_0": {"class": "softmax_over_spatial", "start": 0, "from": "a"},
    "window": {"class": "softmax_over_spatial", "window_start": "middle", "window_size": 2, "from": "split"},
    "window_2": {"class": "softmax_over_spatial", "window_start": "ones", "window_size": "ones", "from": "time_major"},
    "window_0": {"class": "softmax_over_spatial", "window_start": 0, "window_size": 2, "from": "a"},
    "all": {
        "class": "softmax_over_spatial",
        "start": "ones",
        "window_start": "ones",
        "window_size": "middle",
        "from": "a",
        "energy_factor": 0.5,
    },
    "size_only": {"class": "softmax_over_spatial", "window_size": 2, "from": "a"},
    "no_mask": {"class": "softmax_over_spatial", "use_time_mask": False, "from": "data"},
    "joined": {"class": "softmax_over_spatial", "from": ["a", "time_major"], "n_out": 8},
    "product": {"class": "eval", "eval": "source(0) * source(1)", "from": ["tb", "factor"]},
    "sums": {"class": "dot", "red1": "T", "red2": "T", "var1": "F", "var2": "F", "from": ["product", "data"]},
    "sums_flat": {"class": "merge_dims", "axes": "static", "from": "sums"},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": "sums_flat", "loss": "as_is"},
    "loss_2": {"class": "reduce", "mode": "mean", "axis": "T", "from": "window_2", "loss": "as_is"},
}
for _name, _layer in network.items():
    if _layer["class"] == "softmax_over_spatial":
        _layer["is_output_layer"] = True
lens = {"data": [6, 3, 5], "query": [2, 4, 3]}
train = True
