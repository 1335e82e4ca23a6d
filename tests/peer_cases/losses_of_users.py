"""Losses that a config defines, given to layers of its own: raw values of all frames, reduced by ``reduce_func``."""

import tensorflow as tf
from returnn.tf.layers.base import Loss
from returnn.tf.layers.basic import LinearLayer, register_layer_class


class PowerLoss(Loss):
    class_name = "power"

    def __init__(self, power=2.0, **kwargs):
        super().__init__(**kwargs)
        self.power = power

    def get_value(self):
        output, target = self.output_flat, self.target_flat
        if output is None:
            output = tf.nn.softmax(self.output_before_softmax_flat)
        if self.target.sparse:
            target = tf.one_hot(target, self.target.dim)
        return self.reduce_func(tf.reduce_mean(tf.abs(output - target) ** self.power, axis=-1))


class NoTargetLoss(PowerLoss):
    class_name = "no_target"
    need_target = False

    def get_value(self):
        return self.reduce_func(tf.reduce_sum(self.output_flat**2, axis=-1)) * self.loss_norm_factor

    def get_error(self):
        return None


class PerSeqLoss(PowerLoss):
    class_name = "per_seq"
    recurrent = True

    def get_value(self):
        return self.reduce_func(tf.cast(self.output_seq_lens * self.target_seq_lens, tf.float32))

    def get_error(self):
        return tf.reduce_sum(tf.cast(self.target_seq_lens, tf.float32))


class LinearWithLoss(LinearLayer):
    layer_class = "linear_with_loss"

    @classmethod
    def transform_config_dict(cls, d, network, get_layer):
        loss_class, opts = d.pop("my_loss"), d.pop("my_opts")
        super().transform_config_dict(d, network=network, get_layer=get_layer)
        d["loss"] = loss_class(base_network=network, **opts)


register_layer_class(LinearWithLoss)


def layer(loss, target, activation=None, source="h", **opts):
    return {
        "class": "linear_with_loss",
        "activation": activation,
        "n_out": 5,
        "from": source,
        "my_loss": loss,
        "my_opts": opts,
        "target": target,
        "is_output_layer": True,
    }


extern_data = {
    "data": {"dim": 4},
    "classes": {"dim": 5, "sparse": True, "available_for_inference": False},
    "clean": {"dim": 5, "available_for_inference": False},
    "vector": {"shape": (5,), "available_for_inference": False},
}
network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "seq": {"class": "reduce", "mode": "mean", "axis": "T", "from": "h"},
    "plain": layer(PowerLoss, "clean"),
    "power": layer(PowerLoss, "clean", power=3.0, scale=0.5),
    "softmax": layer(PowerLoss, "classes", "softmax"),
    "sigmoid": layer(PowerLoss, "classes", "sigmoid"),
    "on_time_major": layer(PowerLoss, "clean", source="time_major"),
    "not_flat": layer(PowerLoss, "clean", use_flatten_frames=False),
    "of_seq": layer(PowerLoss, "vector", source="seq"),
    "no_target": layer(NoTargetLoss, None),
    "per_seq": layer(PerSeqLoss, "clean"),
    "normalized": layer(PowerLoss, "clean", use_normalized_loss=True),
    "output": {"class": "copy", "from": "h"},
}
lens = {"data": [5, 3, 4], "classes": [5, 3, 4], "clean": [5, 3, 4]}
train = True
