"""Convolution and pooling as behaviour version 10 has them: with bias, spatial axes named."""

from returnn.util.basic import BehaviorVersion

BehaviorVersion.set(10)

extern_data = {"data": {"dim": 3}, "image": {"shape": (None, 4, 2), "available_for_inference": True}}
time = {"in_spatial_dims": ["T"], "is_output_layer": True}
both = {"in_spatial_dims": ["T", "dim:4"], "is_output_layer": True}
network = {
    "conv": {"class": "conv", "filter_size": (3,), "padding": "same", "n_out": 2, "from": "data", **time},
    "no_bias": {
        "class": "conv",
        "filter_size": (3,),
        "padding": "valid",
        "n_out": 2,
        "with_bias": False,
        "from": "data",
        **time,
    },
    "image": {
        "class": "conv",
        "filter_size": (3, 3),
        "padding": "same",
        "n_out": 3,
        "activation": "relu",
        "auto_use_channel_first": False,
        "from": "data:image",
        **both,
    },
    "pool": {"class": "pool", "mode": "max", "pool_size": (2, 2), "padding": "same", "from": "image", **both},
    "pool_time": {"class": "pool", "mode": "avg", "pool_size": (2,), "padding": "same", "from": "image", **time},
    "transposed": {
        "class": "transposed_conv",
        "filter_size": (2,),
        "n_out": 2,
        "from": "conv",
        **time,
    },
    "merged": {"class": "merge_dims", "axes": ["dim:2", "F"], "keep_order": True, "from": "pool"},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": ["conv"], "loss": "as_is"},
    "merged_loss": {"class": "linear", "activation": None, "n_out": 1, "from": "merged", "loss": "as_is"},
    "other": {"class": "linear", "activation": None, "n_out": 1, "from": "transposed", "loss": "as_is"},
}
lens = {"data": [5, 3], "image": [5, 3]}
batch = {"n_batch": 2}
train = True
