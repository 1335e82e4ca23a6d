"""Shared parameters by functions of the user, of the own variable and of those of another layer."""

import tensorflow as tf


def linear(n_out, source="data", **more):
    """:return: layer that is built in any case"""
    opts = {"class": "linear", "activation": None, "n_out": n_out, "from": source, "is_output_layer": True}
    return {**opts, **more}


def doubled(getter, name, full_name, shape, dtype, **kwargs):
    """:return: a function of the own variable"""
    del name, kwargs
    return getter(name=full_name, shape=shape, dtype=dtype, initializer=tf.compat.v1.zeros_initializer()) * 2.0


def both(base_layer, reuse_layer, name, shape, **kwargs):
    """:return: a function of variables of another layer"""
    del base_layer, kwargs
    value = reuse_layer.params[name]
    assert list(shape) == [4, 4] if name == "W" else [4]
    return tf.sin(value) + value


extern_data = {"data": {"dim": 4}}
network = {
    "b_own": linear(4),
    "own_doubled": linear(4, reuse_params={"custom": doubled}),
    "of_other": linear(4, reuse_params={"reuse_layer": "b_own", "custom": both}),
    "mapped": linear(
        4, reuse_params={"map": {"W": {"reuse_layer": "b_own", "custom": both}, "b": {"custom": doubled}}}
    ),
    "output": {"class": "copy", "from": ["b_own", "own_doubled", "of_other", "mapped"], "loss": "as_is"},
}
lens = {"data": [5, 2, 4]}
train = True
