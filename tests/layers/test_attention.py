"""Attention layers: values from their formulas, errors. More: tests/peer_cases."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from tests.network.net import Net

from .common import close, fill, fill_data, message

X = fill_data(2, 3, 2)
LENS = {"data": [3, 2]}
ATT = {"class": "self_attention", "num_heads": 2, "total_key_dim": 4, "n_out": 2, "from": "data"}
DATA = {
    "data": {"dim": 4},
    "query": {"dim": 6, "available_for_inference": True},
    "labels": {"dim": 5, "sparse": True, "available_for_inference": True},
}


def value(network: dict[str, Any], **params: Any) -> numpy.ndarray:
    """:return: output of "output" on X"""
    with Net(network) as net:
        net.set(**params)
        return net.out(feed=net.feed(LENS, data=X))


def test_self_attention() -> None:
    """QKV[i, j], two heads with q, k of size 2 and v of size 1 each; sequence 1, frame 0."""
    close(value({"output": ATT}, output__QKV=fill(2, 10))[0, 0], [-0.10654, 0.16128])
    left = value({"output": {**ATT, "attention_left_only": True}}, output__QKV=fill(2, 10))
    close(left[0, :2], [[-0.075, -0.225], [-0.06099, 0.03059]])


def test_self_attention_by_its_formula() -> None:
    """One sequence at a time; columns of QKV: head 0 q, k, v, then head 1."""
    qkv = X @ fill(2, 10)
    result = value({"output": ATT}, output__QKV=fill(2, 10))
    for seq, length in enumerate([3, 2]):
        parts = qkv[seq, :length].reshape(length, 2, 5)
        for head in range(2):
            q, k, v = parts[:, head, :2], parts[:, head, 2:4], parts[:, head, 4:]
            weights = numpy.exp(q @ k.T / numpy.sqrt(2))
            weights /= weights.sum(axis=1, keepdims=True)
            close(result[seq, :length, head : head + 1], weights @ v)


def test_self_attention_with_relative_positions() -> None:
    """Keys are shifted by M[cut(k - q) + 1]."""
    network = {
        "pos": {"class": "relative_positional_encoding", "clipping": 1, "n_out": 2, "from": "data"},
        "output": {**ATT, "key_shift": "pos"},
    }
    result = value(network, output__QKV=fill(2, 10), pos__encoding_matrix=fill(3, 2))
    close(result[0, 0], [-0.10843, 0.18644])


def test_attention_dropout_of_single_weights() -> None:
    """Equal weights 1/6 of six frames, values that tell them apart: each is 0 or 2/6, and not all alike."""
    layer = {**ATT, "total_key_dim": 2, "n_out": 12, "attention_dropout": 0.5}
    with Net({"output": layer}, {"data": {"dim": 6}}, train=True) as net:
        qkv = numpy.zeros((6, 16))
        qkv[:, 2:8] = qkv[:, 10:16] = numpy.eye(6)
        net.set(output__QKV=qkv)
        weights = net.out(feed=net.feed(data=[numpy.eye(6)] * 2)) * 6
    close(numpy.unique(weights.round(4)), [0, 2])
    weights = weights.reshape(2, 6, 2, 6)
    for axis in range(4):
        assert not (weights == weights.take([0], axis)).all()


def test_masks_of_several_layers_are_computed_once() -> None:
    """One comparison of lengths and frames, one array in the layout of the energies."""
    network: dict[str, Any] = {"att0": {**ATT}}
    for i in range(1, 4):
        network["att%i" % i] = {**ATT, "from": "att%i" % (i - 1)}
    network["output"] = {"class": "copy", "from": "att3"}
    with Net(network) as net:
        types = [op.type for op in net.graph.get_operations()]
        assert types.count("Less") == 1
        masks = {op.inputs[0].name for op in net.graph.get_operations() if op.type == "SelectV2"}
        assert len(masks) == 1


def test_dot_attention() -> None:
    """Source: the maxima over time."""
    network = {
        "query": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
        "output": {"class": "dot_attention", "from": "query", "base": "data", "base_ctx": "data", "energy_factor": 0.5},
    }
    close(value(network), [[0.31364, -0.28434], [0.09256, 0.19466]])


def test_concat_attention() -> None:
    """v . tanh(source + base_ctx)"""
    network = {
        "query": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
        "output": {"class": "concat_attention", "from": "query", "base": "data", "base_ctx": "data"},
    }
    close(value(network, output__v=fill(2)), [[0.00112, -0.2042], [0.10702, 0.10786]])


def test_gauss_window_attention() -> None:
    """t = .75: frames 0, 1, 2 around round(t) = 1. With inner_size 2: t - 1 and t - .5, one row each."""
    network = {
        "t": {"class": "constant", "value": 0.75, "with_batch_dim": True},
        "output": {"class": "gauss_window_attention", "from": "t", "base": "data", "window_size": 3},
    }
    close(value(network), [[0.15547, -0.18799], [0.07528, 0.20113]])
    network["output"]["inner_size"] = 2
    result = value(network)
    assert result.shape == (2, 2, 2)
    for row, t in enumerate((-0.25, 0.25)):
        weights = numpy.exp(-((t - numpy.arange(3)) ** 2) / 2) / numpy.sqrt(2 * numpy.pi)
        close(result[0, row], weights @ X[0])
        close(result[1, row], weights @ X[1, [0, 1, 1]])  # frame 2 is behind the end


def test_generic_attention() -> None:
    """[batch, heads, time] times [batch, time, heads, value], and a head of its own for each of two queries."""
    weights = fill_data(2, 3, 2)
    data = {"data": {"dim": 4}, "weights": {"dim": 2, "available_for_inference": True}}
    network = {
        "base": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "data"},
        "same_time": {"class": "reinterpret_data", "size_base": "data", "from": "data:weights"},
        "output": {"class": "generic_attention", "weights": "same_time", "base": "base"},
    }
    base = fill_data(2, 3, 4)
    with Net(network, data) as net:
        feed = net.feed({"data": [3, 3], "weights": [3, 3]}, data=base, weights=weights)
        close(net.out(feed=feed), numpy.einsum("bth,bthv->bhv", weights, base.reshape(2, 3, 2, 2)))


OTHERS = {
    "key": {"class": "linear", "activation": None, "n_out": 6, "from": "data"},
    "heads": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "key"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "weights": {"class": "softmax_over_spatial", "from": "data"},
}
B_T_F = "[B,T|'time:var:extern_data:data'[B],F|F'feature:data'(4)] float32"


@pytest.mark.parametrize(
    ("layer", "expected"),
    [
        ({**ATT, "num_heads": 3}, "num_heads 3 does not divide total_key_dim 4"),
        ({**ATT, "num_heads": 4}, "num_heads 4 does not divide n_out 2"),
        ({**ATT, "num_heads": None}, 'option "num_heads" is missing'),
        ({**ATT, "from": "vector"}, "the input has no time axis: [B,F|F'feature:data'(4)] float32"),
        (
            {**ATT, "from": "heads"},
            "the input must have batch, time and feature axis, but is [B,T|'time:var:extern_data:data'[B],"
            "'heads:split0'(2),F|F'heads:split1'(3)] float32",
        ),
        ({**ATT, "attention_dropout": 1.0}, "attention_dropout must be in [0, 1), but is 1.0"),
        (
            {**ATT, "key_shift": "vector"},
            "key_shift must be [time, time, 2], with the time axis 'time:var:extern_data:data'[B], but layer 'vector'"
            " is [B,F|F'feature:data'(4)] float32",
        ),
        (
            {"class": "generic_attention", "weights": "weights", "base": "data", "from": "data"},
            'the layer has no "from", but "weights" and "base"',
        ),
        ({"class": "generic_attention", "weights": "weights"}, 'option "base" is missing'),
        (
            {"class": "generic_attention", "weights": "weights", "base": "data:query"},
            "base [B,T|'time:var:extern_data:query'[B],F|F'feature:query'(6)] float32 and weights [B,F|F'feature:data'"
            "(4),T|'time:var:extern_data:data'[B]] float32 have different time axes:"
            " Dim{'time:var:extern_data:query'[B]} and Dim{'time:var:extern_data:data'[B]}",
        ),
        (
            {"class": "generic_attention", "weights": "weights", "base": "heads"},
            "axis 'heads:split0'(2) of base [B,T|'time:var:extern_data:data'[B],'heads:split0'(2),F|F'heads:split1'(3)]"
            " float32 has no partner of the same size in weights [B,F|F'feature:data'(4),"
            "T|'time:var:extern_data:data'[B]] float32",
        ),
        (
            {"class": "dot_attention", "from": "vector", "base": "data", "base_ctx": "key"},
            "the source has feature dim F'feature:data'(4), but base_ctx F'key:out'(6)",
        ),
        (
            {"class": "dot_attention", "from": "data", "base": "data", "base_ctx": "data"},
            "the source %s must not have the time axis of base" % B_T_F,
        ),
        (
            {"class": "gauss_window_attention", "from": "vector", "base": "data", "window_size": 3},
            "the source must be one float per sequence, but is [B,F|F'feature:data'(4)] float32",
        ),
    ],
)
def test_mistakes(layer: dict[str, Any], expected: str) -> None:
    """Sizes and axes that do not fit are named."""
    assert message(layer, OTHERS, DATA) == expected
