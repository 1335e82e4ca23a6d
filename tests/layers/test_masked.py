"""Frames by a mask, and back. More: the cases ``masked_units`` and ``masked_eval`` in tests/peer_cases."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.log import log
from returnn.network import Network
from returnn.tensor import Dim
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.util.errors import ConfigError
from tests.network.net import X_LENS, Net, X

FEED = {"data": X, "data:size1": numpy.array(X_LENS, "int32")}
HELPERS = {
    "sum": {"class": "reduce", "mode": "sum", "axis": "F", "from": "data"},
    "mask": {"class": "compare", "kind": "greater", "value": 5.0, "from": "sum"},
}
ONES = {"class": "linear", "activation": None, "n_out": 1, "forward_weights_init": 1.0, "from": "data"}
MASKED = {"class": "masked_computation", "mask": "mask", "from": "data", "unit": ONES}


def run(network: dict[str, Any], name: str, *, steps: bool) -> tuple[Any, list[list[int]]]:
    """
    :param network: layer dict, beside HELPERS
    :param name: of a layer
    :return: its output, axes as they are, and lengths
    """
    network = {**HELPERS, "output": {"class": "copy", "from": "data"}, **network}
    if not steps:
        with Net(network) as net:
            return net.out(name), net.lens(name)
    net = Network(config=Config({"extern_data": {"data": {"dim": 2}}}), backend=numpy_backend)
    net.construct_from_dict(network)
    with net.step(FEED, train=False):
        output = net.layers[name].output
        return output.raw_tensor, [size.tolist() for size in output.size_placeholder.values()]


BOTH = pytest.mark.parametrize("steps", [False, True], ids=["graph", "steps"])


@BOTH
def test_masked_computation(steps: bool) -> None:
    """Sums of features 3 7, 11 15 19; those above 5, time-major: 7, 11 15 19."""
    value, lens = run({"c": {**MASKED, "is_output_layer": True}}, "c", steps=steps)
    assert lens == [[1, 3]] and value.shape == (3, 2, 1)
    assert value[:1, 0, 0].tolist() == [7] and value[:, 1, 0].tolist() == [11, 15, 19]


@BOTH
@pytest.mark.parametrize("initial", [None, 0, 7, "ones", "start"])
def test_unmask(steps: bool, initial: Any) -> None:
    """In front of the first one the initial output: init 7, 11 15 19; all frames are there again."""
    network = {
        "c": {**MASKED, "unit": {**ONES, "initial_output": initial}},
        "start": {"class": "constant", "value": 5.0, "shape": [1]},
        "u": {"class": "unmask", "mask": "mask", "from": "c", "is_output_layer": True},
    }
    value, lens = run(network, "u", steps=steps)
    start = {None: 0, "ones": 1, "start": 5}.get(initial, initial)
    assert lens == [X_LENS] and value.shape == (3, 2, 1)
    assert value[:2, 0, 0].tolist() == [start, 7] and value[:, 1, 0].tolist() == [11, 15, 19]


@pytest.mark.parametrize("initial", [0, 7])
def test_between_masked_frames(initial: int) -> None:
    """Times 10 where the number is even, of 1 2 3 4: 20 40, unmasked 0 20 20 40, or 7 in front."""
    unit = {"class": "eval", "eval": "source(0) * 10.0", "from": "data", "initial_output": initial}
    network = {
        "rest": {"class": "eval", "eval": "source(0) % 2", "from": "data"},
        "mask": {"class": "compare", "kind": "equal", "value": 0, "from": "rest"},
        "c": {**MASKED, "unit": unit},
        "output": {"class": "unmask", "mask": "mask", "from": "c"},
    }
    with Net(network, {"data": {"shape": (None,), "dtype": "float32"}}) as net:
        feed = net.feed(data=[[1, 2, 3, 4]])
        assert net.out("c", feed)[:, 0].tolist() == [20, 40] and net.lens("c", feed) == [[2]]
        assert net.out(feed=feed)[:, 0].tolist() == [initial, 20, 20, 40]


@BOTH
def test_unmask_of_what_has_all_frames(steps: bool) -> None:
    """Nothing to do."""
    value, lens = run(
        {"u": {"class": "unmask", "mask": "mask", "from": "data", "is_output_layer": True}}, "u", steps=steps
    )
    assert (value == X).all() and lens == [X_LENS]


@BOTH
def test_several_sources(steps: bool) -> None:
    """Joined, then masked: 3 + 4 + 3 + 4."""
    value, _ = run({"c": {**MASKED, "from": ["data", "data"], "is_output_layer": True}}, "c", steps=steps)
    assert value[0].tolist() == [[14], [22]]


@BOTH
def test_sequence_without_any(steps: bool) -> None:
    """Mask: sum above 10. The first sequence has no such frame; unmasked it is the initial output throughout."""
    network = {
        "mask": {**HELPERS["mask"], "value": 10.0},
        "c": {**MASKED, "unit": {**ONES, "initial_output": 3}},
        "u": {"class": "unmask", "mask": "mask", "from": "c", "is_output_layer": True},
    }
    assert run({**network, "c": {**network["c"], "is_output_layer": True}}, "c", steps=steps)[1] == [[0, 3]]
    assert run(network, "u", steps=steps)[0][:2, 0, 0].tolist() == [3, 3]


def test_dims_of_the_user() -> None:
    """The axis that is masked, and what becomes of it."""
    shorter = Dim(None, name="shorter", kind=Dim.Types.Spatial)
    layer = {**MASKED, "in_spatial_dim": "T", "out_spatial_dim": shorter}
    with Net({**HELPERS, "output": layer}) as net:
        assert net.layers["output"].output.time_dim == shorter
        assert net.lens() == [[1, 3]]


def test_state_of_the_unit() -> None:
    """Behind the last frame where the mask is true: of [3 4] alone, and of all three."""
    network = {
        **HELPERS,
        "c": {**MASKED, "unit": {"class": "rec", "unit": "gru", "n_out": 2, "from": "data"}},
        "output": {"class": "get_last_hidden_state", "from": "c", "n_out": 2},
    }
    with Net(network) as net:
        state = net.out()
        frames = net.out("c")
    numpy.testing.assert_allclose(state, [frames[0, 0], frames[2, 1]], rtol=1e-6)


def test_parameters_and_losses_are_those_of_the_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Loss 7 + 11 + 15 + 19 = 52, L2 = 0.5 * (1 + 1); an L2 of the layer around has no effect, with a warning."""
    lines: list[str] = []
    monkeypatch.setattr(log, "print_warning", lines.append)
    unit = {**ONES, "loss": "as_is", "L2": 0.5, "with_bias": False}
    with Net({**HELPERS, "output": {**MASKED, "unit": unit, "L2": 100.0}}, train=True) as net:
        assert net.param_shapes() == {"output/W": [2, 1]}
        fetches = net.fetches()
    assert fetches["cost:output/output"] == 52 and fetches["loss"] == 53
    assert lines == ["layer output: L2 has no effect on a masked_computation, only on its unit"]


def test_reuse_params() -> None:
    """Of the layer means of its unit."""
    linear = {"class": "linear", "activation": None, "n_out": 1, "from": "data", "reuse_params": "c"}
    with Net({**HELPERS, "c": MASKED, "output": linear}) as net:
        assert set(net.param_shapes()) == {"c/W", "c/b"}


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({**MASKED, "mask": None}, 'option "mask" is missing'),
        ({**MASKED, "unit": None}, 'option "unit" must be a layer dict, but is None'),
        ({**MASKED, "mask": "sum"}, r"the mask must be bool \[batch, time\], but is"),
        ({**MASKED, "from": []}, '"data" is used in the unit, but "from" is empty'),
        ({**MASKED, "from": "mean"}, "has not the axis"),
        ({"class": "unmask", "from": "data"}, 'the layer needs one source, and the option "mask"'),
        ({"class": "unmask", "mask": "mask", "from": "mean"}, "has no time axis"),
        ({"class": "unmask", "mask": "mask", "from": "labels"}, "are labels: its unit needs an initial_output"),
        (
            {"class": "unmask", "mask": "mask", "from": "var"},
            'initial_output must be a number, "zeros", "ones" or a layer',
        ),
    ],
)
def test_messages(layer: dict[str, Any], message: str) -> None:
    network = {
        **HELPERS,
        "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
        "labels": {**MASKED, "unit": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "data"}},
        "var": {**MASKED, "unit": {**ONES, "initial_output": "var"}},
        "output": layer,
    }
    with pytest.raises(ConfigError, match=r'(?s)network\["output.*' + message):
        Net(network)
