"""Scales, norm factors and reports of losses, with a train flag that only the step knows."""

import tensorflow as tf


def number_of_seqs(self, output, layer, **kwargs):
    return 1.0 / tf.cast(output.get_batch_dim(), tf.float32)


extern_data = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True, "available_for_inference": False}}
network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data", "L2": 0.02},
    "frozen": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data", "trainable": False, "L2": 0.05},
    "half": {"class": "softmax", "from": "h", "loss": "ce", "loss_scale": 0.5, "target": "classes"},
    "half_opts": {"class": "softmax", "from": "h", "loss": "ce", "loss_opts": {"scale": 0.5}, "target": "classes"},
    "both": {
        "class": "softmax",
        "from": "h",
        "loss": "ce",
        "loss_scale": 0.5,
        "loss_opts": {"scale": 0.5},
        "target": "classes",
    },
    "none": {"class": "softmax", "from": "h", "loss": None, "target": "classes"},
    "zero": {"class": "softmax", "from": "h", "loss": "ce", "loss_scale": 0, "target": "classes"},
    "normalized": {
        "class": "softmax",
        "from": "frozen",
        "loss": "ce",
        "loss_scale": 2.0,
        "loss_opts": {"use_normalized_loss": True},
        "target": "classes",
    },
    "custom": {
        "class": "softmax",
        "from": "h",
        "loss": "ce",
        "loss_opts": {"custom_norm_factor": 0.25, "use_normalized_loss": True},
        "target": "classes",
    },
    "custom_fn": {
        "class": "softmax",
        "from": "h",
        "loss": "ce",
        "loss_opts": {"custom_norm_factor": number_of_seqs},
        "target": "classes",
    },
    "weights": {"class": "reduce", "mode": "sum", "axis": ["T", "F"], "from": "exp"},
    "exp": {"class": "activation", "activation": "exp", "from": "data"},
    "custom_inv": {
        "class": "softmax",
        "from": "h",
        "loss": "ce",
        "loss_opts": {"custom_inv_norm_factor": "weights", "use_normalized_loss": True},
        "target": "classes",
    },
    "in_eval": {"class": "softmax", "from": "h", "loss": "ce", "only_on_eval": True, "target": "classes"},
    "in_search": {"class": "softmax", "from": "h", "loss": "ce", "only_on_search": True, "target": "classes"},
    "not_in_search": {
        "class": "softmax",
        "from": "h",
        "loss": "ce",
        "loss_only_on_non_search": True,
        "loss_scale": 0.5,
        "target": "classes",
    },
    "output": {"class": "copy", "from": "half"},
}
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
