"""Units that are classes of the user."""

from collections import namedtuple

import tensorflow as tf

from returnn.tf.layers.rec import BaseRNNCell, RecLayer

State = namedtuple("State", ["c", "h"])


class Simple(BaseRNNCell):
    def __init__(self, num_units, factor=1.0):
        super().__init__()
        self.num_units, self.factor = num_units, factor

    @property
    def output_size(self):
        return self.num_units

    @property
    def state_size(self):
        return self.num_units

    def get_input_transformed(self, x, batch_dim=None):
        w = tf.compat.v1.get_variable("W", [x.shape[-1], self.num_units])
        return tf.tensordot(x, w, 1)

    def call(self, inputs, state):
        w = tf.compat.v1.get_variable("W_re", [self.num_units, self.num_units])
        h = tf.tanh(inputs + tf.matmul(state, w) * self.factor)
        return h, h


class TwoStates(BaseRNNCell):
    def __init__(self, num_units):
        super().__init__(name="two")
        self.num_units = num_units

    @property
    def output_size(self):
        return self.num_units

    @property
    def state_size(self):
        return State(self.num_units, self.num_units)

    def call(self, inputs, state):
        w = tf.compat.v1.get_variable("W", [inputs.shape[-1] + self.num_units, self.num_units])
        b = tf.compat.v1.get_variable("b", [self.num_units])
        h = tf.sigmoid(tf.matmul(tf.concat([inputs, state.h], axis=1), w) + b)
        return h * state.c, State(h + state.c, h)


RecLayer._create_rnn_cells_dict()
RecLayer._rnn_cells_dict["twostates"] = TwoStates
extern_data = {"data": {"dim": 4}}
R = {"class": "rec", "from": "data", "n_out": 3, "is_output_layer": True}
network = {
    "simple": {**R, "unit": Simple},
    "options": {**R, "unit": Simple, "unit_opts": {"factor": 0.1}, "direction": -1},
    "two": {**R, "unit": "TwoStates", "initial_state": {"c": 1, "h": 0}},
    "cell": {
        "class": "rnn_cell",
        "unit": Simple,
        "from": "data",
        "n_out": 3,
        "initial_state": "var",
        "is_output_layer": True,
    },
    "last": {"class": "get_last_hidden_state", "from": "two", "n_out": 6, "is_output_layer": True},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "loss": "as_is",
        "from": ["simple", "options", "two", "cell"],
    },
}
lens = {"data": [4, 2, 3]}
train = True
