"""Functions that configs import from TFNativeOp: known values."""

from __future__ import annotations

import numpy
import pytest

from returnn.tf import native_op
from returnn.tf.compat import tf, v1

LOGITS = numpy.random.RandomState(0).normal(size=(4, 3, 4)).astype("float32")
LENS, TARGETS, TARGET_LENS = [4, 3, 2], [[0, 1], [2, 2], [1, 0]], [2, 2, 1]
FULL_SUM = [1.961358, 6.486931, 1.166899]


def run(*values: tf.Tensor) -> list[numpy.ndarray]:
    with v1.Session() as session:
        return session.run(list(values))


def float_idx(lens: list[int], num_frames: int) -> numpy.ndarray:
    return (numpy.arange(num_frames)[:, None] < numpy.array(lens)).astype("float32")


def test_fast_baum_welch() -> None:
    """The sum over all paths in each real frame, 0 on padding; posteriors sum to one. 2 2 has no path in two frames."""
    with tf.Graph().as_default():
        automata = native_op.get_ctc_fsa_fast_bw(tf.constant(TARGETS), tf.constant(TARGET_LENS), blank_idx=3)
        am_scores = -tf.nn.log_softmax(LOGITS)
        values = native_op.fast_baum_welch(am_scores, *automata, float_idx(LENS, 4))
        short = native_op.fast_baum_welch(am_scores[:2], *automata, float_idx([1, 2, 1], 2))
        fwdbwd, obs, fwdbwd_short, obs_short = run(*values, *short)
    numpy.testing.assert_allclose(obs, float_idx(LENS, 4) * FULL_SUM, rtol=1e-5)
    numpy.testing.assert_allclose(fwdbwd[0, 0], [1.206464, 1e32, 1e32, 0.355609], rtol=1e-5)
    numpy.testing.assert_allclose(numpy.exp(-fwdbwd).sum(2), float_idx(LENS, 4), rtol=1e-5)
    numpy.testing.assert_allclose(obs_short[0], [0, 0, 1.6494], rtol=1e-5)
    assert (fwdbwd_short[:, :2] == numpy.float32(1e32)).all()


def test_fast_baum_welch_staircase() -> None:
    """Two frames, two steps: 0 in the first one, 1 in the second."""
    with tf.Graph().as_default():
        scores = numpy.arange(6, dtype="float32").reshape(2, 1, 3)
        fwdbwd, obs = run(*native_op.fast_baum_welch_staircase(tf.constant(scores), tf.constant([2])))
    assert obs.tolist() == [[4.0], [4.0]]
    assert (fwdbwd[:, 0] < 1e-5).tolist() == [[True, False, False], [False, True, False]]


def test_fast_viterbi() -> None:
    with tf.Graph().as_default():
        edges, weights, ends = native_op.get_ctc_fsa_fast_bw(tf.constant(TARGETS), tf.constant(TARGET_LENS), 3)
        alignment, scores = run(
            *native_op.fast_viterbi(
                am_scores=tf.nn.log_softmax(LOGITS),
                am_seq_len=tf.constant(LENS),
                edges=edges,
                weights=weights - 0.5,
                start_end_states=ends,
                mask_idx=9,
            )
        )
    assert alignment.T.tolist() == [[3, 0, 0, 1], [2, 3, 2, 9], [3, 1, 9, 9]]
    best = numpy.array([-2.886487, -6.486931, -1.531102])
    numpy.testing.assert_allclose(scores, best - 0.5 * numpy.array(LENS), rtol=1e-5)  # a weight on each edge


@pytest.mark.parametrize("time_major", [True, False])
def test_ctc_loss(time_major: bool) -> None:
    """As that of TensorFlow, with its gradient."""
    with tf.Graph().as_default():
        logits = tf.constant(LOGITS)
        given = logits if time_major else tf.transpose(logits, [1, 0, 2])
        args = (given, tf.constant(LENS), time_major, tf.constant(TARGETS), tf.constant(TARGET_LENS))
        loss = native_op.ctc_loss(*args)
        expected = tf.nn.ctc_loss(
            tf.constant(TARGETS), logits, tf.constant(TARGET_LENS), tf.constant(LENS), blank_index=3
        )
        (grad,), (expected_grad,) = tf.gradients(loss, logits), tf.gradients(expected, logits)
        without_loop = native_op.ctc_loss(*args, ctc_merge_repeated=False)
        best = native_op.ctc_loss_viterbi(*args)
        loss, expected, grad, expected_grad, without_loop, best = run(
            loss, expected, grad, expected_grad, without_loop, best
        )
    numpy.testing.assert_allclose(loss, FULL_SUM, rtol=1e-5)
    numpy.testing.assert_allclose(loss, expected, rtol=1e-5)
    numpy.testing.assert_allclose(grad, expected_grad, atol=1e-6)
    assert (without_loop[[0, 2]] > loss[[0, 2]]).all() and without_loop[1] < loss[1]
    numpy.testing.assert_allclose(best, [2.886487, 6.486931, 1.531102], rtol=1e-5)


@pytest.mark.parametrize(("zero_infinity", "expected"), [(False, [1.0, 2.0]), (True, [0.0, 0.0])])
def test_ctc_loss_without_a_path(zero_infinity: bool, expected: list[float]) -> None:
    """0 1 in one frame, 2 2 in two: loss 0; the gradient is softmax, which sums to one in each frame, or nothing."""
    with tf.Graph().as_default():
        logits = tf.constant(LOGITS[:2])
        args = (logits, tf.constant([1, 2, 1]), True, tf.constant(TARGETS), tf.constant(TARGET_LENS))
        loss = native_op.ctc_loss(*args, zero_infinity=zero_infinity)
        loss, grad = run(loss, tf.gradients(loss, logits)[0])
    numpy.testing.assert_allclose(loss, [0, 0, 1.6494], rtol=1e-5)
    numpy.testing.assert_allclose(numpy.abs(grad).sum((0, 2))[:2], expected, atol=1e-5)


def test_two_names_of_one_option() -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match="label_loop and ctc_merge_repeated are the same"):
        native_op.ctc_loss(None, None, True, None, None, label_loop=True, ctc_merge_repeated=False)
