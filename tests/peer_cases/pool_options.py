"""Pooling in one and two dims: padding, strides, dilation, mask."""

extern_data = {
    "data": {"dim": 3},
    "image": {"shape": (None, 6, 2), "available_for_inference": True},
    "vector": {"shape": (8, 3), "time_dim_axis": None, "available_for_inference": True},
}
opts = {
    "max_same": {"mode": "max", "pool_size": (2,), "padding": "same"},
    "max_valid": {"mode": "max", "pool_size": (2,)},
    "max_same3": {"mode": "max", "pool_size": (3,), "padding": "same"},
    "max_upper": {"mode": "max", "pool_size": (3,), "padding": "SAME"},
    "avg_same": {"mode": "avg", "pool_size": (2,), "padding": "same"},
    "avg_valid": {"mode": "avg", "pool_size": (3,), "padding": "valid"},
    "stride1": {"mode": "max", "pool_size": (3,), "strides": (1,), "padding": "same"},
    "stride1_valid": {"mode": "avg", "pool_size": (3,), "strides": 1, "padding": "valid"},
    "stride2": {"mode": "max", "pool_size": (3,), "strides": 2, "padding": "same"},
    "dilated": {"mode": "max", "pool_size": (2,), "strides": 1, "dilation_rate": 2, "padding": "valid"},
    "nothing": {"mode": "max", "pool_size": (1,), "padding": "same"},
    "masked_max": {"mode": "max", "pool_size": (2,), "padding": "same", "use_time_mask": True},
}
network = {name: dict(o, **{"class": "pool", "from": "data", "is_output_layer": True}) for name, o in opts.items()}
network.update(
    {
        "time_2d": {
            "class": "pool",
            "mode": "max",
            "pool_size": (2, 1),
            "padding": "same",
            "from": "data:image",
            "is_output_layer": True,
        },
        "freq_2d": {
            "class": "pool",
            "mode": "max",
            "pool_size": (1, 2),
            "padding": "same",
            "from": "data:image",
            "is_output_layer": True,
        },
        "both_2d": {
            "class": "pool",
            "mode": "avg",
            "pool_size": (2, 3),
            "padding": "same",
            "strides": (1, 2),
            "from": "data:image",
            "is_output_layer": True,
        },
        "valid_2d": {
            "class": "pool",
            "mode": "max",
            "pool_size": (2, 2),
            "padding": "valid",
            "from": "data:image",
            "is_output_layer": True,
        },
        "static": {
            "class": "pool",
            "mode": "max",
            "pool_size": (3,),
            "padding": "same",
            "from": "data:vector",
            "is_output_layer": True,
        },
        "static_valid": {
            "class": "pool",
            "mode": "avg",
            "pool_size": (3,),
            "strides": (2,),
            "from": "data:vector",
            "is_output_layer": True,
        },
        "one_of_two": {
            "class": "pool",
            "mode": "max",
            "pool_size": (2,),
            "padding": "same",
            "in_spatial_dims": ["T"],
            "from": "data:image",
            "is_output_layer": True,
        },
        "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
        "on_time_major": {
            "class": "pool",
            "mode": "max",
            "pool_size": (2,),
            "padding": "same",
            "from": "time_major",
            "is_output_layer": True,
        },
        "again": {
            "class": "pool",
            "mode": "max",
            "pool_size": (2,),
            "padding": "same",
            "from": "max_same",
            "is_output_layer": True,
        },
        "joined": {"class": "copy", "from": ["max_same", "avg_same", "on_time_major"], "is_output_layer": True},
        "output": {
            "class": "linear",
            "activation": None,
            "n_out": 2,
            "from": ["max_same", "masked_max", "avg_same"],
            "loss": "as_is",
        },
    }
)
lens = {"data": [7, 4, 5], "image": [5, 2, 4]}
train = True
zero_padding = True
