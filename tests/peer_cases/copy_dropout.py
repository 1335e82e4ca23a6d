"""Copies of several sources, broadcasting over missing axes; dropout, which does nothing in evaluation."""

extern_data = {"data": {"dim": 3}, "vector": {"shape": (4,), "available_for_inference": True}}
network = {
    "one": {"class": "copy", "from": "data", "is_output_layer": True},
    "twice": {"class": "copy", "from": ["data", "data"], "is_output_layer": True},
    "with_vector": {"class": "copy", "from": ["data", "data:vector"], "is_output_layer": True},
    "vector_first": {"class": "copy", "from": ["data:vector", "data"], "is_output_layer": True},
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "vectors": {"class": "copy", "from": ["mean", "data:vector"], "is_output_layer": True},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
    "tb_first": {"class": "copy", "from": ["time_major", "data", "mean"], "is_output_layer": True},
    "tb_last": {"class": "copy", "from": ["data", "time_major"], "is_output_layer": True},
    "drop": {"class": "dropout", "dropout": 0.5, "from": "data", "is_output_layer": True},
    "drop_noise": {
        "class": "dropout",
        "dropout": 0.5,
        "dropout_noise_shape": {"*": None},
        "from": "data",
        "is_output_layer": True,
    },
    "drop_linear": {
        "class": "linear",
        "activation": "tanh",
        "n_out": 4,
        "dropout": 0.3,
        "dropout_axis": "T",
        "from": ["data", "mean"],
        "is_output_layer": True,
    },
    "none": {"class": "copy", "from": ["none", "data"], "is_output_layer": True},
    "output": {"class": "copy", "from": ["drop", "drop_linear"], "n_out": 7},
}
lens = {"data": [4, 2, 3]}
