"""Dot: which axes are reduced, own, shared; defaults of old configs; masks."""

extern_data = {"data": {"dim": 4}, "query": {"dim": 6, "available_for_inference": True}}
network = {
    "key": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "key_2": {"class": "linear", "activation": None, "n_out": 6, "from": "data"},
    "value": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 6, "from": "data"},
    "heads": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "key"},
    "heads_2": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "key_2"},
    "heads_q": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "data:query"},
    "square": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "data"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data:query"},
    "weights": {"class": "softmax_over_spatial", "from": "key_2"},
    "logits": {"class": "linear", "activation": None, "n_out": 1, "from": "data"},
    "weights_1": {"class": "softmax_over_spatial", "from": "logits"},
    "energy": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["key", "data:query"]},
    "swapped": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["data:query", "key"]},
    "tb": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["time_major", "data:query"]},
    "bt": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["data:query", "time_major"]},
    "self": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["key", "key_2"]},
    "self_heads": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["heads", "heads_2"]},
    "time": {"class": "dot", "red1": "T", "red2": "T", "var1": "F", "var2": "F", "from": ["key", "value"]},
    "time_same": {"class": "dot", "reduce": "T", "var1": "F", "var2": "F", "from": ["key", "key"]},
    "time_no_mask": {
        "class": "dot", "red1": "T", "red2": "T", "var1": "F", "var2": "F", "use_mask": False, "from": ["data", "data"],
    },
    "zero_padded": {"class": "dot", "red1": "T", "red2": "T", "var1": "F", "var2": "F", "from": ["weights", "value"]},
    "size_1": {"class": "dot", "red1": "T", "red2": "T", "var1": "F", "var2": "F", "from": ["weights_1", "value"]},
    "auto": {"class": "dot", "red1": "F", "red2": "F", "var1": "auto", "var2": "auto", "from": ["key", "data:query"]},
    "auto_shared": {"class": "dot", "red1": "F", "red2": "F", "var1": "auto", "var2": "auto", "from": ["key", "key_2"]},
    "auto_heads": {"class": "dot", "red1": "F", "red2": "F", "var1": "auto", "var2": "auto", "from": ["heads", "heads_q"]},
    "auto_vector": {"class": "dot", "red1": "F", "red2": "F", "var1": "auto", "var2": "auto", "from": ["key", "vector"]},
    "auto_reduce": {"class": "dot", "reduce": "T", "var1": "auto", "var2": "auto", "from": ["key", "value"]},
    "no_var2": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": None, "from": ["key", "vector"]},
    "no_var2_0": {
        "class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "", "add_var2_if_empty": False,
        "from": ["key", "vector"],
    },
    "no_var2_t": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T?", "from": ["key", "vector"]},
    "no_var1": {"class": "dot", "red1": "F", "red2": "F", "var1": None, "var2": "T", "from": ["vector", "key"]},
    "no_var": {"class": "dot", "red1": "F", "red2": "F", "var1": None, "var2": None, "from": ["vector", "vector"]},
    "shared_t": {"class": "dot", "red1": "F", "red2": "F", "var1": None, "var2": None, "from": ["key", "key_2"]},
    "ints": {"class": "dot", "red1": -1, "red2": 2, "var1": 1, "var2": 1, "from": ["key", "data:query"]},
    "ints_tb": {"class": "dot", "red1": -1, "red2": -1, "var1": 0, "var2": 1, "from": ["time_major", "data:query"]},
    "defaults": {"class": "dot", "from": ["square", "square"]},
    "heads_t": {"class": "dot", "red1": "static:-1", "red2": "static:-1", "var1": "T", "var2": "T", "from": ["heads", "heads_q"]},
    "heads_dim": {"class": "dot", "red1": "dim:3", "red2": "dim:3", "var1": "T", "var2": "T", "from": ["heads", "heads_q"]},
    "heads_tag": {
        "class": "dot", "red1": "F", "red2": "F", "var1": "stag:extern_data:data", "var2": "stag:query",
        "from": ["heads", "heads_q"],
    },
    "two": {"class": "dot", "red1": ["F", "dim:2"], "red2": ["F", "dim:2"], "var1": "T", "var2": "T", "from": ["heads", "heads_q"]},
    "two_static": {"class": "dot", "red1": "static", "red2": "static", "var1": "T", "var2": "T", "from": ["heads", "heads_q"]},
    "two_vars": {"class": "dot", "red1": "F", "red2": "F", "var1": ["T", "dim:2"], "var2": ["dim:2", "T"], "from": ["heads", "heads_q"]},
    "context": {
        "class": "dot", "red1": "stag:query", "red2": "T", "var1": "stag:extern_data:data", "var2": "F",
        "from": ["energy", "data:query"],
    },
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": ["size_1_flat", "context_mean"], "loss": "as_is"},
    "size_1_flat": {"class": "merge_dims", "axes": "static", "from": "size_1"},
    "context_mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "context"},
    "loss_2": {"class": "linear", "activation": None, "n_out": 2, "from": "time", "loss": "as_is"},
    "loss_3": {"class": "linear", "activation": None, "n_out": 2, "from": "zero_padded", "loss": "as_is"},
    "loss_4": {"class": "reduce", "mode": "mean", "axis": "except_batch", "from": "self_heads"},
    "loss_5": {"class": "copy", "from": "loss_4", "loss": "as_is"},
}
for _name, _layer in network.items():
    if _layer["class"] == "dot":
        _layer["is_output_layer"] = True
lens = {"data": [6, 3, 5], "query": [2, 4, 3]}
train = True
