"""Transposed convolution: padding, strides, what is cut off, axes."""

extern_data = {
    "data": {"dim": 2},
    "image": {"shape": (None, 3, 2), "available_for_inference": True},
    "vector": {"shape": (4, 2), "time_dim_axis": None, "available_for_inference": True},
    "feature_first": {"shape": (2, None), "dim": 2, "feature_dim_axis": 1, "time_dim_axis": 2},
}


def conv(source="data", size=(3,), **opts):
    return {
        "class": "transposed_conv",
        "filter_size": size,
        "n_out": 2,
        "from": source,
        "is_output_layer": True,
        **opts,
    }


network = {
    "default": conv(),
    "stride1": conv(strides=(1,)),
    "stride2": conv(strides=(2,), activation="tanh"),
    "stride2_valid": conv(strides=(2,), padding="valid"),
    "even_filter": conv(size=(4,), strides=(2,), with_bias=False),
    "stride_larger": conv(strides=(4,)),
    "stride_larger_valid": conv(strides=(4,), padding="valid"),
    "cut": conv(remove_padding=1),
    "cut_valid": conv(strides=(2,), padding="valid", remove_padding=(1,)),
    "output_padding": conv(strides=(2,), output_padding=1),
    "output_padding0": conv(strides=(2,), output_padding=(0,)),
    "output_padding_valid": conv(strides=(2,), padding="valid", output_padding=1),
    "output_padding_cut": conv(strides=(2,), output_padding=1, remove_padding=1),
    "output_padding_none": conv(strides=(2,), output_padding=[None]),
    "masked": conv(strides=(2,), use_time_mask=True, bias_init=1.0),
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
    "on_time_major": conv("time_major", strides=(2,)),
    "feature_first": conv("data:feature_first", strides=(2,)),
    "static": conv("data:vector", strides=(2,)),
    "static_valid": conv("data:vector", strides=(2,), padding="valid"),
    "image": conv("data:image", (3, 2)),
    "image_valid": conv("data:image", (3, 3), strides=(2, 1), padding="valid", remove_padding=(1, 0)),
    "image_time": conv("data:image", strides=(2,), in_spatial_dims=["T"]),
    "image_other": conv("data:image", strides=(2,), in_spatial_dims=["dim:3"]),
    "up_and_down": {
        "class": "conv",
        "filter_size": (3,),
        "padding": "same",
        "strides": 2,
        "n_out": 2,
        "from": "stride2",
        "is_output_layer": True,
    },
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["stride2", "masked", "output_padding_none", "on_time_major"],
        "loss": "as_is",
    },
    "other": {"class": "linear", "activation": None, "n_out": 1, "from": "cut_valid", "loss": "as_is"},
    "other_image": {"class": "linear", "activation": None, "n_out": 1, "from": "image_valid", "loss": "as_is"},
}
lens = {"data": [5, 3], "image": [4, 2], "feature_first": [3, 4]}
batch = {"n_batch": 2}
train = True
