"""Pooling over three axes, over axes in other orders, and over one of several."""

extern_data = {
    "data": {"dim": 2},
    "image": {"shape": (None, 4, 2), "available_for_inference": True},
    "volume": {"shape": (None, 3, 4, 2), "available_for_inference": True},
    "feature_first": {"shape": (2, None), "dim": 2, "feature_dim_axis": 1, "time_dim_axis": 2},
}


def pool(source, mode, size, **opts):
    return {
        "class": "pool",
        "mode": mode,
        "pool_size": size,
        "padding": "same",
        "from": source,
        "is_output_layer": True,
        **opts,
    }


network = {
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
    "numbers": pool("data", "avg", (2,), padding=(1,)),
    "masked": pool("data:image", "max", (2, 2), use_time_mask=True),
    "masked_static": pool("data", "max", (3,), use_time_mask=True, padding="same_static", strides=1),
}
for mode in ("max", "avg"):
    network.update(
        {
            mode + "_3d": pool("data:volume", mode, (2, 1, 2)),
            mode + "_3d_valid": pool("data:volume", mode, (2, 3, 2), strides=(1, 1, 2), padding="valid"),
            mode + "_swapped": pool("data:image", mode, (2, 3), in_spatial_dims=["dim:4", "T"]),
            mode + "_other": pool("data:image", mode, (2,), in_spatial_dims=["dim:4"]),
            mode + "_of_volume": pool("data:volume", mode, (2,), in_spatial_dims=["T"]),
            mode + "_feature_first": pool("data:feature_first", mode, (2,)),
            mode + "_time_major": pool("time_major", mode, (3,), strides=2, padding="valid"),
        }
    )
network["output"] = {
    "class": "linear",
    "activation": None,
    "n_out": 2,
    "from": ["max_time_major", "avg_time_major"],
    "loss": "as_is",
}
network["flat"] = {"class": "merge_dims", "axes": "static", "from": "avg_3d"}
network["flat_max"] = {"class": "merge_dims", "axes": "static", "from": "max_3d"}
network["other"] = {"class": "linear", "activation": None, "n_out": 1, "from": ["flat", "flat_max"], "loss": "as_is"}
lens = {"data": [6, 5], "image": [5, 3], "volume": [4, 3], "feature_first": [3, 4]}
batch = {"n_batch": 2}
train = True
