"""Attention weights that exist outside of the loop for all of its frames."""

from returnn.tf.util.data import SpatialDim

time, labels = SpatialDim("time"), SpatialDim("labels")
extern_data = {
    "data": {"dim": 3, "same_dim_tags_as": {"T": time}},
    "classes": {"dim": 4, "sparse": True, "same_dim_tags_as": {"T": labels}, "available_for_inference": False},
}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "label_embed": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data:classes"},
    "energy": {
        "class": "dot",
        "red1": "F",
        "red2": "F",
        "var1": labels,
        "var2": time,
        "from": ["label_embed", "encoder"],
    },
    "weights": {"class": "softmax_over_spatial", "axis": time, "from": "energy"},
    "output": {
        "class": "rec",
        "from": "weights",
        "target": "classes",
        "axis": labels,
        "unit": {
            "att": {"class": "generic_attention", "weights": "data:source", "base": "base:encoder"},
            "prob": {"class": "softmax", "from": "att", "target": "classes", "loss": "ce"},
            "output": {"class": "copy", "from": "prob"},
        },
    },
    "outer": {"class": "generic_attention", "weights": "weights", "base": "encoder", "is_output_layer": True},
}
fetch = ["output", "weights", "outer"]
lens = {"data": [5, 2, 4], "classes": [3, 2, 1]}
train = True
