"""Convolution over several axes, in other orders, of other kinds."""

extern_data = {
    "data": {"dim": 3},
    "image": {"shape": (None, 4, 2), "available_for_inference": True},
    "vector": {"shape": (5, 3), "time_dim_axis": None, "available_for_inference": True},
    "feature_first": {"shape": (3, None), "dim": 3, "feature_dim_axis": 1, "time_dim_axis": 2},
}


def conv(source="data", size=(3,), **opts):
    return {
        "class": "conv",
        "filter_size": size,
        "padding": "same",
        "n_out": 2,
        "from": source,
        "is_output_layer": True,
        **opts,
    }


two = {"in_spatial_dims": ["T", "dim:4"]}
network = {
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "on_time_major": conv("time_major"),
    "feature_first": conv("data:feature_first"),
    "static": conv("data:vector", strides=2),
    "static_valid": conv("data:vector", padding="valid", with_bias=True),
    "image": conv("data:image", (3, 2)),
    "image_stride": conv("data:image", (3, 3), strides=(1, 2), **two),
    "image_valid": conv("data:image", (2, 3), padding="valid", **two),
    "image_static": conv("data:image", (3, 3), padding="same_static", strides=(2, 2), **two),
    "image_numbers": conv("data:image", (3, 3), padding=(1, 0), **two),
    "image_swapped": conv("data:image", (3, 2), in_spatial_dims=["dim:4", "T"]),
    "image_time": conv("data:image", in_spatial_dims=["T"]),
    "image_other": conv("data:image", in_spatial_dims=["dim:4"], padding="valid"),
    "image_depthwise": conv("data:image", (3, 3), groups=2, n_out=4, strides=2, **two),
    "image_depthwise_time": conv("data:image", (3,), groups=2, in_spatial_dims=["T"]),
    "image_masked": conv("data:image", (3, 3), use_time_mask=True, **two),
    "add_feature": conv(size=(3, 2), input_add_feature_dim=True),
    "split_feature": conv(size=(3, 1), input_split_feature_dim=3),
    "split_features": conv("time_major", (3, 2), input_split_feature_dim=1, activation="tanh"),
    "expand": conv(size=(3, 1), input_expand_dims=1),
    "expand_add": conv(size=(3, 1, 2), input_expand_dims=1, input_add_feature_dim=True),
    "three": conv("data:image", (2, 1, 2), input_add_feature_dim=True, padding="valid"),
    "merged": {"class": "merge_dims", "axes": "static", "from": ["image_stride"]},
    "flat": {"class": "merge_dims", "axes": "static", "from": ["image_masked"]},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["on_time_major"],
        "loss": "as_is",
    },
    "image_loss": {"class": "linear", "activation": None, "n_out": 1, "from": ["merged", "flat"], "loss": "as_is"},
    "more_loss": {"class": "linear", "activation": None, "n_out": 1, "from": "image_depthwise", "loss": "as_is"},
    "split_loss": {"class": "linear", "activation": None, "n_out": 1, "from": "split_features", "loss": "as_is"},
    "three_loss": {"class": "linear", "activation": None, "n_out": 1, "from": "three", "loss": "as_is"},
}
lens = {"data": [5, 3], "image": [5, 3], "feature_first": [4, 5]}
batch = {"n_batch": 2}
train = True
