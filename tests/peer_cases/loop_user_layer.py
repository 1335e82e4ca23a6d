"""A layer class of a user with a state of its own in the loop: a decaying sum; also moved out of the loop."""

import tensorflow as tf
from returnn.tf.layers.basic import _ConcatInputLayer, register_layer_class


class DecayingSumLayer(_ConcatInputLayer):
    """Sum of all frames so far, each step halved."""

    layer_class = "decaying_sum_of_user"
    recurrent = True

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        assert self._rec_previous_layer
        old = self._rec_previous_layer.rec_vars_outputs["state"]
        new = old * 0.5 + self.input_data.placeholder
        self.rec_vars_outputs["state"] = new
        self.output.placeholder = new

    @classmethod
    def get_out_data_from_opts(cls, name, sources, **kwargs):
        return sources[0].output.copy_template(name="%s_output" % name)

    @classmethod
    def get_rec_initial_extra_outputs(cls, batch_dim, rec_layer, n_out=None, sources=(), **kwargs):
        return {"state": tf.zeros([batch_dim, sources[0].output.dim])}


register_layer_class(DecayingSumLayer)
extern_data = {"data": {"dim": 3}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "x": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:sum"]},
            "sum": {"class": "decaying_sum_of_user", "from": "x", "is_output_layer": True},
            "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "sum", "loss": "as_is"},
        },
    },
}
fetch = ["output", "output/sum"]
lens = {"data": [5, 2, 4]}
train = True
