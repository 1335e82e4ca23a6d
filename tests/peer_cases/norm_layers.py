"""norm, layer_norm, math_norm: axes, parameters, layouts."""

extern_data = {"data": {"dim": 4}}
network = {
    "a": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "split": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "a"},
    "not_last": {"class": "softmax_over_spatial", "from": "a"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "n_f": {"class": "norm", "axis": "F", "from": "a"},
    "n_t": {"class": "norm", "axis": "T", "from": "data"},
    "n_t_tb": {"class": "norm", "axis": "T", "from": "time_major"},
    "n_tf": {"class": "norm", "axes": "TF", "from": "data"},
    "n_list": {"class": "norm", "axes": ["T", "F"], "epsilon": 0.1, "from": "time_major"},
    "n_b": {"class": "norm", "axis": "B", "from": "data"},
    "n_split": {"class": "norm", "axis": "F", "from": "split"},
    "n_split_p": {"class": "norm", "axis": "F", "param_shape": ["dim:2", "F"], "from": "split"},
    "n_split_p2": {"class": "norm", "axes": ["dim:2", "F"], "param_shape": ["F", "dim:2"], "from": "split"},
    "n_scale": {"class": "norm", "axis": "F", "bias": False, "from": "data"},
    "n_plain": {"class": "norm", "axis": -1, "scale": False, "bias": False, "from": "data"},
    "n_not_last": {"class": "norm", "axis": "F", "from": "not_last"},
    "n_joined": {"class": "norm", "axis": "F", "from": ["data", "time_major"]},
    "n_vector": {"class": "norm", "axis": "F", "from": "vector"},
    "l": {"class": "layer_norm", "from": "a"},
    "l_tb": {"class": "layer_norm", "epsilon": 0.01, "from": "time_major"},
    "l_not_last": {"class": "layer_norm", "from": "not_last"},
    "l_joined": {"class": "layer_norm", "from": ["data", "time_major"]},
    "l_split": {"class": "layer_norm", "from": "split"},
    "l_vector": {"class": "layer_norm", "from": "vector"},
    "m_2": {"class": "math_norm", "p": 2, "axis": "F", "from": "a"},
    "m_1": {"class": "math_norm", "p": 1, "axis": "T", "from": "data"},
    "m_3": {"class": "math_norm", "p": 3, "axes": "TF", "from": "time_major"},
    "m_half": {"class": "math_norm", "p": 0.5, "axis": "T", "from": "data"},
    "m_keep": {"class": "math_norm", "p": 2, "axis": "F", "keep_dims": True, "from": "a"},
    "m_keep_t": {"class": "math_norm", "p": 3, "axis": "T", "keep_dims": True, "from": "data"},
    "m_bt": {"class": "math_norm", "p": 2, "axis": "bt", "from": "data"},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "loss": "as_is",
        "from": ["n_f", "n_list", "n_joined", "l", "l_tb", "l_joined", "m_keep", "n_flat", "l_flat", "m_1"],
    },
    "n_flat": {"class": "merge_dims", "axes": "static", "from": "n_split_p2"},
    "l_flat": {"class": "merge_dims", "axes": "static", "from": "l_split"},
}
for _name, _layer in network.items():
    if "norm" in _layer["class"]:
        _layer["is_output_layer"] = True
lens = {"data": [6, 3, 5]}
train = True
