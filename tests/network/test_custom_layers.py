"""Layers of users: classic ones that compute in __init__, subclasses of built-in ones, and new ones with compute."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

import returnn.frontend as rf
from returnn.layers import registry
from returnn.tensor import Tensor
from returnn.tf.compat import tf, v1
from returnn.tf.layers.basic import (
    LayerBase,
    LinearLayer,
    _ConcatInputLayer,
    auto_register_layer_classes,
    concat_sources,
    get_concat_sources_data_template,
    get_layer_class,
    get_layer_class_name_list,
    register_layer_class,
)

from .net import Net


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What a test registers is gone behind it."""
    get_layer_class_name_list()  # the built-in ones stay
    monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    yield


class Scale(_ConcatInputLayer):
    """Classic: variables and value in __init__, template in a method of its own."""

    layer_class = "my_scale"

    def __init__(self, factor: float = 2.0, **kwargs: Any):
        super().__init__(**kwargs)
        with self.var_creation_scope():
            w = v1.get_variable("w", (self.input_data.dim,), initializer=v1.ones_initializer())
            w = self.add_param(w)
        self.output.placeholder = self.input_data.placeholder * w * factor

    @classmethod
    def get_out_data_from_opts(cls, name: str, sources: list[LayerBase], **kwargs: Any) -> Tensor:
        return get_concat_sources_data_template(sources, name="%s_output" % name)


class Doubled(LinearLayer):
    """Extends a built-in layer: only the value changes."""

    layer_class = "doubled"

    def __init__(self, factor: float = 2.0, **kwargs: Any):
        super().__init__(**kwargs)
        self.output.placeholder = self.output.placeholder * factor


class TimeMajorLinear(LinearLayer):
    """Extends a built-in layer: other layout, so that the running sum is over axis 0."""

    layer_class = "tm_linear"

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        assert self.output.is_time_major
        self.output.placeholder = tf.cumsum(self.output.placeholder, axis=0)

    @classmethod
    def get_out_data_from_opts(cls, **kwargs: Any) -> Tensor:
        return super().get_out_data_from_opts(**kwargs).copy_as_time_major()


class Shifted(_ConcatInputLayer):
    """New: options are typed attributes, and one compute."""

    layer_class = "shifted"

    amount: float = 1.0
    """is added"""

    def compute(self, x: Tensor) -> Tensor:
        return x + self.amount + self.param("offset", [x.feature_dim], init=0.5)


class OwnDim(_ConcatInputLayer):
    """No template method: n_out is the feature dim."""

    layer_class = "own_dim"

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.output.placeholder = tf.tile(self.input_data.placeholder, [1, 1, self.output.dim // self.input_data.dim])


class Labels(LayerBase):
    """Asks for another layer with an option of its own."""

    layer_class = "by_other"

    def __init__(self, other: LayerBase, **kwargs: Any):
        super().__init__(**kwargs)
        self.output.placeholder = concat_sources([*self.sources, other]).placeholder

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Any, get_layer: Any) -> None:
        super().transform_config_dict(d, network, get_layer)
        d["other"] = get_layer(d["other"])

    @classmethod
    def get_out_data_from_opts(cls, name: str, sources: list[LayerBase], other: LayerBase, **kwargs: Any) -> Tensor:
        return get_concat_sources_data_template([*sources, other], name=name)


ALL = (Scale, Doubled, TimeMajorLinear, Shifted, OwnDim, Labels)


def test_each_kind_of_layer_in_one_network() -> None:
    """
    x = (1, 2), then (3, 4). scale: 3 x; doubled: 2 (3 x I) = 6 x; running sum over time of that: 6 (1, 2), 6 (4, 6);
    shifted: + 1 + 0.5; then joined with x.
    """
    for cls in ALL:
        register_layer_class(cls)
    network = {
        "a": {"class": "my_scale", "factor": 3.0, "from": "data"},
        "b": {"class": "doubled", "n_out": 2, "activation": None, "from": "a"},
        "c": {"class": "tm_linear", "n_out": 2, "activation": None, "from": "b", "L2": 0.1},
        "d": {"class": "shifted", "from": "c"},
        "output": {"class": "by_other", "from": "d", "other": "data"},
    }
    with Net(network) as net:
        names = ["a/w", "b/W", "b/b", "c/W", "c/b", "d/offset"]
        assert sorted(net.param_shapes()) == names
        assert [var.op.name for var in net.net.get_trainable_params()] == names
        assert sorted(net.layers["a"].params) == ["w"]
        net.set(b__W=numpy.eye(2), c__W=numpy.eye(2))
        assert net.layers["c"].output.is_time_major
        assert net.out()[:2, 0].tolist() == [[7.5, 13.5, 1, 2], [25.5, 37.5, 3, 4]]
        assert net.session.run(net.net.get_total_constraints()) == pytest.approx(0.2)


def test_reuse_params_holds_in_var_creation_scope() -> None:
    register_layer_class(Scale)
    network = {
        "a": {"class": "my_scale", "factor": 1.0, "from": "data"},
        "output": {"class": "my_scale", "factor": 1.0, "reuse_params": "a", "from": "a"},
    }
    with Net(network) as net:
        assert sorted(net.param_shapes()) == ["a/w"]
        net.set(a__w=3)
        assert net.out()[0, 0].tolist() == [9, 18]


def test_trainable_and_saveable_of_own_variables() -> None:
    class Counter(LayerBase):
        layer_class = "counter"

        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            with self.var_creation_scope():
                a = self.add_param(v1.get_variable("a", (), initializer=v1.zeros_initializer()), trainable=False)
                b = self.add_param(v1.get_variable("b", (), initializer=v1.zeros_initializer()), saveable=False)
            self.output.placeholder = self.sources[0].output.placeholder + a + b

    network = {"output": {"class": Counter, "from": "data"}}  # a class is fine in place of its name
    with Net(network) as net:
        assert [var.op.name for var in net.net.get_trainable_params()] == ["output/b"]
        assert [var.op.name for var in net.net.get_saveable_params_list()] == ["output/a", "global_step"]
        net.net.initialize_params(net.session)


def test_variables_of_a_layer_in_a_loop_are_made_outside() -> None:
    """Else no other loop, and no checkpoint, could read them."""
    with Net({"output": {"class": "copy", "from": "data"}}) as net:
        layer = net.layers["output"]

        def body(x: Any) -> Any:
            with layer.var_creation_scope():
                return x + layer.add_param(v1.get_variable("w", (), initializer=v1.ones_initializer()))

        y = v1.while_loop(lambda x: x < 3.0, body, [0.0])
        net.session.run(v1.global_variables_initializer())
        assert net.session.run(y) == 3
        assert [var.op.name for var in net.net.get_params_list()] == ["output/w"]


def test_default_template_has_n_out_features() -> None:
    register_layer_class(OwnDim)
    with Net({"output": {"class": "own_dim", "n_out": 4, "from": "data"}}) as net:
        assert net.out()[0, 0].tolist() == [1, 2, 1, 2]


def test_mistakes_in_a_layer_class_are_told() -> None:
    class NoValue(_ConcatInputLayer):
        layer_class = "no_value"

        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)

    class OutOfScope(NoValue):
        layer_class = "out_of_scope"

        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            self.add_param(v1.get_variable("w", ()))

    for cls, message in [
        (NoValue, r"\(class 'no_value'\): NoValue.__init__ must set self.output.placeholder$"),
        (
            OutOfScope,
            "the variable 'w' is not in the scope 'output' of the layer: make it within self.var_creation_scope",
        ),
    ]:
        with pytest.raises(Exception, match=message):
            Net({"output": {"class": cls, "from": "data"}})
    register_layer_class(Doubled)
    with pytest.raises(TypeError, match='option "facter" is unknown to layer class "doubled". Did you mean "factor"?'):
        Net({"output": {"class": "doubled", "n_out": 2, "activation": None, "facter": 1, "from": "data"}})


def test_a_name_belongs_to_one_class() -> None:
    class Other(_ConcatInputLayer):
        layer_class = "linear"

    with pytest.raises(AssertionError, match="layer class name 'linear' is taken"):
        register_layer_class(Other)
    register_layer_class(Doubled)
    register_layer_class(Doubled)
    assert get_layer_class("doubled") is Doubled


def test_auto_register(tmp_path: Path) -> None:
    """A list, a module-like dict, or a file; classes without a name of their own are left alone."""
    auto_register_layer_classes([Scale, rf, 3, _ConcatInputLayer])
    assert get_layer_class("my_scale") is Scale
    file = tmp_path / "layers.py"
    file.write_text(
        "from returnn.tf.layers.basic import _ConcatInputLayer\n"
        "class Mine(_ConcatInputLayer):\n    layer_class = 'mine'\n    def compute(self, x):\n        return x * 2\n"
    )
    auto_register_layer_classes(str(file))
    with Net({"output": {"class": "mine", "from": "data"}}) as net:
        assert net.out()[0, 0].tolist() == [2, 4]
    assert get_layer_class("no_such", raise_exception=False) is None


class Keyed(LayerBase):
    """Takes all that a class of the old style gets, and a state that a checkpoint may lack."""

    layer_class = "keyed"

    def __init__(self, name: str, network: Any, output: Tensor, sources: list[LayerBase], _name: str, **kwargs: Any):
        super().__init__(name=name, network=network, output=output, sources=sources, **kwargs)
        assert _name == name and kwargs["_network"] is network
        with self.var_creation_scope():
            counter = self.add_param(
                v1.get_variable("counter", (), initializer=v1.zeros_initializer(), trainable=False),
                non_critical_for_restore=True,
                axes_split_info=[],
            )
        self.output.placeholder = self.sources[0].output.placeholder + counter

    @classmethod
    def get_out_data_from_opts(cls, name: str, sources: list[LayerBase], **kwargs: Any) -> Tensor:
        return sources[0].output.copy_template("%s_output" % name)


def test_a_checkpoint_may_lack_a_parameter_that_is_not_critical(tmp_path: Path) -> None:
    """It keeps its initial value."""
    with Net({"output": {"class": "copy", "from": "data"}}) as net:
        net.net.save_params_to_file(str(tmp_path / "model"), net.session)
    with Net({"output": {"class": Keyed, "from": "data"}}) as net:
        net.net.load_params_from_file(str(tmp_path / "model"), net.session)
        layer = net.layers["output"]
        assert layer.param_axes_split_info == {"counter": []} and sorted(layer.params) == ["counter"]
        assert net.get("output/counter") == 0


def test_variables_of_users_share_and_have_noise() -> None:
    """reuse_params gives the variable of the other layer; it does not belong to the second one. Noise is on top."""
    register_layer_class(Scale)
    scale = {"class": "my_scale", "factor": 1.0, "from": "data"}
    network = {
        "output": {**scale, "is_output_layer": True},
        "same": {**scale, "reuse_params": "output", "is_output_layer": True},
        "noisy": {**scale, "reuse_params": "output", "param_variational_noise": 0.1, "is_output_layer": True},
        "given": {
            **scale,
            "reuse_params": {"map": {"w": {"custom": lambda shape, **_: tf.fill(shape, 5.0)}}},
            "is_output_layer": True,
        },
    }
    with Net(network, train=True) as net:
        assert net.param_shapes() == {"output/w": [2]}
        assert [sorted(net.layers[name].params) for name in network] == [["w"], [], [], []]
        net.set(output__w=[2, 3])
        assert net.out("same")[0, 0].tolist() == [2, 6] and net.out("given")[0, 0].tolist() == [5, 10]
        noisy = net.out("noisy")[0, 0]
        assert 0 < abs(noisy - [2, 6]).max() < 2
