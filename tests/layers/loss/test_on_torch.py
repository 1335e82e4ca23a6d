"""Law: a loss computes the same on TensorFlow and on PyTorch: value, error, norm factor, gradient."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.layers.loss import get_loss_class_name_list
from returnn.network import Network
from returnn.tf.compat import tf
from tests.network.net import Net

torch = pytest.importorskip("torch", reason="the extra torch is not installed")

RND = numpy.random.RandomState(11)
LENS, LABEL_LENS = [4, 2, 3], [2, 1, 0]
X = RND.normal(size=(3, 4, 6)).astype("float32")
DATA = {
    "data": X,
    "labels": RND.randint(0, 6, (3, 4)).astype("int32"),
    "few": RND.randint(0, 5, (3, 2)).astype("int32"),
    "dense": RND.uniform(size=(3, 4, 6)).astype("float32"),
    "three": RND.randint(0, 4, (3, 4, 3)).astype("int32"),
}
EXTERN_DATA = {
    "data": {"dim": 6},
    "labels": {"dim": 6, "sparse": True},
    "few": {"dim": 5, "sparse": True},
    "dense": {"dim": 6},
    "three": {"shape": (None, 3), "dim": 4, "sparse": True},
}
COPY = {"class": "copy", "from": "data"}
SOFTMAX = {"class": "activation", "activation": "softmax", "from": "data"}
BEST = {"class": "reduce", "mode": "argmax", "axis": "F", "from": "data", "target": "labels"}

LAYERS: dict[str, list[dict[str, Any]]] = {
    "as_is": [COPY],
    "bin_ce": [{**COPY, "target": "dense", "loss_opts": {"pos_weight": 3.0}}],
    "bleu": [BEST],
    "ce": [
        {**SOFTMAX, "target": "labels"},
        {**SOFTMAX, "target": "dense"},
        {**SOFTMAX, "target": "labels", "loss_opts": {"label_smoothing": 0.2, "focal_loss_factor": 1.5}},
        {**SOFTMAX, "target": "labels", "loss_opts": {"label_smoothing": 0.2, "label_smoothing_gaussian": True}},
        {**SOFTMAX, "target": "labels", "loss_opts": {"use_fused": False, "fake_upper_bound": 1.0}},
    ],
    "ctc": [
        {**SOFTMAX, "target": "few"},
        {**SOFTMAX, "target": "few", "loss_opts": {"use_native": True}},
        {**SOFTMAX, "target": "few", "loss_opts": {"use_viterbi": True, "target_collapse_repeated": True}},
        {**SOFTMAX, "target": "few", "loss_opts": {"beam_width": 1, "auto_clip_target_len": True}},
    ],
    "deep_clustering": [{**COPY, "target": "dense", "loss_opts": {"embedding_dimension": 2, "nr_of_sources": 2}}],
    "edit_distance": [{**BEST, "loss_opts": {"label_map": {1: 0}}}],
    "generic_ce": [{"class": "activation", "activation": "sigmoid", "from": "data", "target": "labels"}],
    "l1": [{**COPY, "target": "dense"}],
    "mean_l1": [{**COPY, "target": "dense"}],
    "mse": [{**COPY, "target": "dense"}, {**COPY, "target": "labels"}],
    "sse_sigmoid": [{**COPY, "target": "dense"}],
    "triplet_loss": [{**COPY, "target": "three", "loss_opts": {"margin": 0.5}}],
    "via_layer": [{**SOFTMAX, "target": "labels", "loss_opts": {"align_layer": "bw", "loss_wrt_to_act_in": True}}],
}
EXEMPT = {
    "expected_loss": "needs a beam search; test_search_losses.py",
    "search_score": "needs a beam search; test_search_losses.py",
    "sampling_loss": "each backend draws its own classes; see below",
}
MORE = {
    "log_probs": {"class": "activation", "activation": "log_softmax", "from": "data"},
    "bw": {"class": "fast_bw", "align_target": "ctc", "align_target_key": "few", "from": "log_probs"},
}


def lens_of(key: str) -> list[int]:
    return LABEL_LENS if key == "few" else LENS


def on_tensorflow(network: dict[str, Any]) -> dict[str, Any]:
    with Net(network, EXTERN_DATA, train=True) as net:
        feed = net.feed({key: lens_of(key) for key in DATA}, **DATA)
        fetches = net.net.get_fetches_dict()
        fetches.pop("post_control_dependencies", None)
        (grad,) = tf.gradients(fetches["loss"], net.net.extern_data.data["data"].placeholder)
        return net.session.run({**fetches, **({} if grad is None else {"grad": grad})}, feed)


def on_torch(network: dict[str, Any], **options: Any) -> dict[str, Any]:
    from returnn.torch.backend import backend  # noqa: PLC0415 - slow to import

    net = Network(config=Config({"extern_data": EXTERN_DATA, **options}), train_flag=True, backend=backend)
    net.construct_from_dict(network)
    data: dict[str, Any] = {key: torch.tensor(value) for key, value in DATA.items()}
    data["data"].requires_grad_()
    data.update({key + ":size1": numpy.array(lens_of(key), "int32") for key in DATA})
    with net.step(data, train=True):
        (holder,) = net.get_losses()
        value, error, loss = holder.get_loss_value(), holder.get_error_value(), net.get_objective()
        res = {"loss_norm_factor:output": holder.get_norm_factor(), "cost:output": value, "error:output": error}
        if isinstance(loss, torch.Tensor):
            res["loss"] = loss
            (res["grad"],) = torch.autograd.grad(loss, data["data"], allow_unused=True)
    return {key: numpy.asarray(x.detach()) for key, x in res.items() if x is not None}


def test_each_loss_is_compared_or_exempt() -> None:
    assert LAYERS.keys() | EXEMPT.keys() >= set(get_loss_class_name_list())


@pytest.mark.parametrize("name", sorted(LAYERS))
def test_same_on_both_backends(name: str) -> None:
    for layer in LAYERS[name]:
        network = {**MORE, "output": {**layer, "loss": name}}
        a, b = on_tensorflow(network), on_torch(network)
        b.setdefault("loss", numpy.zeros(()))  # nothing in the objective
        assert a.keys() == b.keys(), layer
        for key, value in a.items():
            numpy.testing.assert_allclose(b[key], value, rtol=1e-4, atol=1e-5, err_msg="%s of %s" % (key, layer))


def test_normalized_loss_of_the_config() -> None:
    """The objective, and its gradient, divided by the 9 frames; what is reported is the sum."""
    network = {"output": {**SOFTMAX, "target": "labels", "loss": "ce"}}
    plain, normalized = on_torch(network), on_torch(network, normalized_loss=True)
    assert normalized["cost:output"] == plain["cost:output"] == plain["loss"]
    assert normalized["loss"] == pytest.approx(plain["loss"] / 9)
    numpy.testing.assert_allclose(normalized["grad"], plain["grad"] / 9, rtol=1e-5)


def test_sampling_on_torch() -> None:
    """With all but one of the classes in the draw the cost is near that of all of them; the error is the same."""

    def loss(**opts: Any) -> dict[str, Any]:
        layer = {"class": "softmax", "from": "data", "target": "labels", "use_transposed_weights": True}
        return on_torch({"output": {**layer, "loss": "sampling_loss", "loss_opts": opts}})

    full = loss(use_full_softmax=True)
    for more in ({}, {"sampler": "learned_unigram"}, {"num_splits": 3}):
        sampled = loss(num_sampled=5, **more)
        assert sampled["error:output"] == full["error:output"]
        assert sampled["cost:output"] == pytest.approx(full["cost:output"], rel=0.3)
        assert sampled["grad"].shape == X.shape and numpy.isfinite(sampled["grad"]).all()
