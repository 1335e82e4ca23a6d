"""Cross entropy estimated on classes that are drawn: against its formulas, and its mean over many draws."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.tf.compat import tf
from returnn.util.errors import ConfigError, UserError
from tests.network.net import Net

NUM_CLASSES = 30
EXTERN_DATA = {"data": {"dim": 4}, "classes": {"dim": NUM_CLASSES, "sparse": True, "available_for_inference": False}}
RND = numpy.random.RandomState(2)
X = RND.normal(size=(2, 3, 4)).astype("float32")
CLASSES = RND.randint(0, NUM_CLASSES, (2, 3))
LENS = [3, 2]
W, B = RND.normal(size=(NUM_CLASSES, 4)).astype("float32"), RND.normal(size=NUM_CLASSES).astype("float32")


class Sampling:
    """A net of one layer with the loss; a context manager."""

    def __init__(self, *, train: Any = True, layer: dict[str, Any] | None = None, **opts: Any):
        network = {
            "output": {
                "class": "softmax",
                "use_transposed_weights": True,
                "from": "data",
                "loss": "sampling_loss",
                "target": "classes",
                "loss_opts": {"num_sampled": 5, **opts},
                **(layer or {}),
            }
        }
        self.net = Net(network, EXTERN_DATA, train=train)

    def __enter__(self) -> Sampling:
        self.net.__enter__()
        self.net.set(output__W=W, output__b=B)
        self.feed = self.net.feed({"data": LENS, "classes": LENS}, data=X, classes=CLASSES)
        return self

    def __exit__(self, *exc: Any) -> None:
        self.net.__exit__(*exc)

    def fetches(self, step: int = 0) -> dict[str, Any]:
        """of a global step"""
        self.net.net.global_train_step_var.load(step, self.net.session)
        return self.net.fetches(self.feed)


def logits() -> numpy.ndarray:
    """of all real frames, [frames, classes], and their labels"""
    real = numpy.concatenate([X[0], X[1, :2]]).astype("float64")
    return real @ W.T + B


LABELS = numpy.concatenate([CLASSES[0], CLASSES[1, :2]])
CROSS_ENTROPY = sum(numpy.logaddexp.reduce(z) - z[label] for z, label in zip(logits(), LABELS, strict=True))
NUM_WRONG = int((logits().argmax(axis=1) != LABELS).sum())


def test_full_softmax_and_error() -> None:
    with Sampling(use_full_softmax=True) as net:
        got = net.fetches()
    assert got["cost:output"] == pytest.approx(CROSS_ENTROPY, rel=1e-5)
    assert got["error:output"] == NUM_WRONG


@pytest.mark.parametrize(
    "opts",
    [
        {},
        {"sampler": "uniform"},
        {"sampler": "learned_unigram"},
        {"sampler": "fixed_unigram", "sampler_args": {"unigrams": list(range(1, 1 + NUM_CLASSES)), "distortion": 0.5}},
        {"num_splits": 2},
        {"num_splits": 4, "remove_accidental_hits": False},
    ],
    ids=str,
)
def test_sampled_softmax_comes_near_with_many_samples(opts: dict[str, Any]) -> None:
    """With all but one of the classes in each draw the estimate is nearly exact; the error is that of all classes."""
    with Sampling(num_sampled=NUM_CLASSES - 1, **opts) as net:
        costs = [net.fetches(step)["cost:output"] for step in range(8)]
        assert net.fetches()["error:output"] == NUM_WRONG
    assert len(set(costs)) > 1
    tolerance = 0.1 if opts.get("remove_accidental_hits", True) else 0.5  # else the label is there twice
    assert numpy.mean(costs) == pytest.approx(CROSS_ENTROPY, rel=tolerance)


def test_draws_depend_on_the_step_only() -> None:
    """Another one in each step, the same again in another process."""
    values = []
    for _ in range(2):
        with Sampling() as net:
            values.append([net.fetches(step)["cost:output"] for step in (0, 1, 0)])
    assert values[0] == values[1]
    assert values[0][0] == values[0][2] != values[0][1]


def test_noise_contrastive_estimation_with_many_samples() -> None:
    """All but one class, uniform: nearly log(1 + e^-z) for the label, log(1 + e^z) for all; log q is nearly 0."""
    opts = {"nce_loss": True, "sampler": "uniform", "nce_log_norm_term": 0.5}
    with Sampling(num_sampled=NUM_CLASSES - 1, **opts) as net:
        cost = numpy.mean([net.fetches(step)["cost:output"] for step in range(20)])
    z = logits() - 0.5
    softplus = numpy.logaddexp(0, z).sum()
    of_labels = sum(numpy.logaddexp(0, -row[label]) for row, label in zip(z, LABELS, strict=True))
    assert cost == pytest.approx(softplus + of_labels, rel=0.1)


def test_gradient_reaches_only_the_classes_of_the_step() -> None:
    """At most 5 labels and 5 others; padding has the label 0 and no gradient."""
    with Sampling() as net:
        (grad,) = tf.gradients(net.net.net.get_objective(), net.net.layers["output"].params["W"])
        grad = net.net.session.run(tf.convert_to_tensor(grad), net.feed)
    rows = set(numpy.nonzero(numpy.abs(grad).sum(axis=1))[0])
    assert set(LABELS) <= rows and len(rows) <= len(set(LABELS)) + 5


def test_learned_unigram_counts_labels_in_training_only() -> None:
    """The same step draws the same classes until labels were counted."""
    with Sampling(train="dynamic", sampler="learned_unigram", num_sampled=3) as net:
        before = [net.fetches()["cost:output"] for _ in range(3)]
        assert len(set(before)) == 1
        for _ in range(20):
            net.net.fetches({**net.feed, net.net.train_flag: True})
        assert net.fetches()["cost:output"] != before[0]


def test_vocab_file(tmp_path: Path) -> None:
    """The last column are counts; two reserved classes in front are never drawn."""
    path = tmp_path / "vocab"
    path.write_text("".join("w%i,%i\n" % (i, i + 1) for i in range(NUM_CLASSES - 2)))
    opts = {"sampler": "fixed_unigram", "sampler_args": {"vocab_file": str(path), "num_reserved_ids": 2}}
    with Sampling(num_sampled=NUM_CLASSES - 3, **opts) as net:
        assert numpy.isfinite(net.fetches()["cost:output"])


@pytest.mark.parametrize(
    ("opts", "message"),
    [
        ({"sampler": "log_unifrom"}, "unknown sampler 'log_unifrom'. Did you mean \"log_uniform\""),
        ({"num_sampled": NUM_CLASSES}, "num_sampled is 30, but there are only 30 classes"),
        ({"num_splits": 0}, "num_sampled and num_splits must be > 0"),
        ({"sampler_args": {"unigrams": [1]}}, "sampler log_uniform has no sampler_args"),
        ({"layer": {"use_transposed_weights": False}}, "needs a linear or softmax layer with use_transposed_weights"),
        ({"sampler": "fixed_unigram"}, "sampler_args must have either unigrams or vocab_file"),
        (
            {"sampler": "fixed_unigram", "sampler_args": {"unigrams": [1, 2]}},
            "2 counts and 0 reserved classes, but there are 30 classes",
        ),
    ],
)
def test_mistakes(opts: dict[str, Any], message: str) -> None:
    with pytest.raises((ConfigError, UserError), match=message), Sampling(**opts) as net:
        net.fetches()
