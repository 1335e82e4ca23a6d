"""The sampling loss with the full softmax, as for evaluation; W transposed; losses inside of subnetworks."""

extern_data = {
    "data": {"dim": 4},
    "classes": {"dim": 6, "sparse": True, "available_for_inference": False},
}


def layer(**opts):
    return {
        "class": "softmax",
        "use_transposed_weights": True,
        "from": "h",
        "loss": "sampling_loss",
        "target": "classes",
        "loss_opts": {"num_sampled": 3, "use_full_softmax": True, **opts},
    }


network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "plain": layer(),
    "nce": layer(nce_loss=True),
    "uniform": layer(sampler="uniform"),
    "sub": {
        "class": "subnetwork",
        "from": "h",
        "subnetwork": {
            "ce": {"class": "softmax", "from": "data", "loss": "ce", "target": "classes"},
            "loss": {"class": "loss", "from": "ce", "loss_": "ce", "target_": "classes", "loss": "as_is"},
            "output": {"class": "copy", "from": "ce"},
        },
    },
    "output": {"class": "copy", "from": "sub"},
}
lens = {"data": [5, 3, 4], "classes": [5, 3, 4]}
train = True
