"""CTC and edit distance on PyTorch against TensorFlow, and by hand. Enumeration: tests/frontend/test_contract.py."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from returnn.tf.backend import ctc as tf_ctc
from returnn.tf.backend import ctc_alignment as tf_alignment
from returnn.tf.compat import tf, v1

torch = pytest.importorskip("torch", reason="the extra torch is not installed")
from returnn.torch.backend import alignment, decoding  # noqa: E402 - needs torch

TF: dict[str, Callable[..., Any]] = {
    "ctc_loss": tf_ctc.ctc_loss,
    "ctc_full_sum": tf_alignment.ctc_full_sum,
    "ctc_best_path": tf_alignment.ctc_best_path,
    "ctc_greedy_decode": tf_ctc.ctc_greedy_decode,
    "ctc_beam_decode": tf_ctc.ctc_beam_decode,
}


class TFGraph:
    """A function of logits, lengths, .. on TensorFlow."""

    def __init__(self, name: str, **options: Any):
        shapes = [[None, None, 4], [None], [None, None], [None]]
        self.graph = v1.Graph()
        with self.graph.as_default():
            self.inputs = [v1.placeholder(tf.int32 if i else tf.float32, shape) for i, shape in enumerate(shapes)]
            if "decode" in name:
                self.fetches = TF[name](*self.inputs[:2], **options)
            else:
                loss = TF[name](*self.inputs, **options)
                weights = tf.cast(tf.range(tf.shape(loss)[0]) + 1, tf.float32)
                self.fetches = loss, tf.gradients(tf.reduce_sum(loss * weights), self.inputs[0])[0]
        self.session = v1.Session(graph=self.graph)

    def __call__(self, *args: Any) -> Any:
        return self.session.run(self.fetches, dict(zip(self.inputs, args, strict=False)))


@functools.cache
def tf_graph(name: str, options: tuple[tuple[str, Any], ...] = ()) -> TFGraph:
    """Building one takes long. A loss [B] comes with the gradient of the sum of the b-th loss times b + 1."""
    return TFGraph(name, **dict(options))


def on_torch(function: Callable[..., Any], *args: Any) -> Any:
    """values"""
    res = function(*map(torch.tensor, args))
    return tuple(x.numpy() for x in res) if isinstance(res, tuple) else res.numpy()


def gradient_on_torch(name: str, logits: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """loss, and the same gradient"""
    x = torch.tensor(logits, requires_grad=True)
    loss = getattr(alignment, name)(x, *map(torch.tensor, args), **options)
    (grad,) = torch.autograd.grad((loss * torch.arange(1, len(loss) + 1)).sum(), x, materialize_grads=True)
    return loss.detach().numpy(), grad.numpy()


@st.composite
def batches(draw: st.DrawFn, *, min_frames: int = 0) -> tuple[Any, ...]:
    """logits [T, B, C], NaN behind the end, their lengths; labels [B, N] of C - 1 classes, their lengths"""
    logit_lens = draw(st.lists(st.integers(min_frames, 7), min_size=1, max_size=3))
    label_lens = [draw(st.integers(0, 4)) for _ in logit_lens]
    rng = numpy.random.RandomState(draw(st.integers(0, 99)))
    logits = rng.normal(size=(max(logit_lens), len(logit_lens), 4), scale=2).astype("float32")
    logits[numpy.arange(len(logits))[:, None] >= numpy.array(logit_lens)] = numpy.nan
    labels = rng.randint(0, 3, (len(logit_lens), max(label_lens))).astype("int32")
    return logits, numpy.array(logit_lens, "int32"), labels, numpy.array(label_lens, "int32")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("ctc_full_sum", {}),
        ("ctc_full_sum", {"zero_infinity": True, "blank_index": 3}),
        ("ctc_full_sum", {"label_loop": False}),
        ("ctc_full_sum", {"grad_wrt_softmax_in": False}),
        ("ctc_full_sum", {"logits_normalize": False}),
        ("ctc_best_path", {}),
        ("ctc_best_path", {"label_loop": False}),
        ("ctc_loss", {}),
        ("ctc_loss", {"ctc_merge_repeated": False}),
        ("ctc_loss", {"preprocess_collapse_repeated": True}),
        ("ctc_loss", {"ignore_longer_outputs_than_inputs": True}),
    ],
    ids=str,
)
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_value_and_gradient_are_those_of_tensorflow(name: str, options: dict[str, Any], data: st.DataObject) -> None:
    """Any lengths, also such that have no alignment. Gradients to 1e-4: both sum up rounding errors of all frames."""
    batch = data.draw(batches(min_frames=1 if name == "ctc_loss" else 0))
    if name == "ctc_best_path":  # on TensorFlow NaN behind the end comes back in the gradient
        batch = (numpy.nan_to_num(batch[0]), *batch[1:])
    loss, grad = gradient_on_torch(name, *batch, **options)
    expected_loss, expected_grad = tf_graph(name, tuple(options.items()))(*batch)
    numpy.testing.assert_allclose(loss, expected_loss, rtol=1e-5, atol=1e-5)
    numpy.testing.assert_allclose(grad, expected_grad, rtol=1e-4, atol=1e-4)


def test_a_label_that_cannot_be_is_no_alignment() -> None:
    """logit -inf for label 1: loss inf, or 0 of ctc_full_sum; the gradient is softmax, 1/3 of the other classes"""
    logits = numpy.array([[[0, -numpy.inf, 0, 0]]], "float32")
    lens, labels = numpy.array([1], "int32"), numpy.array([[1]], "int32")
    for name, value in [("ctc_loss", numpy.inf), ("ctc_full_sum", 0)]:
        loss, grad = gradient_on_torch(name, logits, lens, labels, lens)
        assert loss.tolist() == [value]
        numpy.testing.assert_allclose(grad[0, 0], [1 / 3, 0, 1 / 3, 1 / 3], rtol=1e-6)


@pytest.mark.parametrize("options", [{}, {"label_loop": False}], ids=str)
def test_nan_is_not_hidden(options: dict[str, Any]) -> None:
    """It is not the same as no alignment; and stays in its sequence."""
    logits = numpy.zeros((3, 2, 4), "float32")
    logits[1, 0] = numpy.nan
    lens = numpy.array([3, 3], "int32")
    labels = numpy.array([[1], [1]], "int32")
    loss, grad = gradient_on_torch("ctc_full_sum", logits, lens, labels, lens // 3, zero_infinity=True, **options)
    assert numpy.isnan(loss).tolist() == [True, False]
    assert not numpy.isnan(grad[:, 1]).any()


def test_long_sequences() -> None:
    """1000 frames, 100 labels, against float64. Scores reach 3000, so in float32 one rounding of them is 2e-4, which is
    the relative error of a posterior; our recursion normalises them, PyTorch's does not."""
    rng = numpy.random.RandomState(1)
    logits = rng.normal(size=(1000, 2, 30))
    args = numpy.array([1000, 700]), rng.randint(0, 3, (2, 100)), numpy.array([100, 60])
    loss, grad = gradient_on_torch("ctc_full_sum", logits, *args)
    for tolerance, options in [(4e-3, {}), (1e-3, {"grad_wrt_softmax_in": False})]:
        loss32, grad32 = gradient_on_torch("ctc_full_sum", logits.astype("float32"), *args, **options)
        if options:
            probs = numpy.exp(logits) / numpy.exp(logits).sum(-1, keepdims=True) * [[1], [2]]
            probs[700:, 1] = 0
            grad32 = grad32 + probs
        numpy.testing.assert_allclose(loss32, loss, rtol=1e-6)
        numpy.testing.assert_allclose(grad32, grad, atol=tolerance)


def prefix_beam_search(logits: numpy.ndarray, beam_width: int) -> list[int]:
    """as one writes it first, of one sequence [T, C]: prefix -> log p of alignments that end with a blank, or not"""
    beam = {(): (0.0, -numpy.inf)}
    for frame in logits - numpy.logaddexp.reduce(logits, axis=-1, keepdims=True):
        new: dict[tuple[int, ...], tuple[float, float]] = {}

        def add(prefix: tuple[int, ...], blank: float, label: float, new: dict[Any, Any] = new) -> None:
            new[prefix] = tuple(numpy.logaddexp(new.get(prefix, (-numpy.inf, -numpy.inf)), (blank, label)))

        for prefix, (blank, label) in beam.items():
            total = numpy.logaddexp(blank, label)
            add(prefix, total + frame[-1], label + frame[prefix[-1]] if prefix else -numpy.inf)
            for i, score in enumerate(frame[:-1]):
                before = blank if prefix[-1:] == (i,) else total
                add((*prefix, i), -numpy.inf, before + score)
        beam = dict(sorted(new.items(), key=lambda item: -numpy.logaddexp(*item[1]))[:beam_width])
    return list(next(iter(beam)))


@settings(max_examples=60, deadline=None)
@given(batch=batches(), beam_width=st.sampled_from([2, 3, 5, 10, 1000]))
def test_beam_search_is_that_of_single_sequences(batch: Any, beam_width: int) -> None:
    """With a narrow beam, and with one wider than there are label sequences."""
    logits, lens = batch[:2]
    labels, label_lens = on_torch(lambda *x: decoding.ctc_beam_decode(*x, beam_width=beam_width), logits, lens)
    assert labels.dtype == label_lens.dtype == numpy.int32
    for b, n in enumerate(lens):
        found = labels[b, : label_lens[b]].tolist()
        assert found == prefix_beam_search(logits[:n, b].astype("float64"), beam_width)
        assert not labels[b, label_lens[b] :].any()


@settings(max_examples=60, deadline=None)
@given(batch=batches(min_frames=1), beam_width=st.sampled_from([1, 1000]))
def test_decoding_is_that_of_tensorflow(batch: Any, beam_width: int) -> None:
    """Greedy, and with a beam that is wide enough. (In a narrow one, TensorFlow's op at times keeps another prefix.)"""
    logits, lens = numpy.nan_to_num(batch[0]), batch[1]
    if beam_width == 1:
        labels, label_lens = on_torch(decoding.ctc_greedy_decode, logits, lens)
        expected, expected_lens = tf_graph("ctc_greedy_decode")(logits, lens)
    else:
        labels, label_lens = on_torch(lambda *x: decoding.ctc_beam_decode(*x, beam_width=beam_width), logits, lens)
        expected, expected_lens = tf_graph("ctc_beam_decode", (("beam_width", beam_width),))(logits, lens)
    assert labels.dtype == label_lens.dtype == numpy.int32
    assert label_lens.tolist() == expected_lens.tolist()
    assert labels.tolist() == expected.tolist()


@settings(max_examples=60, deadline=None)
@given(lens=st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=0, max_size=4), seed=st.integers(0, 99))
def test_edit_distance_is_that_of_the_recursion(lens: list[tuple[int, int]], seed: int) -> None:
    """Labels of 3 kinds; no sequences at all, and empty ones, too."""
    rng = numpy.random.RandomState(seed)
    a_lens, b_lens = numpy.array(lens, "int32").reshape(-1, 2).T
    a, b = (rng.randint(0, 3, (len(lens), max(n, default=0))).astype("int32") for n in (a_lens, b_lens))

    def distance(x: list[int], y: list[int]) -> int:
        if not x or not y:
            return len(x) + len(y)
        return min(distance(x[1:], y) + 1, distance(x, y[1:]) + 1, distance(x[1:], y[1:]) + (x[0] != y[0]))

    result = on_torch(decoding.edit_distance, a, a_lens, b, b_lens)
    assert result.dtype == numpy.int32
    rows = zip(a.tolist(), a_lens, b.tolist(), b_lens, strict=True)
    assert result.tolist() == [distance(x[:n], y[:m]) for x, n, y, m in rows]


def test_collapse_repeated() -> None:
    """1 1 2 2 1 -> 1 2 1; 3 (3 behind the end); nothing; all different; 0 behind the end"""
    labels = [[1, 1, 2, 2, 1], [3, 3, 3, 0, 0], [5, 5, 5, 5, 5], [1, 2, 3, 4, 4]]
    collapsed, lens = on_torch(alignment.collapse_repeated, labels, [5, 1, 0, 4])
    assert lens.tolist() == [3, 1, 0, 4]
    assert collapsed.tolist() == [[1, 2, 1, 0], [3, 0, 0, 0], [0, 0, 0, 0], [1, 2, 3, 4]]
