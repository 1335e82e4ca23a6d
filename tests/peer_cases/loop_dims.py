"""Explicit dims of layers in the loop: out_dim, in_dim, dims shared with the outer network, axes by dim."""

from returnn.tf.util.data import FeatureDim, SpatialDim

time, enc_time = SpatialDim("labels"), SpatialDim("enc time")
hidden, heads, per_head = FeatureDim("hidden", 6), SpatialDim("heads", 2), FeatureDim("per head", 3)
extern_data = {
    "data": {"dim": 4, "same_dim_tags_as": {"T": enc_time}},
    "classes": {"dim": 5, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": enc_time, "from": "encoder"},
    "encoder": {"class": "linear", "activation": "tanh", "out_dim": hidden, "from": "data"},
    "keys": {"class": "split_dims", "axis": hidden, "dims": (heads, per_head), "from": "encoder"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "axis": time,
        "unit": {
            "embed": {"class": "linear", "activation": None, "out_dim": hidden, "from": "prev:output"},
            "s": {"class": "linear", "activation": "tanh", "out_dim": hidden, "from": ["embed", "prev:att"]},
            "query": {"class": "split_dims", "axis": hidden, "dims": (heads, per_head), "from": "s"},
            "energy": {
                "class": "dot",
                "from": ["base:keys", "query"],
                "red1": per_head,
                "red2": per_head,
                "var1": enc_time,
                "var2": None,
            },
            "weights": {"class": "softmax_over_spatial", "axis": enc_time, "from": "energy", "is_output_layer": True},
            "att0": {"class": "generic_attention", "weights": "weights", "base": "base:keys"},
            "att": {
                "class": "merge_dims",
                "axes": [heads, per_head],
                "out_dim": hidden,
                "from": "att0",
                "initial_output": "base:mean",
            },
            "sum": {"class": "combine", "kind": "add", "from": ["att", "s"]},
            "prob": {"class": "softmax", "from": "sum", "in_dim": hidden, "target": "classes", "loss": "ce"},
            "output": {"class": "choice", "target": "classes", "beam_size": 2, "from": "prob", "initial_output": 0},
        },
    },
}
fetch = ["output", "output/weights"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
train = True
param_scale = 0.7
