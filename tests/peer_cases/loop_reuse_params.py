"""Shared parameters: between a layer in the loop and one moved out, with the outer network, with a mapping of names."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 3, "same_dim_tags_as": {"T": time}},
    "classes": {"dim": 4, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
}
network = {
    "outer": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "output": {
        "class": "rec",
        "from": "outer",
        "target": "classes",
        "unit": {
            "in": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 3,
                "from": "data:source",
                "reuse_params": "base:outer",
            },
            "loop": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "sum", "reuse_params": "base:outer"},
            "sum": {"class": "combine", "kind": "add", "from": ["in", "prev:loop"]},
            "loop2": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["loop", "prev:loop2"]},
            "moved": {
                "class": "linear",
                "activation": None,
                "n_out": 3,
                "from": ["loop", "loop2"],
                "reuse_params": "loop2",
            },
            "embed": {"class": "linear", "activation": None, "n_out": 3, "with_bias": False, "from": "data:classes"},
            "prob": {
                "class": "softmax",
                "from": "moved",
                "target": "classes",
                "loss": "ce",
                "use_transposed_weights": True,
                "reuse_params": {"map": {"W": {"reuse_layer": "embed"}, "b": None}},
            },
            "output": {"class": "copy", "from": ["prob", "embed"]},
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
train = True
param_scale = 0.7
