"""Option batch_norm of several classes in training, time first too; with other options beside it."""


def linear(n_out, source="data", **more):
    """:return: layer"""
    return {"class": "linear", "activation": "tanh", "n_out": n_out, "from": source, **more}


extern_data = {"data": {"dim": 4}, "more": {"shape": (None, 3, 4), "available_for_inference": True}}
network = {
    "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 4, "from": "data", "batch_norm": {"masked_time": True}},
    "masked": linear(4, "lstm", batch_norm={"masked_time": True, "momentum": 0.3, "epsilon": 0.01}, L2=0.01),
    "unmasked": linear(4, "lstm", batch_norm={"masked_time": False}),
    "fused": linear(4, batch_norm={"masked_time": False, "param_version": 2, "momentum": 0.1}),
    "running": linear(4, batch_norm={"masked_time": True, "use_sample": 0.3}),
    "forced": linear(4, batch_norm={"masked_time": True, "force_sample": True, "use_sample": 0.6}),
    "no_shift": linear(4, batch_norm={"masked_time": True, "use_shift": False, "param_version": 1}),
    "no_std": linear(4, batch_norm={"masked_time": True, "use_std": False, "delay_sample_update": True}),
    "inits": linear(4, batch_norm={"masked_time": True, "gamma_init": 2.0, "beta_init": 0.5}),
    "frozen": linear(4, trainable=False, batch_norm={"masked_time": True}),
    "more_axes": linear(4, "data:more", batch_norm={"masked_time": True}, is_output_layer=True),
    "copied": {
        "class": "copy",
        "from": "lstm",
        "batch_norm": {"masked_time": True, "param_version": 2},
        "is_output_layer": True,
    },
    "pooled": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data", "batch_norm": {"masked_time": False}},
    "pooled2": linear(3, "pooled", batch_norm={"masked_time": False}, is_output_layer=True),
    "in_sub": {
        "class": "subnetwork",
        "from": "lstm",
        "subnetwork": {"output": linear(4, batch_norm={"masked_time": True})},
    },
    "output": {
        "class": "copy",
        "from": ["masked", "unmasked", "fused", "running", "forced", "no_shift", "no_std", "inits", "in_sub"],
        "loss": "as_is",
        "loss_scale": 0.1,
    },
}
fetch = [*network]
fetch.remove("frozen")
lens = {"data": [5, 2, 4], "more": [3, 2, 1]}
train = True
