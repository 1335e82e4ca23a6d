"""Helpers of TFUtil that configs import: transducer, image, search, sampling, gradients, compiler."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.tf.compat import tf, v1
from returnn.tf.util import basic
from returnn.util.errors import UserError


def run(value: Any, feed: Any = None) -> Any:
    with v1.Session() as session:
        return session.run(value, feed)


@pytest.mark.parametrize(
    ("frames", "num_labels", "consume", "places"),
    [  # measured at a reference implementation
        (5, 3, False, [1, 3, 6]),
        (20, 7, False, [3, 6, 9, 13, 17, 20, 23]),
        (17, 13, False, [1, 3, 6, 8, 10, 12, 14, 17, 19, 21, 23, 26, 28]),
        (3, 5, False, [1, 2, 3, 5, 7]),
        (1, 3, False, [0, 1, 3]),
        (20, 7, True, [2, 4, 7, 9, 12, 15, 17]),
        (4, 4, True, [0, 1, 2, 3]),
        (3, 5, True, [0, 1, 2]),
    ],
)
def test_linear_alignment(frames: int, num_labels: int, consume: bool, places: list[int]) -> None:
    with tf.Graph().as_default():
        labels = [list(range(1, num_labels + 1))]
        out, lens = run(
            basic.get_rnnt_linear_aligned_output([frames], labels, [num_labels], 0, targets_consume_time=consume)
        )
    assert lens.tolist() == [frames if consume else frames + num_labels]
    expected = numpy.zeros(lens[0], int)
    expected[places] = range(1, len(places) + 1)
    assert out[0].tolist() == expected.tolist()


def test_linear_alignment_of_a_batch() -> None:
    """Behind the shorter one is the padding; one without labels is all blank."""
    with tf.Graph().as_default():
        targets = numpy.array([[1, 2, 3], [4, 5, 9], [9, 9, 9]])
        out, lens = run(basic.get_rnnt_linear_aligned_output([5, 3, 2], targets, [3, 2, 0], 0, pad_value=77))
    assert lens.tolist() == [8, 5, 2]
    assert out.tolist() == [[0, 1, 0, 2, 0, 0, 3, 0], [0, 4, 0, 5, 0, 77, 77, 77], [0, 0] + [77] * 6]


@pytest.mark.parametrize(
    ("flow", "expected"),
    [
        ((0.5, 0), [[0, 1, 2, 3], [2, 3, 4, 5], [6, 7, 8, 9]]),
        ((0, -0.25), [[0.25, 1.25, 2.25, 3], [4.25, 5.25, 6.25, 7], [8.25, 9.25, 10.25, 11]]),
        ((-5, 0), [[8, 9, 10, 11]] * 3),
    ],
)
def test_dense_image_warp(flow: tuple[float, float], expected: list[list[float]]) -> None:
    """Half a pixel down is the mean of two rows; beyond the border is the border."""
    image = numpy.arange(12, dtype="float32").reshape(1, 3, 4, 1)
    with tf.Graph().as_default():
        out = run(basic.dense_image_warp(image, numpy.broadcast_to(numpy.float32(flow), (1, 3, 4, 2))))
    assert out[0, :, :, 0].tolist() == expected


def test_random_warp_flow() -> None:
    """Blurred with std 2, white noise in two dims keeps 1 / (2 * 2 sqrt(pi)) = 0.141 of its deviation."""
    with tf.Graph().as_default():
        v1.set_random_seed(1)
        flow = run(basic.create_random_warp_flow_2d((8, 60, 60), std=(1.0, 5.0), scale=1.0))
        coarse = run(basic.create_random_warp_flow_2d((2, 40, 30), std=1.0))
        with pytest.raises(ValueError, match="std is needed"):
            basic.create_random_warp_flow_2d((2, 40, 30))
    assert flow.shape == (8, 60, 60, 2) and coarse.shape == (2, 40, 30, 2)
    numpy.testing.assert_allclose(flow.std(axis=(0, 1, 2)), [0.141, 0.705], rtol=0.12)
    assert abs(numpy.diff(coarse, axis=1)).max() < 0.2  # smooth


SCORES = numpy.array([[[-1.0, -3.0, -2.0], [-1.5, -2.5, -9]]], "float32")


@pytest.mark.parametrize(
    ("beam_size", "opts", "sources", "labels", "scores"),
    [
        (3, {}, [0, 1, 0], [0, 0, 2], [-1, -1.5, -2]),
        (4, {"keep_beams": True}, [0, 0, 1, 1], [0, 2, 0, 1], [-1, -2, -1.5, -2.5]),
        (8, {}, [0, 1, 0, 1, 0, 1, 0, 0], [0, 0, 2, 1, 1, 2, 0, 0], [-1, -1.5, -2, -2.5, -3, -9] + [-numpy.inf] * 2),
        (3, {"cheating_gold_targets": [1], "cheating_src_beam_idx": [1]}, [0, 1, 1], [0, 0, 1], [-1, -1.5, -2.5]),
        (3, {"cheating_gold_targets": [0], "cheating_src_beam_idx": [0]}, [1, 0, 0], [0, 2, 0], [-1.5, -2, -1]),
        (
            3,
            {"cheating_gold_targets": [0], "cheating_src_beam_idx": [0], "cheating_exclusive": False},
            *([0, 1, 0], [0, 0, 0], [-1, -1.5, -1]),
        ),
        (3, {"cheating_gold_targets": [9], "cheating_src_beam_idx": [0]}, [0, 1, 0], [0, 0, 2], [-1, -1.5, -2]),
    ],
)
def test_beam_search(beam_size: int, opts: dict[str, Any], sources: Any, labels: Any, scores: Any) -> None:
    """Two hypotheses, three labels."""
    with tf.Graph().as_default():
        found = run(basic.beam_search(SCORES, beam_size, **opts))
    assert [x[0].tolist() for x in found] == [sources, labels, scores]


def test_select_src_beams() -> None:
    with tf.Graph().as_default():
        found = run(basic.select_src_beams([[1, 2], [3, 4], [5, 6], [7, 8]], [[1, 0], [0, 0]]))
    assert found.tolist() == [[3, 4], [1, 2], [5, 6], [5, 6]]


def test_positional_encoding() -> None:
    """sin and cos of 1 and of 1 / 10000."""
    with tf.Graph().as_default():
        got = run(basic.get_positional_encoding(5, length=2))
        at = run(basic.get_positional_encoding(5, position=[[1]]))
    numpy.testing.assert_allclose(got, [[0, 0, 1, 1, 0], [0.841471, 0.0001, 0.540302, 1, 0]], atol=1e-6)
    numpy.testing.assert_allclose(at, [[got[1]]], atol=1e-6)


@pytest.mark.parametrize("opts", [{}, {"subtract_log_q": False}, {"remove_accidental_hits": True}])
def test_sampled_logits(opts: dict[str, Any]) -> None:
    """x W + b of labels 1, 3 and samples 5, 1, 6, minus log of the counts; sample 1 is the label of the first row."""
    rnd = numpy.random.RandomState(1)
    weights, x = rnd.normal(size=(7, 4)).astype("float32"), rnd.normal(size=(2, 4)).astype("float32")
    labels, samples = numpy.array([[1], [3]]), numpy.array([5, 1, 6])
    counts = numpy.array([[0.3], [0.2]], "float32"), numpy.array([0.1, 0.4, 0.2], "float32")
    with tf.Graph().as_default():
        logits, targets = run(
            basic.compute_sampled_logits(
                *(weights, numpy.zeros(7, "float32"), labels, x, 3, 7),
                sampled_values=tuple(tf.constant(v) for v in (samples, *counts)),
                **opts,
            )
        )
    full = x @ weights.T
    expected = numpy.concatenate([full[[0, 1], [1, 3]][:, None], full[:, samples]], axis=1)
    if opts.get("subtract_log_q", True):
        expected -= numpy.log(numpy.concatenate([counts[0], numpy.tile(counts[1], (2, 1))], axis=1))
    if "remove_accidental_hits" in opts:
        assert logits[0, 2] < -1e38
        expected[0, 2] = logits[0, 2]
    numpy.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-5)
    assert targets.tolist() == [[1, 0, 0, 0]] * 2


def test_sampled_logits_draws_by_itself() -> None:
    with tf.Graph().as_default():
        logits, targets = run(
            basic.compute_sampled_logits(tf.ones((9, 2)), tf.zeros(9), [[1], [3]], tf.ones((2, 2)), 4, 9, seed=1)
        )
    assert logits.shape == targets.shape == (2, 5)


def test_custom_gradient() -> None:
    """x y has the gradients 10 x' and 100 y', and the function sees what went in and out."""
    with tf.Graph().as_default():

        def grad(op: Any, g: Any) -> Any:
            return g * 10 * op.inputs[0], g * 100 * op.outputs[0]

        times = basic.custom_gradient.register([tf.float32, tf.float32], op=tf.multiply, grad_op=grad)
        x, y = tf.constant(2.0), tf.constant(3.0)
        z = times(x, y)
        assert run([z, *tf.gradients(z, [x, y])]) == [6, 20, 600]
        with pytest.raises(TypeError, match="takes 2 arguments, but got 1"):
            times(x)


def test_loss_with_an_error_signal_from_outside() -> None:
    with tf.Graph().as_default():
        x = tf.ones((2, 3))
        loss = basic.custom_gradient.generic_loss_and_error_signal(loss=5.0, x=x, grad_x=tf.fill((2, 3), 7.0))
        value, grad = run([loss, tf.gradients(loss * 2, x)[0]])
    assert value == 5 and grad.tolist() == [[14] * 3] * 2


def test_noise_on_gradients() -> None:
    """Dense ones get it, none stays none; sparse ones only if wanted."""
    with tf.Graph().as_default():
        sparse = tf.IndexedSlices(tf.ones((1, 2)), [0], dense_shape=[1000, 2])
        v1.set_random_seed(3)
        noisy = basic.add_scaled_noise_to_gradients([(tf.zeros(1000), "a"), (None, "b"), (sparse, "c")], 0.5)
        assert noisy[1] == (None, "b") and [var for _, var in noisy] == ["a", "b", "c"]
        assert 0.3 < run(noisy[0][0]).std() < 0.5  # cut at two deviations
        assert not isinstance(noisy[2][0], tf.IndexedSlices)
        kept = basic.add_scaled_noise_to_gradients([(sparse, "c")], 0.5, sparse_grads=True)
        assert kept == [(sparse, "c")]


def test_output_with_activation() -> None:
    with tf.Graph().as_default():
        x = tf.constant([[0.0, 1.0]])
        softmax = basic.OutputWithActivation(x, act_func=tf.nn.softmax)
        assert softmax.is_softmax_act_func() and softmax.get_logits() is x
        numpy.testing.assert_allclose(run(softmax.get_log_output()), numpy.log(run(softmax.y)), rtol=1e-6)
        tanh = basic.OutputWithActivation(x, act_func=tf.tanh)
        with pytest.raises(ValueError, match="there are no logits"):
            tanh.get_logits()
        assert basic.OutputWithActivation(x).y is x


def test_shared_vocab_is_made_once_in_a_graph() -> None:
    with tf.Graph().as_default():
        vocab = basic.get_shared_vocab(["a", "b"])
        assert basic.get_shared_vocab(["a", "b"]) is vocab
        assert basic.get_shared_vocab(["a"]) is not vocab
        assert run(vocab).tolist() == [b"a", b"b"]
    with tf.Graph().as_default() as graph:
        assert basic.get_shared_vocab(["a", "b"]).graph is graph


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [("glorot_uniform", -0.2165, 0.2165), ("0.5", 0.5, 0.5), (0.25, 0.25, 0.25), ("numpy.ones((64, 64))", 1, 1)]
    + [({"class": "VarianceScaling", "scale": 0.78, "mode": "fan_in", "distribution": "uniform"}, -0.1913, 0.1913)]
    + [("constant_initializer(factor)", 3, 3)],
)
def test_initializers_for_variables_of_users(text: Any, low: float, high: float) -> None:
    """Limits: sqrt(6 / 128) and sqrt(3 * 0.78 / 64)."""
    with tf.Graph().as_default(), v1.Session() as session:
        initializer = basic.get_initializer(text, seed=3, eval_local_ns={"factor": 3})
        var = v1.get_variable("W", (64, 64), initializer=initializer)
        session.run(var.initializer)
        value = session.run(var)
    assert low - 1e-6 <= value.min() and value.max() <= high + 1e-6 and value.max() > 0.95 * high


C_CODE = 'extern "C" int twice(int x) { return FACTOR * x; }'


def compiler(code: str, **opts: Any) -> basic.OpCodeCompiler:
    return basic.OpCodeCompiler(base_name="Twice", code=code, use_cuda_if_available=False, **opts)


@pytest.mark.skipif(not os.access("/usr/bin/g++", os.X_OK), reason="no compiler here")
def test_compiler(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Compiled once; other options are another library; an error of the compiler is shown."""
    monkeypatch.setenv("RETURNN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", "/usr/bin/g++")
    library = compiler(C_CODE, c_macro_defines={"FACTOR": 2})
    assert library.load_lib_ctypes().twice(21) == 42
    filename = Path(library.get_lib_filename())
    assert tmp_path in filename.parents and sorted(p.name for p in filename.parent.iterdir()) == [
        "Twice.cc",
        "Twice.so",
    ]
    before = filename.stat().st_mtime_ns
    assert compiler(C_CODE, c_macro_defines={"FACTOR": 2}).get_lib_filename() == str(filename)
    assert filename.stat().st_mtime_ns == before
    assert compiler(C_CODE, c_macro_defines={"FACTOR": 3}).load_lib_ctypes().twice(1) == 3
    with pytest.raises(UserError, match="(?s)'Twice' does not compile.*FACTOR"):
        compiler(C_CODE).get_lib_filename()


def test_compiler_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("RETURNN_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("CXX", "no-such-compiler")
    with pytest.raises(UserError, match="needs the compiler 'no-such-compiler', which is not installed here"):
        compiler(C_CODE).get_lib_filename()
