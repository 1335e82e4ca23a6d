"""A function of a config that fails is shown as layer, exception and line: the report of a fault is for our faults."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from returnn.network.errors import NetworkLayerException
from returnn.tensor import Tensor
from returnn.tf.layers.basic import LayerBase
from returnn.util.errors import ConfigError

from .net import Net


def fails(*_: Any, **__: Any) -> Any:
    """Division by zero."""
    return 1 / 0


class FailsInInit(LayerBase):
    """A layer of a user."""

    layer_class = "fails_in_init"

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.output.placeholder = fails()

    @classmethod
    def get_out_data_from_opts(cls, sources: list[LayerBase], **kwargs: Any) -> Tensor:
        return sources[0].output.copy_template()


class FailsInTemplate(FailsInInit):
    layer_class = "fails_in_template"

    @classmethod
    def get_out_data_from_opts(cls, **kwargs: Any) -> Tensor:
        return fails()


def linear(**opts: Any) -> dict[str, Any]:
    return {"class": "linear", "n_out": 2, "activation": None, "from": "data", **opts}


def reused(custom: Callable[..., Any]) -> dict[str, Any]:
    return linear(reuse_params={"map": {"W": {"reuse_layer": "a", "custom": custom}, "b": None}})


NETWORKS: dict[str, dict[str, Any]] = {
    "function given as eval": {"class": "eval", "eval": fails, "from": "data"},
    "out_type": {"class": "eval", "eval": "source(0)", "out_type": fails, "from": "data"},
    "condition": {"class": "switch", "condition": fails, "true_from": "data", "false_from": 0},
    "control_dependencies_on_output": linear(control_dependencies_on_output=fails),
    "custom of reuse_params": reused(fails),
    "layer class": {"class": FailsInInit, "from": "data"},
    "template of a layer class": {"class": FailsInTemplate, "from": "data"},
}


@pytest.mark.parametrize("what", NETWORKS)
def test_place_of_the_failure(what: str) -> None:
    with pytest.raises(NetworkLayerException) as caught:
        Net({"a": linear(), "output": NETWORKS[what]})
    lines = str(caught.value).splitlines()
    assert lines[0].startswith('network["output"] (class ')
    assert lines[0].endswith("): ZeroDivisionError: division by zero")
    place = "  %s, line %i, in fails" % (fails.__code__.co_filename, fails.__code__.co_firstlineno + 2)
    assert lines[-2:] == [place, "    return 1 / 0"]


def test_custom_norm_factor() -> None:
    """It is called when the losses are fetched, not when the layer is built."""
    network = {"output": linear(loss="as_is", loss_opts={"custom_norm_factor": fails})}
    with Net(network, evaluation=True) as net:
        with pytest.raises(
            ConfigError, match="^layer 'output': custom_norm_factor: ZeroDivisionError: division by zero"
        ):
            net.net.get_fetches_dict(should_train=False, should_eval=True)


def test_function_with_other_arguments() -> None:
    """eval_locals are arguments of out_type, too. Python raises before the function starts, so there is no line."""

    def same(sources: list[LayerBase], scale: float, **_: Any) -> Tensor:
        return sources[0].output.copy_template()

    network = {"output": {"class": "eval", "eval": "source(0) * scael", "eval_locals": {"scael": 2}, "from": "data"}}
    network["output"]["out_type"] = same
    message = (
        r'^network\["output"\] \(class \'eval\'\): the function given as "out_type" does not accept the arguments that'
        r" it gets: .*same\(\) missing 1 required positional argument: 'scale'$"
    )
    with pytest.raises(NetworkLayerException, match=message):
        Net(network)


def test_faults_of_the_program_stay_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """They get the report with the variables of each frame."""
    monkeypatch.setattr("returnn.layers.linear.rf", None)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute"):
        Net({"output": linear()})


def test_a_value_of_unknown_rank() -> None:
    """Functions of Python within the graph give such."""
    text = "tf.numpy_function(abs, [source(0)], tf.float32)"
    message = (
        r'^network\["output"\] \(class \'eval\'\): the number of axes of Tensor\("output/.* is not known. Say the shape'
    )
    with pytest.raises(NetworkLayerException, match=message):
        Net({"output": {"class": "eval", "from": "data", "eval": text}})
    code = "(lambda x: (x.set_shape([None, None, 2]), x)[1])(%s)" % text
    with Net({"output": {"class": "eval", "from": "data", "eval": code}}) as net:
        assert net.out()[0, 0].tolist() == [1, 2]


def test_global_step_of_tensorflow() -> None:
    """The same variable as that of the network."""
    code = "source(0) + tf.cast(tf.compat.v1.train.get_global_step(), tf.float32)"
    with Net({"output": {"class": "eval", "from": "data", "eval": code}}) as net:
        net.net.global_train_step_var.load(3, net.session)
        assert net.out()[0, 0].tolist() == [4, 5]
