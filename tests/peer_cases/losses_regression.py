"""Losses of numbers: mse, mean_l1, l1, bin_ce with its other name, on outputs of several layouts."""

extern_data = {
    "data": {"dim": 4},
    "clean": {"dim": 5, "available_for_inference": False},
    "vector": {"shape": (5,), "available_for_inference": False},
}


def layer(loss, source="h", activation=None, target="clean", **opts):
    return {
        "class": "linear",
        "activation": activation,
        "n_out": 5,
        "from": source,
        "loss": loss,
        "target": target,
        "loss_opts": opts,
    }


network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "seq": {"class": "reduce", "mode": "mean", "axis": "T", "from": "h"},
    "bin_ce_pos_weight": layer("bin_ce", pos_weight=2.0),
    "sse_sigmoid": layer("sse_sigmoid"),
    "output": {"class": "copy", "from": "h"},
}
for name in ("mse", "mean_l1", "l1", "bin_ce"):
    network[name] = layer(name)
    network[name + "_activation"] = layer(name, activation="sigmoid")
    network[name + "_time_major"] = layer(name, "time_major")
    network[name + "_not_flat"] = layer(name, use_flatten_frames=False)
    network[name + "_seq"] = layer(name, "seq", target="vector")
lens = {"data": [5, 3, 4], "clean": [5, 3, 4]}
fetch = ["output"]
train = True
