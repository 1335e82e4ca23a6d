"""Sums over frames with given weights: axes of weights and base in all combinations."""

extern_data = {"data": {"dim": 4}, "query": {"dim": 6, "available_for_inference": True}}
network = {
    "key": {"class": "linear", "activation": None, "n_out": 6, "from": "data"},
    "value": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data"},
    "value_tb": {"class": "rec", "unit": "standardlstm", "n_out": 5, "from": "data"},
    "value_heads": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "key"},
    "value_1": {"class": "split_dims", "axis": "F", "dims": (1, -1), "from": "value"},
    "heads": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "key"},
    "heads_q": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "data:query"},
    "logits_1": {"class": "linear", "activation": None, "n_out": 1, "from": "data"},
    "logits_2": {"class": "linear", "activation": None, "n_out": 2, "from": "data"},
    "logits_3": {"class": "linear", "activation": None, "n_out": 3, "from": "data"},
    "logits_4": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "data"},
    "energy": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["key", "data:query"]},
    "energy_h": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["heads", "heads_q"]},
    "w_1": {"class": "softmax_over_spatial", "from": "logits_1"},
    "w_2": {"class": "softmax_over_spatial", "from": "logits_2"},
    "w_3": {"class": "softmax_over_spatial", "from": "logits_3"},
    "w_4": {"class": "softmax_over_spatial", "from": "logits_4"},
    "w_q": {"class": "softmax_over_spatial", "axis": "stag:extern_data:data", "from": "energy"},
    "w_h": {"class": "softmax_over_spatial", "axis": "stag:extern_data:data", "from": "energy_h"},
    "w_flat": {"class": "softmax_over_spatial", "from": "frame"},
    "frame": {"class": "reduce", "mode": "max", "axis": "F", "from": "data"},
    "raw": {"class": "linear", "activation": "sigmoid", "n_out": 3, "from": "value_tb"},
    "raw_masked": {"class": "reduce", "mode": "sum", "axis": "T", "from": "raw"},
    "att_1": {"class": "generic_attention", "weights": "w_1", "base": "value"},
    "att_1_kept": {"class": "generic_attention", "weights": "w_1", "base": "value", "auto_squeeze": False},
    "att_1_tb": {"class": "generic_attention", "weights": "w_1", "base": "value_tb"},
    "att_1_1": {"class": "generic_attention", "weights": "w_1", "base": "value_1"},
    "att_1_1_kept": {"class": "generic_attention", "weights": "w_1", "base": "value_1", "auto_squeeze": False},
    "att_flat": {"class": "generic_attention", "weights": "w_flat", "base": "value", "n_out": 5},
    "att_2": {"class": "generic_attention", "weights": "w_2", "base": "value"},
    "att_2_heads": {"class": "generic_attention", "weights": "w_2", "base": "value_heads"},
    "att_3": {"class": "generic_attention", "weights": "w_3", "base": "value_tb"},
    "att_4": {"class": "generic_attention", "weights": "w_4", "base": "value"},
    "att_4_heads": {"class": "generic_attention", "weights": "w_4", "base": "value_heads"},
    "att_q": {"class": "generic_attention", "weights": "w_q", "base": "value"},
    "att_h": {"class": "generic_attention", "weights": "w_h", "base": "value"},
    "att_h_heads": {"class": "generic_attention", "weights": "w_h", "base": "value_heads"},
    "flat": {"class": "merge_dims", "axes": "static", "from": "att_4_heads"},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": ["flat", "att_1"], "loss": "as_is"},
    "loss_2": {"class": "linear", "activation": None, "n_out": 2, "from": "att_h_mean", "loss": "as_is"},
    "att_h_mean": {"class": "reduce", "mode": "mean", "axis": ["T", "dim:2"], "from": "att_h_heads"},
}
for _name, _layer in network.items():
    if _layer["class"] == "generic_attention":
        _layer["is_output_layer"] = True
lens = {"data": [6, 3, 5], "query": [2, 4, 3]}
train = True
