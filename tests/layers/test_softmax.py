"""softmax_over_spatial, batch_softmax: what takes part, layout, sequences without frames. More: tests/peer_cases."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.util.behavior_version import BehaviorVersion
from tests.network.net import Net, out

from .common import close, fill_data, message

SOFTMAX = {"class": "softmax_over_spatial", "from": "data"}


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BehaviorVersion, "_version", BehaviorVersion._latest_behavior_version)


def test_axis_moves_to_the_end() -> None:
    """Of (1 3) and (2 4): 1 / (1 + e^2) = .119203. Padding gets 0. With a factor of .5: 1 / (1 + e) = .268941."""
    with Net({"output": SOFTMAX}) as net:
        close(net.out()[0], [[0.119203, 0.880797, 0]] * 2)
        output = net.layers["output"].output
        assert (output.batch_dim_axis, output.feature_dim_axis, output.time_dim_axis) == (0, 1, 2)
    close(out({**SOFTMAX, "energy_factor": 0.5})[0], [[0.268941, 0.731059, 0]] * 2)


@pytest.mark.parametrize(
    ("options", "expected"),
    [({}, [0.56218, 0.43782, 0]), ({"energy_factor": 2.0}, [0.62246, 0.37754, 0])],
)
def test_values_of_the_second_sequence(options: dict[str, Any], expected: list[float]) -> None:
    """exp(x_t) / sum, for x = (1/4 0): 1 / (1 + e^-.25) = .56218; with factor 2 .62246."""
    with Net({"output": {**SOFTMAX, **options}}) as net:
        feed = net.feed({"data": [3, 2]}, data=fill_data(2, 3, 2))
        close(net.out(feed=feed)[1, 0], expected)


@pytest.mark.parametrize(
    ("options", "first", "second"),
    [
        ({"start": 1}, [0, 1, 0], [0, 1 / 3, 2 / 3]),
        ({"window_start": 1, "window_size": 1}, [0, 1, 0], [0, 1, 0]),
        ({"window_start": "one", "window_size": "one"}, [0, 1, 0], [0, 1, 0]),
        ({"start": "one", "window_start": 0, "window_size": 2}, [0, 1, 0], [0, 1, 0]),
        ({"window_size": 1}, [1 / 2, 1 / 2, 0], [1 / 4, 1 / 4, 1 / 2]),
    ],
)
def test_frames_that_take_part(options: dict[str, Any], first: list[float], second: list[float]) -> None:
    """Numbers are as good as layers. The logarithms of (1 1) and (1 1 2), two and three frames."""
    network = {
        "lens": {"class": "length", "from": "data"},
        "one": {"class": "eval", "eval": "source(0) * 0 + 1", "from": "lens"},
        "output": {**SOFTMAX, **options},
    }
    with Net(network, {"data": {"dim": 1}}) as net:
        data = numpy.log([[[1], [1], [9]], [[1], [1], [2]]])
        close(net.out(feed=net.feed({"data": [2, 3]}, data=data))[:, 0], [first, second])


def no_frames(layer: dict[str, Any], **more: Any) -> numpy.ndarray:
    """weights in a sequence without frames, beside one of two"""
    with Net({"output": layer}, {"data": {"dim": 1}}, **more) as net:
        return net.out(feed=net.feed({"data": [2, 0]}, data=[[[1], [1]], [[7], [8]]]))[1, 0]


def test_no_frames_at_version_0() -> None:
    """nan, as it always was; or equal weights, with a finite number in place of infinity"""
    assert numpy.isnan(no_frames(SOFTMAX)).all()
    close(no_frames(SOFTMAX, inf_value=1e30), [0.5, 0.5])


def test_no_frames_at_the_newest_version(newest: None) -> None:
    """zeros; logarithm: -inf"""
    assert no_frames(SOFTMAX).tolist() == [0, 0]
    assert no_frames({**SOFTMAX, "log_space": True}).tolist() == [-numpy.inf] * 2


def test_empty_window_at_the_newest_version(newest: None) -> None:
    """Frames 5 and 6 of two: nothing takes part."""
    close(out({**SOFTMAX, "window_start": 5, "window_size": 2})[0], numpy.zeros((2, 3)))


def test_log_space() -> None:
    """log of .119203 and .880797; -inf behind the end, or what the config has in its place"""
    value = out({**SOFTMAX, "log_space": True})[0, 0]
    close(value, [-2.126928, -0.126928, -numpy.inf])
    assert out({**SOFTMAX, "log_space": True}, inf_value=1e5)[0, 0, 2] < -9e4


def test_batch_softmax() -> None:
    """exp(1), exp(2), exp(3), exp(4) of one sequence, divided by their sum: .032059, .087144, .236883, .643914."""
    with Net({"output": {"class": "batch_softmax", "from": "data"}}) as net:
        value = net.out()
        close(value[0], [[0.032059, 0.087144], [0.236883, 0.643914], [0, 0]])
        close(value.sum(axis=(1, 2)), [1, 1])


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        (
            {**SOFTMAX, "from": "vector"},
            "the input has no time axis: [B,F|F'feature:data'(2)] float32",
        ),
        (
            {**SOFTMAX, "axis": "stag:foo"},
            "data_output: axis 'stag:foo': none matches. Its axes: [B, T|'time:var:extern_data:data'[B],"
            " F|F'feature:data'(2)]",
        ),
        (
            {**SOFTMAX, "axis": "except_batch"},
            "data_output: axis 'except_batch': 2 axes match, but exactly one is needed. Its axes: [B,"
            " T|'time:var:extern_data:data'[B], F|F'feature:data'(2)]",
        ),
        (
            {**SOFTMAX, "axis": "F", "use_time_mask": True},
            "use_time_mask: the axis Dim{F'feature:data'(2)} has no lengths:"
            " [B,T|'time:var:extern_data:data'[B],F|F'feature:data'(2)] float32",
        ),
        ({**SOFTMAX, "window_start": 1}, "window_start needs window_size"),
        ({**SOFTMAX, "start": 1.5}, "start must be an integer, but is 1.5"),
        (
            {**SOFTMAX, "start": "vector"},
            "the layer start must give integers, but is [B,F|F'feature:data'(2)] float32",
        ),
    ],
)
def test_mistakes(layer: dict[str, Any], expected: str) -> None:
    """The axes there are are listed."""
    assert message(layer, {"vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"}}) == expected
