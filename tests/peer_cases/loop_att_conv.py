"""Location-aware attention: a convolution over the previous attention weights along the encoder axis."""

extern_data = {"data": {"dim": 5}, "classes": {"dim": 6, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "enc_ctx": {"class": "linear", "activation": None, "n_out": 5, "from": "encoder"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "from": "prob",
                "initial_output": 0,
            },
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "output", "initial_output": 0},
            "location": {
                "class": "conv",
                "filter_size": (3,),
                "padding": "same",
                "n_out": 2,
                "with_bias": False,
                "activation": None,
                "from": "prev:weights",
                "in_spatial_dims": "T",
            },
            "feedback": {"class": "linear", "activation": None, "with_bias": False, "n_out": 5, "from": "location"},
            "s_ctx": {"class": "linear", "activation": None, "with_bias": False, "n_out": 5, "from": "s"},
            "energy_in": {"class": "combine", "kind": "add", "from": ["base:enc_ctx", "feedback", "s_ctx"]},
            "energy_tanh": {"class": "activation", "activation": "tanh", "from": "energy_in"},
            "energy": {"class": "linear", "activation": None, "with_bias": False, "n_out": 1, "from": "energy_tanh"},
            "weights0": {"class": "softmax_over_spatial", "from": "energy"},
            "weights": {
                "class": "swap_axes",
                "axis1": "F",
                "axis2": "T",
                "from": "weights0",
            },
            "att0": {"class": "generic_attention", "weights": "weights0", "base": "base:encoder"},
            "att": {"class": "merge_dims", "axes": "except_batch", "from": "att0"},
            "s": {"class": "rnn_cell", "unit": "standardlstm", "n_out": 5, "from": ["prev:embed", "prev:att"]},
            "prob": {"class": "softmax", "from": ["s", "att"], "target": "classes", "loss": "ce"},
        },
    },
}
fetch = ["output"]
lens = {"data": [7, 4, 5], "classes": [4, 2, 3]}
train = True
param_scale = 0.8
