"""Frames of other data by data:KEY in the unit: labels and dense values with the axis of the loop."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 3, "same_dim_tags_as": {"T": time}},
    "classes": {"dim": 4, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
    "extra": {"dim": 2, "same_dim_tags_as": {"T": time}},
}
network = {
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "x": {"class": "copy", "from": ["data:data", "data:extra"]},
            "label": {"class": "copy", "from": "data:classes", "initial_output": 2},
            "embed": {"class": "linear", "activation": None, "n_out": 2, "from": "prev:label"},
            "s": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["x", "embed", "prev:s"]},
            "output": {"class": "softmax", "from": ["s", "data:extra"], "target": "classes", "loss": "ce"},
        },
    },
}
fetch = ["output", "output/s", "output/embed"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4], "extra": [5, 2, 4]}
param_scale = 0.7
train = True
