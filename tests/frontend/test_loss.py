"""Losses over sequences: TensorFlow against numpy, and known values."""

from __future__ import annotations

import numpy
import pytest

import returnn.frontend as rf
from returnn.tensor import DimError, FeatureDim, SpatialDim, Tensor, batch_dim
from returnn.tensor.run_table import run_table_ctx
from tests.common import BACKENDS, run_rf, visible

T = SpatialDim("t", size_dims=(batch_dim,))
U = SpatialDim("u", size_dims=(batch_dim,))
CLASSES = FeatureDim("classes", 3)
WITH_BLANK = CLASSES + 1
LOGITS = Tensor("logits", [batch_dim, T, WITH_BLANK], "float32", feature_dim=WITH_BLANK, time_dim_axis=1)
LABELS = Tensor("labels", [batch_dim, U], "int32", sparse_dim=CLASSES, time_dim_axis=1)


def ctc(logits: Tensor, labels: Tensor, **options: bool) -> Tensor:
    """rf.ctc_loss_v1 of the tensors above"""
    return rf.ctc_loss_v1(logits, axis=WITH_BLANK, labels=labels, input_spatial_dim=T, target_spatial_dim=U, **options)


@pytest.mark.parametrize("backend", BACKENDS)
def test_ctc_loss_known_values(backend: str) -> None:
    """targets [1, 2] in 4 frames, [0] in 3; logits 0 but for label 1 at frame 0 (2) and label 0 at frame 1 (1)"""
    logits = numpy.zeros((2, 4, 4))
    logits[0, 0, 1], logits[1, 1, 0] = 2, 1
    logits[1, 3] = [9, -9, 1e5, 3]  # padding
    feed = {T: [4, 3], U: [2, 1], "logits": logits, "labels": [[1, 2], [0, 2]]}
    y = run_rf(backend, ctc, [LOGITS, LABELS], [feed])
    assert y.template.dims == (batch_dim,)
    numpy.testing.assert_allclose(y.values[0], [2.131574, 1.961115], rtol=1e-5)


@pytest.mark.parametrize(
    "options", [{}, {"ctc_merge_repeated": False}, {"preprocess_collapse_repeated": True}], ids=str
)
@pytest.mark.parametrize("backend", BACKENDS[1:])
def test_ctc_loss_is_that_of_numpy(options: dict[str, bool], backend: str) -> None:
    """random logits, labels with repetitions"""
    rnd = numpy.random.RandomState(3)
    feed = {
        T: [6, 5, 4],
        U: [3, 2, 1],
        "logits": rnd.normal(size=(3, 6, 4)),
        "labels": [[1, 1, 2], [0, 0, 0], [2, 2, 2]],
    }
    a, b = (run_rf(name, lambda x, y: ctc(x, y, **options), [LOGITS, LABELS], [feed]) for name in ("numpy", backend))
    numpy.testing.assert_allclose(a.values[0], b.values[0], rtol=1e-5)


@pytest.mark.parametrize("backend", BACKENDS)
def test_ctc_loss_without_alignment(backend: str) -> None:
    """[1, 1] in 2 frames: inf; 3 labels in 2 frames: 0 if these are to be ignored"""
    feed = {T: [2, 2], U: [2, 3], "logits": numpy.zeros((2, 2, 4)), "labels": [[1, 1, 0], [0, 1, 2]]}
    y = run_rf(backend, lambda x, y: ctc(x, y, ignore_longer_outputs_than_inputs=True), [LOGITS, LABELS], [feed])
    assert y.values[0].tolist() == [numpy.inf, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_greedy_decode(backend: str) -> None:
    """best path 0 0 blank 0 1 -> 0 0 1; the other sequence: blank -> nothing"""
    best = numpy.array([[0, 0, 3, 0, 1], [3, 1, 1, 1, 1]])
    feed = {T: [5, 1], "logits": numpy.eye(4)[best]}
    lens: list[object] = []

    def decode(logits: Tensor) -> Tensor:
        y, dim = rf.ctc_decode(logits, axis=WITH_BLANK, input_spatial_dim=T, target_dim=CLASSES, beam_width=1)
        lens.append(dim.dyn_size_ext)
        return y

    y = run_rf(backend, decode, [LOGITS], [feed])
    assert (y.template.dtype, y.template.sparse_dim) == ("int32", CLASSES)
    assert y.values[0][0].tolist() == [0, 0, 1]
    if backend == "numpy":
        assert lens[0].raw_tensor.tolist() == [3, 0]


@pytest.mark.parametrize("backend", BACKENDS)
def test_collapse_repeated(backend: str) -> None:
    """1 1 2 2 1 -> 1 2 1, which is 5 away from five zeros; 0 -> 0: what is behind the end does not count"""
    lens: list[object] = []

    def collapsed(labels: Tensor) -> Tensor:
        y, dim = rf.collapse_repeated(labels, axis=U)
        lens.append(dim.dyn_size_ext)
        zeros = labels * 0
        assert (y.dims, y.sparse_dim, y.time_dim) == ((batch_dim, dim), CLASSES, dim)
        return rf.edit_distance(y, dim, zeros, U)

    feed = {U: [5, 1], "labels": [[1, 1, 2, 2, 1], [0, 0, 0, 0, 0]]}
    y = run_rf(backend, collapsed, [LABELS], [feed])
    assert y.values[0].tolist() == [5, 0]
    if backend == "numpy":
        assert lens[0].raw_tensor.tolist() == [3, 1]


@pytest.mark.parametrize("backend", BACKENDS)
def test_edit_distance_of_unequal_lengths(backend: str) -> None:
    """kitten - sitting as numbers: 3; empty - 2 labels: 2; equal: 0"""
    kitten, sitting = [0, 1, 2, 2, 3, 4], [5, 1, 2, 2, 1, 4, 6]
    letters = FeatureDim("letters", 7)
    a = Tensor("a", [batch_dim, T], "int32", sparse_dim=letters)
    b = Tensor("b", [batch_dim, U], "int32", sparse_dim=letters)
    feed = {
        T: [6, 0, 3],
        U: [7, 2, 3],
        "a": [kitten, [1] * 6, kitten],
        "b": [sitting, sitting, kitten + [0]],
    }
    y = run_rf(backend, lambda a, b: rf.edit_distance(a, T, b, U), [a, b], [feed])
    assert (y.template.dtype, y.values[0].tolist()) == ("int32", [3, 2, 0])


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "int64"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_cross_entropy_of_one_frame_and_of_more_dims(backend: str, dtype: str) -> None:
    """-log softmax([0, 0, 0, 0])[label] = log 4, and -log(e / (e + 3)) with a 1 for the label"""
    logits = numpy.zeros((2, 2, 4))
    logits[1, :, 2] = 1
    labels = Tensor("l", [T, batch_dim], dtype, sparse_dim=WITH_BLANK)
    feed = {T: [2, 2], "logits": logits, "l": [[1, 2], [1, 2]]}
    y = run_rf(
        backend, lambda x, y: rf.sparse_softmax_cross_entropy(x, labels=y, axis=WITH_BLANK), [LOGITS, labels], [feed]
    )
    expected = [[numpy.log(4)] * 2, [numpy.log(numpy.e + 3) - 1] * 2]
    numpy.testing.assert_allclose(visible(y.template, y.values[0], feed), expected, rtol=1e-6)


def test_logits_must_be_float32() -> None:
    """TensorFlow's op knows no other"""
    with run_table_ctx(), pytest.raises(DimError, match="logits must be float32, but are float16"):
        ctc(LOGITS.copy_template(dtype="float16"), LABELS)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("max_approx", [False, True])
def test_ctc_loss_with_the_names_of_the_frontend(backend: str, max_approx: bool) -> None:
    """
    p = softmax(0 1 2 3 4), the blank is the last class. Label 0 in one frame: -log p(0). In two: 0 0, 0 blank, or
    blank 0. Labels 1 1 in two frames: no alignment, 0.
    """
    classes = FeatureDim("five", 5)
    logits = Tensor("logits", [batch_dim, T, classes], "float32", feature_dim=classes, time_dim_axis=1)
    frame = [0, 1, 2, 3, 4]
    feed = {T: [1, 2, 2], U: [1, 1, 2], "logits": [[frame] * 2] * 3, "labels": [[0, 0], [0, 0], [1, 1]]}

    def loss(x: Tensor, y: Tensor) -> Tensor:
        return rf.ctc_loss(
            logits=x, targets=y, input_spatial_dim=T, targets_spatial_dim=U, blank_index=4, max_approx=max_approx
        )

    p = numpy.exp(frame) / numpy.sum(numpy.exp(frame))
    of_two = p[0] * p[4] if max_approx else p[0] ** 2 + 2 * p[0] * p[4]
    y = run_rf(backend, loss, [logits, LABELS], [feed])
    numpy.testing.assert_allclose(y.values[0], [-numpy.log(p[0]), -numpy.log(of_two), 0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_sentence_bleu_of_a_batch(backend: str) -> None:
    """Equal: 1. 1 1 and 1 2: 1 of 2 labels, no pair, which counts 1/2: sqrt(1/4). Nothing: 0. Ends count."""
    a = Tensor("a", [batch_dim, T], "int32", sparse_dim=CLASSES)
    b = Tensor("b", [batch_dim, U], "int32", sparse_dim=CLASSES)
    feed = {T: [2, 2, 0], U: [2, 2, 1], "a": [[1, 0], [1, 1], [1, 1]], "b": [[1, 0, 2], [1, 2, 2], [1, 1, 1]]}
    y = run_rf(backend, lambda a, b: rf.sentence_bleu(a, T, b, U), [a, b], [feed])
    assert y.template.dims == (batch_dim,)
    numpy.testing.assert_allclose(y.values[0], [1, 0.5, 0], rtol=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
def test_ctc_of_a_batch_without_any_frame(backend: str) -> None:
    """No labels: one alignment, of nothing, 0. A label: none. What is decoded is nothing."""
    feed = {T: [0, 0], U: [0, 1], "logits": numpy.zeros((2, 0, 4)), "labels": [[1], [1]]}
    assert run_rf(backend, ctc, [LOGITS, LABELS], [feed]).values[0].tolist() == [0, numpy.inf]

    def decode(logits: Tensor, _: Tensor) -> Tensor:
        y, _ = rf.ctc_decode(logits, axis=WITH_BLANK, input_spatial_dim=T, target_dim=CLASSES, beam_width=1)
        return y

    assert run_rf(backend, decode, [LOGITS, LABELS], [feed]).values[0].shape == (2, 0)
