"""One of two layers. Values and gradients: the cases ``cond_branches`` and ``cond_eval`` in tests/peer_cases."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.layers.base import LayerBase
from returnn.log import log
from returnn.network import Network
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.util.errors import ConfigError
from tests.network.net import X_LENS, Net, X

FEED = {"data": X, "data:size1": numpy.array(X_LENS, "int32")}
HELPERS = {
    "sum": {"class": "reduce", "mode": "sum", "axis": ["B", "T", "F"], "from": "data"},
    "positive": {"class": "compare", "kind": "greater", "value": 0.0, "from": "sum"},
}
SCALE = {"class": "eval", "eval": "source(0) * 10.0", "from": "data"}
COPY = {"class": "copy", "from": "data"}
POOL = {"class": "pool", "mode": "max", "pool_size": (2,), "padding": "same", "from": "data"}


def network(true: Any, false: Any, condition: Any = "positive", **opts: Any) -> dict[str, Any]:
    layer = {"class": "cond", "condition": condition, "true_layer": true, "false_layer": false, **opts}
    return {**HELPERS, "output": layer}


class Steps:
    """A network computed step by step on numpy."""

    def __init__(self, net_dict: dict[str, Any], **flags: Any):
        self.net = Network(config=Config({"extern_data": {"data": {"dim": 2}}}), backend=numpy_backend, **flags)
        self.net.construct_from_dict(net_dict)

    def out(self, sign: float, *, train: bool = False) -> tuple[Any, Any]:
        """
        :param sign: factor of the data
        :return: output and lengths
        """
        with self.net.step({**FEED, "data": X * numpy.float32(sign)}, train=train):
            output = self.net.layers["output"].output.copy_as_batch_major()
            return output.raw_tensor, [size.tolist() for size in output.size_placeholder.values()]


def outputs(net_dict: dict[str, Any], *, steps: bool) -> list[tuple[Any, Any]]:
    """
    :return: output and lengths where the condition is true, and where it is false
    """
    if steps:
        run = Steps(net_dict)
        return [run.out(sign) for sign in (1, -1)]
    with Net(net_dict) as net:
        res = []
        for sign in (1, -1):
            feed = net.feed(data=X * numpy.float32(sign), lens={"data": X_LENS})
            output = net.layers["output"].output.copy_as_batch_major()
            res.append((net.session.run(output.placeholder, feed), net.lens(feed=feed)))
        return res


BOTH = pytest.mark.parametrize("steps", [False, True], ids=["graph", "steps"])


@BOTH
def test_by_the_data(steps: bool) -> None:
    """The sum of X is positive: 10 X; that of -X is not: -X."""
    (true, lens), (false, _) = outputs(network(SCALE, COPY), steps=steps)
    assert (true == 10 * X).all() and (false == -X).all() and lens == [X_LENS]


@BOTH
def test_names_of_layers(steps: bool) -> None:
    """A name instead of a dict: that layer, which is outside."""
    net_dict = {**network("scaled", "data"), "scaled": SCALE}
    (true, _), (false, _) = outputs(net_dict, steps=steps)
    assert (true == 10 * X).all() and (false == -X).all()


@BOTH
def test_lengths_are_those_of_the_layer_that_is_computed(steps: bool) -> None:
    """Pooled by 2: lengths 1, 2; as it is: 2, 3."""
    (true, true_lens), (false, false_lens) = outputs(network(POOL, COPY), steps=steps)
    assert (true_lens, false_lens) == ([[1, 2]], [[2, 3]])
    assert true[1].tolist() == [[7, 8], [9, 10]] and (false[1] == -X[1]).all()


@BOTH
def test_lengths_that_come_from_inside(steps: bool) -> None:
    """Frames with a first feature above 3, of X, are 3, 5 7 9; of those of -X above -8 there are -1 -3, -5 -7."""
    mask = {"class": "compare", "kind": "greater", "from": "first"}
    helpers = {
        "first": {"class": "gather", "axis": "F", "position": 0, "from": "data"},
        "high": {**mask, "value": 2.5},
        "low": {**mask, "value": -8.0},
    }
    masked = {"class": "masked_computation", "from": "data", "unit": COPY}
    net_dict = network({**masked, "mask": "high"}, {**masked, "mask": "low"})
    (true, true_lens), (false, false_lens) = outputs({**net_dict, **helpers}, steps=steps)
    assert (true_lens, false_lens) == ([[1, 3]], [[2, 2]])
    assert true[0, :1].tolist() == [[3, 4]] and false[1].tolist() == [[-5, -6], [-7, -8]]


@BOTH
def test_other_order_of_axes(steps: bool) -> None:
    """The false one is time-major; the output is as the true one."""
    time_major = {"class": "reinterpret_data", "from": "data", "enforce_time_major": True}
    (true, _), (false, _) = outputs(network(SCALE, time_major), steps=steps)
    assert (true == 10 * X).all() and (false == -X).all()


@BOTH
def test_parts(steps: bool) -> None:
    """Both have parts 0 and 1: features, scaled or not."""
    split = {"class": "split", "axis": "F", "num_splits": 2}
    net_dict = network({**split, "from": "scaled"}, {**split, "from": "data"})
    layer = net_dict.pop("output")
    net_dict.update(c=layer, scaled=SCALE, output={"class": "copy", "from": "c/1"})
    (true, _), (false, _) = outputs(net_dict, steps=steps)
    assert (true[..., 0] == 10 * X[..., 1]).all() and (false[..., 0] == -X[..., 1]).all()


@BOTH
def test_only_one_is_computed(steps: bool) -> None:
    """What both print: each step one line."""
    calls: list[str] = []
    log_layer = {"class": "eval", "from": "data", "eval": lambda source, self, name: note(source(0), self, name)}

    def note(value: Any, layer: Any, name: str) -> Any:
        return layer.network.observe(lambda *_: calls.append(name), [value], value)

    net_dict = network({**log_layer, "eval_locals": {"name": "true"}}, {**log_layer, "eval_locals": {"name": "false"}})
    outputs(net_dict, steps=steps)
    assert calls == ["true", "false"]


def test_running_statistics_change_where_computed() -> None:
    """Momentum 1: the mean of the step, (5, 6); not if the other layer is computed."""
    norm = {"class": "batch_norm", "from": "data", "momentum": 1.0, "param_version": 2, "masked_time": True}
    net_dict = network(COPY, norm)
    with Net(net_dict, train=True) as net:
        output = net.layers["output"].output.placeholder
        net.session.run(output, net.feed())
        assert net.get("output/batch_norm/v2_mean").tolist() == [0, 0]
        net.session.run(output, net.feed(data=-X, lens={"data": X_LENS}))
        assert net.get("output/batch_norm/v2_mean").tolist() == [-5, -6]
    run = Steps(net_dict, train_flag=True)
    means = []
    for sign in (1, -1):
        run.out(sign, train=True)
        means.append(run.net.param_store.named()["output/batch_norm/v2_mean"].tolist())
    assert means == [[0, 0], [-5, -6]]


def test_condition_by_the_step() -> None:
    """Whether it trains."""
    run = Steps(network(SCALE, COPY, {"class": "train_flag"}), train_flag=True)
    assert (run.out(1, train=True)[0] == 10 * X).all()
    assert (run.out(1, train=False)[0] == X).all()


@pytest.mark.parametrize("value", [True, False])
def test_known_condition(value: bool) -> None:
    """Only one is built, and may have axes that the other has not."""
    net_dict = network(
        {"class": "linear", "n_out": 3, "from": "data"}, {"class": "linear", "n_out": 4, "from": "data"}, "known"
    )
    net_dict["known"] = {"class": "constant", "value": value}
    with Net(net_dict) as net:
        assert net.param_shapes()["output/W"] == [2, 3 if value else 4]


def test_parameters() -> None:
    """In the scope of the layer; of equal names and shapes they are the same."""
    linear = {"class": "linear", "n_out": 3, "from": "data", "activation": None}
    with Net(network(linear, {**linear, "with_bias": False}, name_scope="scope"), train=True) as net:
        assert net.param_shapes() == {"scope/W": [2, 3], "scope/b": [3]}
        assert set(net.layers["output"].params) == {"W", "b"}
    with Net(network(linear, linear, trainable=False), train=True) as net:
        assert not net.net.get_trainable_params()


def test_losses_inside_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a warning."""
    lines: list[str] = []
    monkeypatch.setattr(log, "print_warning", lines.append)
    linear = {"class": "linear", "n_out": 3, "from": "data", "loss": "as_is", "L2": 0.1}
    with Net(network(linear, COPY | {"from": ["data"]}, {"class": "train_flag"}), train=True) as net:
        assert net.net.get_objective() == 0
    assert lines == ["layer output: L2 and loss has no effect within true_layer of a layer of class cond"]


@pytest.mark.parametrize(
    ("net_dict", "message"),
    [
        (network(COPY, SCALE, "data"), "the condition must be a bool scalar, but is"),
        (network(COPY, SCALE, None), 'option "condition" must be a layer, or a layer dict, but is None'),
        (network(COPY, None), 'option "false_layer" must be a layer dict, but is None'),
        (network(COPY, "sum"), "false_layer and true_layer have different axes"),
        (network(COPY, {"class": "linear", "n_out": 3, "from": "data"}), "have different axes"),
        (network(COPY, {"class": "cast", "dtype": "float64", "from": "data"}), "false_layer and true_layer differ"),
    ],
)
def test_messages(net_dict: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=r'(?s)network\["output"\].*' + message):
        Net(net_dict)


def test_mistake_inside() -> None:
    """With its place."""
    linear = {"class": "linear", "n_uot": 3, "from": "data"}
    with pytest.raises(
        ConfigError, match=r'network\["output/output"\]: option "n_uot" is unknown to layer class "linear"'
    ):
        Net(network(linear, COPY))


def test_layer_of_a_user_that_computes_in_init() -> None:
    """It cannot be computed anew, in a branch."""

    class Old(LayerBase):
        layer_class = "old_style"

        def __init__(self, **kwargs: Any):
            super().__init__(**kwargs)
            self.output.placeholder = self.sources[0].output.placeholder

    message = "Old computes in __init__, which works outside of class cond only: inside a layer has compute()"
    with pytest.raises(ConfigError, match=message):
        Net(network({"class": Old, "from": "data"}, COPY))
