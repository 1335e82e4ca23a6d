"""Mistakes in a layer dict: the whole message, which is all that a user sees."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.layers.loss import get_loss_class_name_list
from returnn.network.errors import LayerNotFound, NetworkConstructionDependencyLoopException, NetworkLayerException
from returnn.tf.compat import tf
from returnn.util.errors import UserError

from .net import Net

EXTERN_DATA = {
    "data": {"dim": 4},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": False},
    "long": {"shape": (None, 6)},
}
LINEAR = {"class": "linear", "n_out": 3, "activation": None, "from": "data"}
SOFTMAX = {"class": "softmax", "n_out": 3, "loss": "ce", "from": "data"}
MEAN = {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"}
DATA = "[B,T|'time:var:extern_data:data'[B],F|F'feature:data'(4)] float32"
CLASSES = "[B,T|'time:var:extern_data:classes'[B]] int32 sparse_dim=Dim{F'classes:sparse-dim'(3)}"
INITIALISERS = (
    "Names: constant, gammatone_filterbank, glorot_normal, glorot_uniform, he_normal, he_uniform, identity,"
    " lecun_normal, lecun_uniform, load_txt_file, ones, orthogonal, random_normal, random_uniform, random_uniform_abs,"
    " truncated_normal, uniform_unit_scaling, variance_scaling, variance_scaling_non_zero, xavier, zeros"
)
LOSS_OPTIONS = (
    "  Its options: custom_inv_norm_factor, custom_norm_factor, debug_dump, fake_upper_bound, focal_loss_factor,"
    " input_type, label_smoothing, label_smoothing_gaussian, safe_log_opts, scale, use_flatten_frames, use_fused,"
    " use_normalized_loss"
)


def message(network: dict[str, Any], extern_data: dict[str, Any] | None = None) -> str:
    """
    :param network: that cannot be built
    :param extern_data: EXTERN_DATA by default
    :return: what the user reads. Programs around configs catch it as an AssertionError
    """
    with pytest.raises(UserError) as info:
        Net(network, extern_data or EXTERN_DATA, train=True)
    assert isinstance(info.value, AssertionError)
    return str(info.value)


def one(**layer: Any) -> dict[str, Any]:
    return {"output": {**layer, "from": layer.get("from", "data")}}


TABLE = {
    "unknown classes, all at once": (
        {"output": {**LINEAR, "class": "linaer", "from": "b"}, "b": {"class": "sofmax"}},
        """network["b"]: unknown layer class 'sofmax'. Did you mean "softmax"?
network["output"]: unknown layer class 'linaer'. Did you mean "linear"?""",
    ),
    "no class": ({"output": {"from": "data"}}, 'network["output"]: option "class" is missing'),
    "class, misspelt": (
        {"output": {"clas": "copy", "from": "data"}},
        'network["output"]: option "class" is missing: is "clas" meant?',
    ),
    "not a dict": ({"output": 3}, 'network["output"]: the options must be a dict, but are 3'),
    "source that is not there": (
        {"output": {**LINEAR, "from": "encodr"}, "encoder": LINEAR},
        """network["output"]: layer 'encodr' not found in <TFNetwork 'root' train>. Did you mean "encoder"?""",
    ),
    "source that is not there, in a subnetwork": (
        one(**{"class": "subnetwork", "subnetwork": {"output": {**LINEAR, "from": "x"}, "y": LINEAR}}),
        """network["output/output"]: layer 'x' not found in <TFNetwork 'root/output' train>. Layers: output, y""",
    ),
    "source of a wrong type": (
        {"output": {**LINEAR, "from": 3}},
        """network["output"] (class 'linear'): option "from" must be a layer name or a list of layer names, but is 3""",
    ),
    "no source": (
        {"output": {**LINEAR, "from": []}},
        """network["output"] (class 'linear'): the layer needs a source: "from" is empty""",
    ),
    "base of the root": (
        {"output": {**LINEAR, "from": "base:x"}},
        """network["output"]: layer 'base:x' not found in <TFNetwork 'root' train>: there is no network around this\
 one. Layers: output""",
    ),
    "layer of another option": (
        one(**{"class": "copy", "extra_deps": "b"}),
        """layer 'b' not found in <TFNetwork 'root' train>. Layers: output
  It is needed by network["output"] (class 'copy').""",
    ),
    "data key": (
        one(**{"class": "copy", "from": "data:clases"}),
        """network["output"]: extern data 'clases' not found. Did you mean "classes"? Available:\
 classes, data, long""",
    ),
    "circle": (
        {"output": {**LINEAR, "from": "a"}, "a": {**LINEAR, "from": "b"}, "b": {**LINEAR, "from": ["data", "output"]}},
        """<TFNetwork 'root' train>: Error: There is a dependency loop on layer 'output'.
Construction stack (most recent first):
  b
  a
  output""",
    ),
    "n_out": (
        one(**{"class": "combine", "kind": "add", "n_out": 8, "from": ["data", "data"]}),
        f"""network["output"] (class 'combine'): n_out is 8, but the output has dim 4: {DATA}""",
    ),
    "no n_out": (
        one(**{"class": "linear", "activation": None}),
        """network["output"] (class 'linear'): n_out, out_dim or target is needed: nothing says how many outputs the\
 layer has""",
    ),
    "output dims of losses, all at once": (
        {"output": {**SOFTMAX, "n_out": 8}, "b": {**SOFTMAX, "loss": "ctc"}},
        """network["b"] (loss 'ctc'): Expected output dim is 4 (that of the target 'classes' and the blank), but the\
 output has\
 dim 3. Leave n_out away, or correct it.
network["output"] (loss 'ce'): Expected output dim is 3 (that of the target 'classes'), but the output has dim 8.\
 Leave n_out\
 away, or correct it.""",
    ),
    "target that is not there": (
        {"output": {**SOFTMAX, "target": "clases"}},
        """network["output"]: target 'clases' is neither a layer nor a data key. Did you mean "classes"?\
 Data keys:\
 classes, data, long""",
    ),
    "target of another rank": (
        {"output": {**SOFTMAX, "from": "m"}, "m": MEAN},
        f"""network["output"] (loss 'ce'): Number of dimensions mismatch. Target: {CLASSES},\
 output: [B,F|F'output:out'(3)] float32""",
    ),
    "unknown loss": (
        {"output": {**SOFTMAX, "loss": "cee"}},
        """network["output"]: unknown loss class 'cee'. Did you mean "ce"? Losses: %s"""
        % ", ".join(get_loss_class_name_list()),
    ),
    "unknown loss options": (
        {"output": {**SOFTMAX, "loss_opts": {"label_smothing": 0.1, "x": 1}}},
        """network["output"] (class 'softmax'): loss_opts: option "label_smothing" is unknown to loss "ce". Did you\
 mean\
 "label_smoothing" or "label_smoothing_gaussian"?
loss_opts: option "x" is unknown to loss "ce".
"""
        + LOSS_OPTIONS,
    ),
    "loss_scale without loss": (
        {"output": {**LINEAR, "loss_scale": 0.5}},
        """network["output"] (class 'linear'): loss not defined, do not set loss_scale""",
    ),
    "two scales": (
        {"output": {**SOFTMAX, "loss_scale": 0.5, "loss_opts": {"scale": 0.3}}},
        """network["output"] (class 'softmax'): loss_scale is 0.5, but loss_opts has scale 0.3""",
    ),
    "activation": (
        {"output": {**LINEAR, "activation": "tahn"}},
        """network["output"] (class 'linear'): invalid activation function: 'tahn'. Did you mean "tanh"?""",
    ),
    "activation with a bar": (
        {"output": {**LINEAR, "activation": "relu|tanh"}},
        """network["output"] (class 'linear'): invalid activation function: 'relu|tanh'. Did you mean "tanh" or\
 "relu"?""",
    ),
    "initialiser of another shape": (
        {"output": {**LINEAR, "forward_weights_init": numpy.zeros((2, 2))}},
        """network["output"] (class 'linear'): initial value has shape (2, 2), but the parameter (4, 3)""",
    ),
    "initialiser": (
        {"output": {**LINEAR, "forward_weights_init": "glorot_unifrom"}},
        """network["output"] (class 'linear'): unknown initialiser 'glorot_unifrom'. Did you mean "glorot_uniform" or\
 "glorot_normal"? """
        + INITIALISERS,
    ),
    "initialiser with options": (
        {"output": {**LINEAR, "forward_weights_init": "variance_scaling_initialiser(scale=0.78)"}},
        """network["output"] (class 'linear'): initialiser 'variance_scaling_initialiser(scale=0.78)': NameError: name\
 'variance_scaling_initialiser' is not defined. Did you mean "variance_scaling_initializer" or\
 "variance_scaling_non_zero_initializer" or "variance_scaling_non_zero"? """
        + INITIALISERS,
    ),
    "initialiser class": (
        {"output": {**LINEAR, "forward_weights_init": {"class": "VarianceScalin"}}},
        """network["output"] (class 'linear'): initialiser {'class': 'VarianceScalin'}: unknown class\
 'VarianceScalin'. Did you\
 mean "VarianceScaling" or "VarianceScalingNonZero"?""",
    ),
    "kind": (
        one(**{"class": "combine", "kind": "ad", "from": ["data", "data"]}),
        """network["output"] (class 'combine'): unknown kind 'ad'. Did you mean "add"? Kinds: add, average, eval,\
 floordiv,\
 logaddexp, logical_and, logical_or, maximum, minimum, mod, mul, pow, squared_difference, sub, truediv""",
    ),
    "eval that fails": (
        one(**{"class": "eval", "eval": "tf.foo(source(0))"}),
        """network["output"] (class 'eval'): eval failed: AttributeError: module 'tensorflow' has no attribute 'foo'
  tf.foo(source(0))
  ^^^^^^""",
    ),
    "eval that is no expression": (
        one(**{"class": "eval", "eval": "source(0) +* 2"}),
        """network["output"] (class 'eval'): eval is not a valid expression: invalid syntax
  source(0) +* 2
             ^""",
    ),
    "eval without one of its sources": (
        one(**{"class": "eval", "eval": "source(0)", "from": ["data", "data"]}),
        """network["output"] (class 'eval'): not used sources: {1}""",
    ),
    "eval of another dtype": (
        one(**{"class": "eval", "eval": "source(0) > 1"}),
        f"""network["output"] (class 'eval'): eval gave a value of shape [None, None, 4] and dtype bool, but the\
 layer's output\
 is {DATA}. Set out_type.""",
    ),
    "eval source": (
        one(**{"class": "eval", "eval": "source(1)"}),
        """network["output"] (class 'eval'): source(1): there is no such one, there are 1, counted from 0""",
    ),
    "split_dims": (
        one(**{"class": "split_dims", "axis": "F", "dims": (3, -1)}),
        """network["output"] (class 'split_dims'): axis Dim{F'feature:data'(4)} cannot be split into (3, -1): 4 is\
 not a multiple\
 of 3""",
    ),
    "axis": (
        one(**{**MEAN, "axis": "tiem"}),
        """network["output"] (class 'reduce'): data_output: invalid axis mode 'tiem'. Its axes: [B,\
 T|'time:var:extern_data:data'[B], F|F'feature:data'(4)]""",
    ),
    "ambiguous axis": (
        {
            "output": {**MEAN, "axis": "stag:split", "from": "s"},
            "s": {"class": "split_dims", "axis": "F", "dims": (2, 2, -1), "from": "data"},
        },
        """network["output"] (class 'reduce'): s_output: axis 'stag:split': 2 axes match. Its axes: [B,\
 T|'time:var:extern_data:data'[B], 's:split0'(2), 's:split1'(2), F|F's:split2'(1)]""",
    ),
    "no time axis": (
        {"output": {**MEAN, "from": "m"}, "m": MEAN},
        """network["output"] (class 'reduce'): m_output: there is no time axis. Its axes: [B, F|F'feature:data'(4)]""",
    ),
    "mode": (
        one(**{**MEAN, "mode": "men"}),
        """network["output"] (class 'reduce'): reduce: unknown mode 'men'. Did you mean "mean" or "min"? Modes: sum,\
 mean, max,\
 min, prod, any, all, logsumexp, argmax, argmin""",
    ),
    "labels cannot be reduced": (
        one(**{**MEAN, "from": "data:classes"}),
        f"""network["output"] (class 'reduce'): labels cannot be reduced: {CLASSES}""",
    ),
    "labels cannot be joined": (
        one(**{"class": "copy", "from": ["data", "data:classes"]}),
        f"""network["output"] (class 'copy'): sparse concat not supported: {DATA}, {CLASSES}""",
    ),
    "dropout": (
        one(**{"class": "copy", "dropout": 1.0}),
        """network["output"] (class 'copy'): dropout must be in [0, 1), but is 1.0""",
    ),
    "subnetwork without output": (
        one(**{"class": "subnetwork", "subnetwork": {"a": LINEAR}}),
        """network["output"] (class 'subnetwork'): the subnetwork has no layer "output\"""",
    ),
    "reuse_params": (
        {"output": {**LINEAR, "reuse_params": "b"}, "b": {**LINEAR, "with_bias": False}},
        """network["output"] (class 'linear'): reuse_params: layer 'b' has no parameter 'b', only: W. Set\
 auto_create_missing to\
 make new ones.""",
    ),
    "reuse_params map": (
        {"output": {**LINEAR, "reuse_params": {"map": {"W": "b"}}}, "b": LINEAR},
        """network["output"] (class 'linear'): reuse_params: parameter 'b' is not in map, which has: W. Set it to\
 None there, or\
 set auto_create_missing.""",
    ),
    "reuse_params shape": (
        {"output": {**LINEAR, "n_out": 4, "reuse_params": "b"}, "b": LINEAR},
        """network["output"] (class 'linear'): reuse_params: parameter 'W' of layer 'b' has the shape [4, 3], but [4,\
 4] is\
 needed""",
    ),
    "constant with source": (
        one(**{"class": "constant"}),
        """network["output"] (class 'constant'): a constant layer has no source: drop "from\"""",
    ),
    "pool": (
        one(**{"class": "pool", "mode": "max", "pool_size": (2, 2)}),
        """network["output"] (class 'pool'): pool_size must have one number per spatial axis (1), but is (2, 2)""",
    ),
    "pool strides": (
        one(**{"class": "pool", "mode": "max", "pool_size": (2,), "strides": 3}),
        """network["output"] (class 'pool'): strides 3 must not be larger than pool_size (2,)""",
    ),
    "batch_norm": (
        one(**LINEAR, batch_norm={"momentu": 0.1}),
        """network["output"] (class 'linear'): batch_norm: unknown option 'momentu'. Did you mean "momentum"?\
 Options: momentum,\
 update_sample_only_in_training, delay_sample_update, param_version, masked_time, epsilon, use_shift, use_std,\
 use_sample,\
 force_sample, gamma_init, beta_init""",
    ),
    "softmax with activation": (
        {"output": {**SOFTMAX, "activation": "tanh"}},
        """network["output"] (class 'softmax'): a softmax layer has no option "activation": use class "linear\"""",
    ),
}


@pytest.mark.parametrize("what", list(TABLE))
def test_message(what: str) -> None:
    """What is wrong, where, the nearest valid names, how to mend it."""
    network, expected = TABLE[what]
    assert message(network) == expected


def test_loss_without_a_target() -> None:
    """Neither the layer nor the data has one."""
    assert message({"output": SOFTMAX}, {"data": {"dim": 4}}) == (
        """network["output"]: target 'classes' (the default) is neither a layer nor a data key. Data keys: data"""
    )


def test_unknown_options_of_all_layers_at_once() -> None:
    """The options of a class are listed once."""
    text = message({"output": {**LINEAR, "with_baes": 1, "foo": 2, "from": "b"}, "b": {**LINEAR, "n_outt": 3}})
    lines = text.splitlines()
    assert lines[:-1] == [
        'network["b"]: option "n_outt" is unknown to layer class "linear". Did you mean "n_out"?',
        'network["output"]: option "foo" is unknown to layer class "linear".',
        'network["output"]: option "with_baes" is unknown to layer class "linear". Did you mean "with_bias"?',
    ]
    assert lines[-1].startswith("  Its options: class, from, L2, activation, ")


def test_a_layer_that_nothing_needs_may_be_of_an_unknown_class() -> None:
    """As in configs that were written for programs with more layers; it is not built."""
    with Net({"output": {"class": "copy", "from": "data"}, "unused": {"class": "no_such"}}) as net:
        assert sorted(net.layers) == ["data", "output"]


def test_errors_know_layer_and_network() -> None:
    """For programs that catch them."""
    network = {"output": {**LINEAR, "from": "x"}}
    with pytest.raises(LayerNotFound) as info:
        Net(network)
    assert (info.value.layer_name, info.value.net_dict) == ("output", network)
    assert info.value.network.name == "root"
    with pytest.raises(NetworkConstructionDependencyLoopException):
        Net({"output": {**LINEAR, "from": "output"}})
    for wrong in ({"output": {**LINEAR, "foo": 1}}, {"output": {**SOFTMAX, "loss_opts": {"foo": 1}}}):
        with pytest.raises(TypeError, match='option "foo" is unknown') as type_error:
            Net(wrong, EXTERN_DATA)
        assert isinstance(type_error.value, NetworkLayerException)


def test_function_of_a_user_that_fails_is_shown_with_its_place() -> None:
    def broken(x: Any) -> Any:
        raise RuntimeError("no idea what to do with %s" % x.name)

    text = message(one(**{"class": "eval", "eval": "f(source(0, as_data=True))", "eval_locals": {"f": broken}}))
    assert text.startswith(
        """network["output"] (class 'eval'): eval failed: RuntimeError: no idea what to do with data_output
  f(source(0, as_data=True))
  ^^^^^^^^^^^^^^^^^^^^^^^^^^
  File \""""
        + __file__
    )
    assert text.endswith(", in broken")


def test_lengths_of_output_and_target_that_differ() -> None:
    """Found in the step, before TensorFlow complains about shapes."""
    with Net({"output": SOFTMAX}, EXTERN_DATA, train=True) as net:
        feed = net.feed({"data": [3, 2], "classes": [3, 1]}, data=numpy.zeros((2, 3, 4)), classes=numpy.zeros((2, 3)))
        with pytest.raises(
            tf.errors.InvalidArgumentError,
            match="loss ce of layer output: the lengths of target classes are not those of the output",
        ):
            net.fetches(feed)
