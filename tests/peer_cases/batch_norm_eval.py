"""Batch normalisation in evaluation: all options, all versions of parameters, on several inputs."""

extern_data = {
    "data": {"dim": 4},
    "image": {"shape": (None, 3, 2), "available_for_inference": True},
    "vector": {"shape": (4,), "available_for_inference": True},
}
opts = {
    "v0": {},
    "v1": {"param_version": 1},
    "v2": {"param_version": 2, "masked_time": True},
    "fused": {"param_version": 2, "masked_time": False},
    "not_masked": {"masked_time": False, "momentum": 0.1},
    "no_shift": {"use_shift": False},
    "no_std": {"use_std": False},
    "sample": {"use_sample": 0.3},
    "sample_delayed": {"use_sample": 0.3, "delay_sample_update": True},
    "all_sample": {"use_sample": 1.0, "momentum": 0.2},
    "delayed": {"delay_sample_update": True, "momentum": 0.1},
    "in_training": {"update_sample_only_in_training": True, "momentum": 0.5},
    "forced": {"force_sample": True},
    "eps": {"epsilon": 0.1},
}
network = {
    name: dict(o, **{"class": "batch_norm", "from": "data", "is_output_layer": True}) for name, o in opts.items()
}
network.update(
    {
        "image": {"class": "batch_norm", "from": "data:image", "is_output_layer": True},
        "image_v2": {"class": "batch_norm", "param_version": 2, "from": "data:image", "is_output_layer": True},
        "vector": {"class": "batch_norm", "masked_time": False, "from": "data:vector", "is_output_layer": True},
        "option": {
            "class": "linear",
            "activation": "relu",
            "n_out": 3,
            "batch_norm": {"momentum": 0.3, "param_version": 1},
            "from": "data",
            "is_output_layer": True,
        },
        "time_major": {
            "class": "rec",
            "unit": "standardlstm",
            "n_out": 3,
            "from": "data",
            "batch_norm": True,
            "is_output_layer": True,
        },
        "in_sub": {
            "class": "subnetwork",
            "from": "data",
            "is_output_layer": True,
            "subnetwork": {"output": {"class": "batch_norm", "from": "data"}},
        },
        "h": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
        "h_sample": {"class": "batch_norm", "use_sample": 0.3, "from": "h"},
        "h_delayed": {
            "class": "batch_norm",
            "use_sample": 0.3,
            "delay_sample_update": True,
            "momentum": 0.2,
            "from": "h",
        },
        "output": {
            "class": "linear",
            "activation": "tanh",
            "n_out": 2,
            "from": ["v0", "not_masked", "sample", "option", "fused", "h_sample", "h_delayed"],
            "loss": "as_is",
            "L2": 0.01,
        },
    }
)
lens = {"data": [5, 2, 4], "image": [3, 3, 1]}
train = False
