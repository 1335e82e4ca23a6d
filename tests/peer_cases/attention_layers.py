"""dot_attention, concat_attention, gauss_window_attention."""

extern_data = {"data": {"dim": 4}, "query": {"dim": 6, "available_for_inference": True}}
network = {
    "value": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data"},
    "value_tb": {"class": "rec", "unit": "standardlstm", "n_out": 5, "from": "data"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "source": {"class": "linear", "activation": None, "n_out": 5, "from": "vector"},
    "place": {"class": "reduce", "mode": "sum", "axis": "F", "from": "vector"},
    "dot": {"class": "dot_attention", "from": "vector", "base": "value", "base_ctx": "data"},
    "dot_factor": {
        "class": "dot_attention",
        "from": "vector",
        "base": "data",
        "base_ctx": "data",
        "energy_factor": 0.5,
    },
    "dot_tb": {"class": "dot_attention", "from": "source", "base": "data", "base_ctx": "value_tb", "n_out": 4},
    "dot_tb_2": {"class": "dot_attention", "from": "source", "base": "value_tb", "base_ctx": "value"},
    "concat": {"class": "concat_attention", "from": "source", "base": "data", "base_ctx": "value"},
    "concat_tb": {"class": "concat_attention", "from": "source", "base": "value_tb", "base_ctx": "value_tb"},
    "gauss": {"class": "gauss_window_attention", "from": "place", "base": "value", "window_size": 3},
    "gauss_wide": {"class": "gauss_window_attention", "from": "place", "base": "data", "window_size": 4, "std": 2.0},
    "gauss_tb": {"class": "gauss_window_attention", "from": "place", "base": "value_tb", "window_size": 3},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "loss": "as_is",
        "from": ["dot_factor", "dot_tb", "dot_tb_2", "concat", "concat_tb", "gauss", "gauss_tb"],
    },
}
for _name, _layer in network.items():
    if "attention" in _layer["class"]:
        _layer["is_output_layer"] = True
lens = {"data": [6, 3, 5], "query": [2, 4, 3]}
train = True
