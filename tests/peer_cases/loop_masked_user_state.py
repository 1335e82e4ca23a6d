"""A state of a user's layer in a masked unit, which says itself what becomes of it where the mask is false."""

import tensorflow as tf
from returnn.tf.layers.basic import _ConcatInputLayer, register_layer_class


class SumLayer(_ConcatInputLayer):
    """Sum of all frames so far; those left out halve it."""

    layer_class = "sum_of_user_halved"
    recurrent = True

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        new = self._rec_previous_layer.rec_vars_outputs["state"] + self.input_data.placeholder
        new.RETURNN_masked_comp_state_transform = self.halved
        self.rec_vars_outputs["state"] = new
        self.output.placeholder = new * 1.0

    @staticmethod
    def halved(value, prev_value, mask):
        assert mask.shape.ndims == 1 and value.shape.ndims == prev_value.shape.ndims == 2
        return tf.where(mask[:, None], value, prev_value * 0.5)

    @classmethod
    def get_out_data_from_opts(cls, name, sources, **kwargs):
        return sources[0].output.copy_template(name="%s_output" % name)

    @classmethod
    def get_rec_initial_extra_outputs(cls, batch_dim, rec_layer, n_out=None, sources=(), **kwargs):
        return {"state": tf.ones([batch_dim, sources[0].output.dim])}


register_layer_class(SumLayer)
extern_data = {"data": {"dim": 3}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "optimize_move_layers_out": False,
        "unit": {
            "x": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:sum"]},
            "sign": {"class": "reduce", "mode": "sum", "axis": "F", "from": "data:source"},
            "mask": {"class": "compare", "kind": "greater", "value": 0.0, "from": "sign"},
            "sum": {
                "class": "masked_computation",
                "mask": "mask",
                "from": "x",
                "unit": {"class": "sum_of_user_halved", "from": "data"},
            },
            "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "sum", "loss": "as_is"},
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4]}
train = True
