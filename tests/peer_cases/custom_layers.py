"""Layer classes as users write them, with TensorFlow code: parameters, templates, further layers, lengths, parts."""

import tensorflow as tf

from returnn.tf.layers.base import InternalLayer
from returnn.tf.layers.basic import (
    CombineLayer,
    LayerBase,
    LinearLayer,
    _ConcatInputLayer,
    concat_sources,
    get_concat_sources_data_template,
    get_layer_class_name_list,
    register_layer_class,
)
from returnn.tf.util.data import Data, Dim

v1 = tf.compat.v1


def register(cls):
    """:return: the same; nothing happens if this file is run a second time"""
    if cls.layer_class not in get_layer_class_name_list():
        register_layer_class(cls)
    return cls


@register
class GaussWeighting(_ConcatInputLayer):
    """Parameters of its own, a template of its own, the input joined and with dropout."""

    layer_class = "case_gauss_weighting"

    def __init__(self, n_out=None, init_scale=1.0, activation=None, **kwargs):
        super().__init__(**kwargs)
        x = self.input_data.copy_as_batch_major()
        with self.var_creation_scope():
            mean = self.add_param(v1.get_variable("mean", (x.dim, n_out), initializer=v1.zeros_initializer()))
            scale = v1.get_variable(
                "scale", shape=(n_out,), dtype=tf.float32, initializer=v1.constant_initializer(init_scale)
            )
            scale = self.add_param(scale, trainable=True, axes_split_info=[[n_out]])
        y = tf.tensordot(x.placeholder, mean, axes=[[2], [0]]) * tf.exp(-tf.square(scale))
        self.output.placeholder = tf.nn.relu(y) if activation == "relu" else y

    @classmethod
    def get_out_data_from_opts(cls, name, sources, n_out, **kwargs):
        """:return: template"""
        data = get_concat_sources_data_template(sources, name="%s_output" % name).copy_as_batch_major()
        feature = Dim(kind=Dim.Types.Feature, description="%s_out" % name, dimension=n_out)
        return data.copy_template_replace_dim_tag(axis=data.feature_dim_axis, new_dim_tag=feature)


@register
class Downsample(_ConcatInputLayer):
    """Another time dim: the lengths are set on it."""

    layer_class = "case_downsample"

    def __init__(self, factor=2, **kwargs):
        super().__init__(**kwargs)
        x = self.input_data.copy_as_batch_major()
        self.output.placeholder = x.placeholder[:, ::factor]
        self.output.size_placeholder[0] = -(-x.size_placeholder[0] // factor)

    @classmethod
    def get_out_data_from_opts(cls, name, sources, factor=2, **kwargs):
        """:return: template"""
        dim = get_concat_sources_data_template(sources).dim
        return Data(name="%s_output" % name, shape=(None, dim), dim=dim, batch_dim_axis=0, time_dim_axis=1)


@register
class WithOther(LayerBase):
    """An option that names layers."""

    layer_class = "case_with_other"

    def __init__(self, others, weight=0.5, **kwargs):
        super().__init__(**kwargs)
        self.others = others
        parts = [concat_sources(self.sources)] + [other.output for other in others]
        total = sum(part.copy_compatible_to(self.output).placeholder * weight**i for i, part in enumerate(parts))
        self.output.placeholder = total

    def get_dep_layers(self):
        """:return: layers"""
        return super().get_dep_layers() + self.others

    @classmethod
    def transform_config_dict(cls, d, network, get_layer):
        """Resolves the option."""
        d["others"] = [get_layer(name) for name in d["others"]]
        super().transform_config_dict(d, network=network, get_layer=get_layer)

    @classmethod
    def get_out_data_from_opts(cls, name, sources, others, **kwargs):
        """:return: template"""
        return get_concat_sources_data_template(sources).copy_template(name="%s_output" % name)


@register
class LinearPlusInput(LinearLayer):
    """A built-in class, its value changed behind it."""

    layer_class = "case_linear_plus"

    def __init__(self, amount=1.0, **kwargs):
        super().__init__(**kwargs)
        with self.var_creation_scope():
            extra = self.add_param(v1.get_variable("extra", (self.output.dim,), initializer=v1.ones_initializer()))
        self.output.placeholder = self.output.placeholder + amount * extra


@register
class PenalizedCombine(CombineLayer):
    """A built-in class with a constraint of its own."""

    layer_class = "case_penalized_combine"

    def __init__(self, penalty, **kwargs):
        super().__init__(**kwargs)
        self.penalty = penalty

    def get_constraints_value(self):
        """:return: scalar"""
        value = self.penalty * tf.reduce_sum(tf.square(self.output.get_placeholder_flattened(keepdims=True)))
        before = super().get_constraints_value()
        return value if before is None else before + value


@register
class DefaultTemplate(_ConcatInputLayer):
    """No template method: n_out and out_type say it. Not trainable parameters, in a custom layout."""

    layer_class = "case_default_template"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        with self.var_creation_scope():
            w = v1.get_variable("fixed/w", shape=[self.input_data.dim, self.output.dim], trainable=False)
            w = self.add_param(w, saveable=True)
        self.output.placeholder = tf.einsum("btf,fo->bto", self.input_data.get_placeholder_as_batch_major(), w)


@register
class Halves(_ConcatInputLayer):
    """Two parts, which are layers of their own."""

    layer_class = "case_halves"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.output.placeholder = self.input_data.copy_as_batch_major().placeholder

    def get_sub_layer(self, layer_name):
        """:return: layer or None"""
        if layer_name not in ("low", "high"):
            return None
        half = self.output.dim // 2
        start = 0 if layer_name == "low" else half
        data = self._part(self.output, "%s/%s" % (self.name, layer_name))
        data.placeholder = self.output.placeholder[:, :, start : start + half]
        return InternalLayer(name="%s/%s" % (self.name, layer_name), network=self.network, output=data, sources=[self])

    @staticmethod
    def _part(output, name):
        feature = Dim(kind=Dim.Types.Feature, description="%s_half" % name, dimension=output.dim // 2)
        data = output.copy_template(name=name)
        return data.copy_template_replace_dim_tag(axis=data.feature_dim_axis, new_dim_tag=feature)

    @classmethod
    def get_out_data_from_opts(cls, name, sources, **kwargs):
        """:return: template"""
        data = get_concat_sources_data_template(sources, name="%s_output" % name)
        assert isinstance(data, Data)
        return data.copy_as_batch_major()


extern_data = {"data": {"dim": 4}}
network = {
    "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "data"},
    "gauss": {
        "class": "case_gauss_weighting",
        "from": ["lstm", "data"],
        "n_out": 5,
        "init_scale": 2.0,
        "activation": "relu",
        "L2": 0.1,
    },
    "gauss2": {"class": "case_gauss_weighting", "from": ["lstm", "data"], "n_out": 5, "reuse_params": "gauss"},
    "down": {"class": "case_downsample", "from": "gauss"},
    "down2": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "down"},
    "other": {"class": "case_with_other", "from": ["gauss"], "others": ["gauss2", "pooled"], "weight": 0.25},
    "pooled": {"class": "reduce", "mode": "mean", "axis": "T", "from": "gauss"},
    "plus": {"class": "case_linear_plus", "activation": "tanh", "n_out": 4, "from": "other", "amount": 0.3},
    "combined": {"class": "case_penalized_combine", "kind": "mul", "from": ["plus", "data"], "penalty": 0.05},
    "default": {"class": "case_default_template", "n_out": 6, "from": ["plus", "data"]},
    "halves": {"class": "case_halves", "from": "default"},
    "low": {"class": "linear", "activation": None, "n_out": 2, "from": "halves/low"},
    "high": {"class": "copy", "from": ["halves/high", "halves"]},
    "sub": {
        "class": "subnetwork",
        "from": "halves/high",
        "subnetwork": {
            "plus": {"class": "case_linear_plus", "activation": None, "n_out": 4, "from": "data", "trainable": False},
            "output": {"class": "case_with_other", "from": "plus", "others": ["base:combined"]},
        },
    },
    "down_sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "down2", "loss": "as_is", "loss_scale": 0.1},
    "output": {"class": "copy", "from": ["combined", "low", "high", "sub"], "loss": "as_is"},
}
fetch = list(network) + ["sub/plus"]
lens = {"data": [5, 2, 4]}
train = True
