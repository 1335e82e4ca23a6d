"""Linear layers on labels, on inputs in any axis order, of any rank; transposed weights; no bias."""

extern_data = {
    "data": {"dim": 5},
    "labels": {"dim": 7, "sparse": True, "available_for_inference": True},
    "seq_label": {"dim": 3, "sparse": True, "shape": (), "available_for_inference": True},
    "feature_first": {"shape": (4, None), "feature_dim_axis": 1, "time_dim_axis": 2, "available_for_inference": True},
    "image": {"shape": (None, 3, 4), "available_for_inference": True},
    "vector": {"shape": (6,), "available_for_inference": True},
}
network = {
    "embed": {"class": "linear", "activation": None, "n_out": 4, "from": "data:labels", "is_output_layer": True},
    "embed_tr": {
        "class": "linear",
        "activation": "tanh",
        "n_out": 4,
        "use_transposed_weights": True,
        "from": "data:labels",
        "is_output_layer": True,
    },
    "embed_seq": {
        "class": "linear",
        "activation": None,
        "with_bias": False,
        "n_out": 4,
        "from": "data:seq_label",
        "is_output_layer": True,
    },
    "tr": {
        "class": "hidden",
        "activation": "sigmoid",
        "n_out": 4,
        "use_transposed_weights": True,
        "from": "data",
        "is_output_layer": True,
    },
    "ff": {"class": "forward", "activation": "relu", "n_out": 5, "from": "data", "is_output_layer": True},
    "feature_first_out": {
        "class": "linear",
        "activation": "tanh",
        "n_out": 3,
        "from": "data:feature_first",
        "is_output_layer": True,
    },
    "feature_first_softmax": {"class": "softmax", "n_out": 3, "from": "data:feature_first", "is_output_layer": True},
    "image_out": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data:image", "is_output_layer": True},
    "vector_out": {
        "class": "linear",
        "activation": "log_softmax",
        "n_out": 2,
        "from": "data:vector",
        "is_output_layer": True,
    },
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data", "is_output_layer": True},
    "on_time_major": {
        "class": "linear",
        "activation": "tanh",
        "n_out": 4,
        "from": "time_major",
        "is_output_layer": True,
    },
    "softmax_time_major": {"class": "softmax", "n_out": 4, "from": "time_major", "is_output_layer": True},
    "joined": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["data", "embed_seq"],
        "is_output_layer": True,
    },
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["on_time_major", "ff", "tr"],
        "loss": "as_is",
    },
}
lens = {"data": [6, 3, 4], "labels": [5, 5, 2], "feature_first": [3, 6, 1], "image": [4, 2, 3]}
train = True
