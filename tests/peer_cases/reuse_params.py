"""Shared parameters: whole layers, maps, custom, missing ones."""

import tensorflow as tf


def transposed(reuse_layer, **kwargs):
    return tf.transpose(reuse_layer.params["W"])


extern_data = {"data": {"dim": 4}, "labels": {"dim": 4, "sparse": True, "available_for_inference": True}}
network = {
    "first": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "same": {
        "class": "linear",
        "activation": None,
        "n_out": 4,
        "reuse_params": "first",
        "from": "first",
        "is_output_layer": True,
    },
    "own_bias": {
        "class": "linear",
        "activation": None,
        "n_out": 4,
        "from": "data",
        "is_output_layer": True,
        "reuse_params": {"map": {"W": "first", "b": None}},
    },
    "auto": {
        "class": "linear",
        "activation": None,
        "n_out": 4,
        "from": "data",
        "is_output_layer": True,
        "reuse_params": {"auto_create_missing": True, "map": {"W": {"reuse_layer": "first"}}},
    },
    "no_bias": {
        "class": "linear",
        "activation": None,
        "n_out": 5,
        "with_bias": False,
        "from": "data",
        "is_output_layer": True,
    },
    "adds_bias": {
        "class": "linear",
        "activation": None,
        "n_out": 5,
        "from": "first",
        "is_output_layer": True,
        "reuse_params": {"reuse_layer": "no_bias", "auto_create_missing": True},
    },
    "back": {
        "class": "linear",
        "activation": None,
        "n_out": 4,
        "from": "no_bias",
        "is_output_layer": True,
        "reuse_params": {"map": {"W": {"reuse_layer": "no_bias", "custom": transposed}, "b": None}},
    },
    "embed": {
        "class": "linear",
        "activation": None,
        "with_bias": False,
        "n_out": 4,
        "from": "data:labels",
        "reuse_params": "first",
        "is_output_layer": True,
    },
    "sub": {
        "class": "subnetwork",
        "from": "data",
        "is_output_layer": True,
        "subnetwork": {
            "ff": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
            "output": {"class": "linear", "activation": None, "n_out": 4, "reuse_params": "base:first", "from": "data"},
        },
    },
    "from_sub": {
        "class": "linear",
        "activation": None,
        "n_out": 3,
        "reuse_params": "sub/ff",
        "from": "first",
        "is_output_layer": True,
    },
    "output": {
        "class": "copy",
        "from": ["same", "own_bias", "auto", "adds_bias", "back", "from_sub", "sub"],
        "loss": "as_is",
    },
}
lens = {"data": [5, 2, 4], "labels": [3, 2, 1]}
train = True
