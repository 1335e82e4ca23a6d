"""Pooling with padding of the same amount whatever the length: "same_static", and by number."""

extern_data = {
    "data": {"dim": 3},
    "image": {"shape": (None, 6, 2), "available_for_inference": True},
    "vector": {"shape": (8, 3), "time_dim_axis": None, "available_for_inference": True},
}


def pool(source="data", mode="max", size=(3,), **opts):
    return {"class": "pool", "mode": mode, "pool_size": size, "from": source, "is_output_layer": True, **opts}


two = {"in_spatial_dims": ["T", "dim:6"]}
network = {}
for mode in ("max", "avg"):
    network.update(
        {
            mode + "_static": pool(mode=mode, padding="same_static"),
            mode + "_static2": pool(mode=mode, size=(2,), padding="same_static"),
            mode + "_static_stride1": pool(mode=mode, size=(4,), strides=1, padding="same_static"),
            mode + "_static_stride2": pool(mode=mode, size=(5,), strides=2, padding="same_static"),
            mode + "_static_2d": pool("data:image", mode, (3, 3), strides=(2, 2), padding="same_static", **two),
            mode + "_static_vector": pool("data:vector", mode, (3,), strides=(2,), padding="same_static"),
            mode + "_int": pool(mode=mode, padding=1),
            mode + "_int_stride2": pool(mode=mode, size=(4,), padding=2, strides=2),
            mode + "_tuple": pool("data:image", mode, (3, 2), strides=(1, 2), padding=(1, 0), **two),
            mode + "_int_vector": pool("data:vector", mode, (4,), padding=1, strides=2),
            mode + "_int_dilated": pool(mode=mode, size=(2,), padding=1, strides=1, dilation_rate=2),
            mode + "_first": pool(mode=mode, padding="same", use_channel_first=True),
            mode + "_not_first": pool("data:image", mode, (2, 2), padding="same", use_channel_first=False, **two),
        }
    )
network["max_static_masked"] = pool(padding="same_static", strides=1, use_time_mask=True)
network["max_int_masked"] = pool(padding=1, use_time_mask=True)
network["output"] = {
    "class": "linear",
    "activation": None,
    "n_out": 2,
    "from": ["max_static", "avg_static"],
    "loss": "as_is",
}
lens = {"data": [7, 4, 5], "image": [5, 2, 4]}
train = True
zero_padding = True
