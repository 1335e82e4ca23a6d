"""Losses of embeddings, against the formula on one sequence after the other."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.util.errors import ConfigError
from tests.network.net import Net

RND = numpy.random.RandomState(5)
LENS = [2, 3]
X = RND.normal(size=(2, 3, 12)).astype("float32")


def fetches(layer: dict[str, Any], target: dict[str, Any], value: Any) -> dict[str, Any]:
    extern_data = {"data": {"dim": 12}, "target": {**target, "available_for_inference": False}}
    with Net(
        {"output": {"class": "copy", "from": "data", "target": "target", **layer}}, extern_data, train=True
    ) as net:
        return net.fetches(net.feed({"data": LENS, "target": LENS}, data=X, target=value))


def test_deep_clustering() -> None:
    """
    Three bins with embeddings of four numbers and one of two sources. V: all bins of all frames of a sequence, Y: their
    sources, one-hot; the sum of the squares of VV' - YY'.
    """
    sources = RND.randint(0, 2, (2, 3, 3))
    target = numpy.eye(2)[sources].reshape(2, 3, 6)
    opts = {"embedding_dimension": 4, "nr_of_sources": 2}
    got = fetches({"loss": "deep_clustering", "loss_opts": opts}, {"dim": 6}, target)
    expected = 0.0
    for n, x, y in zip(LENS, X.astype("float64"), target, strict=True):
        v, y = x[:n].reshape(-1, 4), y[:n].reshape(-1, 2)
        expected += numpy.square(v @ v.T - y @ y.T).sum()
    assert got["cost:output"] == pytest.approx(expected, rel=1e-5)
    assert "error:output" not in got


@pytest.mark.parametrize(
    ("opts", "message"),
    [
        ({"embedding_dimension": 4, "nr_of_sources": 4}, "nr_of_sources 4 does not divide the target dim 6"),
        ({"embedding_dimension": 3, "nr_of_sources": 2}, "Expected output dim is 9 .*times 3.*has dim 12"),
        ({"nr_of_sources": 2}, "loss deep_clustering: missing a required.*'embedding_dimension'"),
    ],
)
def test_sizes_of_deep_clustering(opts: dict[str, int], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        fetches({"loss": "deep_clustering", "loss_opts": opts}, {"dim": 6}, None)


def test_triplets_pair_all_embeddings_of_all_frames() -> None:
    """
    Real frames have 5 x 3 embeddings of four numbers; each pair of one class costs its distance, each other one what it
    lacks to the margin; halves, as each pair is seen from both sides. (Label 0 is a class like the others here. Another
    implementation is wrong there.)
    """
    classes = RND.randint(0, 3, (2, 3, 3))
    layer = {"loss": "triplet_loss", "loss_opts": {"margin": 0.8}}
    got = fetches(layer, {"shape": (None, 3), "dim": 3, "sparse": True}, classes)
    vectors = numpy.concatenate([X[i, :n].reshape(-1, 4) for i, n in enumerate(LENS)]).astype("float64")
    labels = numpy.concatenate([classes[i, :n].reshape(-1) for i, n in enumerate(LENS)])
    vectors /= numpy.linalg.norm(vectors, axis=1, keepdims=True)
    distance = 1 - vectors @ vectors.T
    cost = numpy.where(labels[:, None] == labels, distance, numpy.maximum(0.8 - distance, 0))
    assert got["cost:output"] == pytest.approx(0.5 * cost.sum(), rel=1e-5)
    assert "error:output" not in got


def test_shape_of_triplets() -> None:
    layer = {"loss": "triplet_loss", "loss_opts": {"margin": 0.8}}
    with pytest.raises(ConfigError, match=r"the target must be classes \[.., 3\] with the other axes of the output"):
        fetches(layer, {"dim": 3}, None)
    layer = {"loss": "triplet_loss", "loss_opts": {"margin": 0.8, "multi_view_training": True}, "class": "eval"}
    layer["eval"] = "source(0)[:, :, :9]"
    with pytest.raises(ConfigError, match="does not split into 6 parts"):
        fetches({**layer, "out_type": {"dim": 9}}, {"shape": (None, 3), "dim": 3, "sparse": True}, None)
