"""gating, weighted_sum, elemwise_prod, scaled_grad, with gradients."""

extern_data = {"data": {"dim": 4}, "labels": {"dim": 5, "sparse": True, "available_for_inference": True}}
network = {
    "a": {"class": "linear", "activation": None, "n_out": 6, "from": "data"},
    "half_1": {"class": "linear", "activation": None, "n_out": 3, "from": "data"},
    "half_2": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "split": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "a"},
    "split_4": {"class": "split_dims", "axis": "F", "dims": (3, -1), "from": "a"},
    "not_last": {"class": "softmax_over_spatial", "from": "a"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "gate": {"class": "gating", "activation": "tanh", "from": "a"},
    "gate_none": {"class": "gating", "activation": None, "n_out": 3, "from": "a"},
    "gate_other": {"class": "gating", "activation": "identity", "gate_activation": "tanh", "from": "a"},
    "gate_two": {"class": "gating", "activation": "relu", "from": ["half_1", "half_2"]},
    "gate_tb": {"class": "gating", "activation": "tanh", "from": "time_major"},
    "gate_split": {"class": "gating", "activation": "tanh", "from": "split_4"},
    "gate_not_last": {"class": "gating", "activation": "tanh", "from": "not_last"},
    "gate_vector": {"class": "gating", "activation": "softmax", "from": "vector"},
    "sum_f": {"class": "weighted_sum", "axes": "F", "from": "a"},
    "sum_split": {"class": "weighted_sum", "axes": "dim:2", "from": "split"},
    "sum_keep": {"class": "weighted_sum", "axes": "dim:2", "keep_dims": True, "from": "split"},
    "sum_keep_f": {"class": "weighted_sum", "axes": ["F"], "keep_dims": True, "from": "a"},
    "sum_two": {"class": "weighted_sum", "axes": ["dim:2", "F"], "from": "split"},
    "sum_tb": {"class": "weighted_sum", "axes": "F", "from": "time_major"},
    "sum_same": {"class": "weighted_sum", "axes": "F", "size": (2,), "padding": "same", "from": "a"},
    "sum_same_3": {"class": "weighted_sum", "axes": "F", "size": (3,), "padding": "same", "keep_dims": True, "from": "a"},
    "sum_same_4": {"class": "weighted_sum", "axes": "F", "size": (4,), "padding": "same", "from": "data"},
    "sum_whole": {"class": "weighted_sum", "axes": "F", "size": (4,), "padding": "valid", "from": "data"},
    "prod": {"class": "elemwise_prod", "axes": "F", "from": "a"},
    "prod_split": {"class": "elemwise_prod", "axes": "dim:2", "from": "split"},
    "prod_two": {"class": "elemwise_prod", "axes": ["dim:2", "F"], "from": "split"},
    "prod_size": {"class": "elemwise_prod", "axes": ["F"], "size": (4,), "from": "time_major"},
    "g": {"class": "scaled_grad", "scale": -0.5, "from": "a"},
    "g_shift": {"class": "scaled_grad", "scale": 0.5, "shift": 0.1, "from": "half_1"},
    "g_sum": {"class": "scaled_grad", "scale": 1.5, "shift": 0.1, "scale_shift_by_sum_over_axis": "F", "from": "time_major"},
    "g_clip": {"class": "scaled_grad", "scale": 2.0, "shift": -0.5, "clip_max_axis": "F", "from": "prod_size"},
    "g_stop": {"class": "scaled_grad", "scale": 0, "from": "half_2"},
    "g_labels": {"class": "scaled_grad", "scale": 0.5, "from": "data:labels"},
    "flat": {"class": "merge_dims", "axes": "static", "from": "prod_two"},
    "output": {
        "class": "linear", "activation": None, "n_out": 2, "loss": "as_is",
        "from": ["gate", "gate_two", "sum_split", "sum_keep_f", "sum_same", "prod", "flat", "g", "g_shift", "g_sum", "g_clip", "g_stop"],
    },
    "loss_2": {"class": "copy", "from": "sum_two_f", "loss": "as_is"},
    "sum_two_f": {"class": "eval", "eval": "source(0) * source(0)", "from": "sum_same_4"},
}
for _name, _layer in network.items():
    if _layer["class"] in ("gating", "weighted_sum", "elemwise_prod", "scaled_grad"):
        _layer["is_output_layer"] = True
lens = {"data": [6, 3, 5], "labels": [2, 4, 1]}
train = True
