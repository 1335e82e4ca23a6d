"""Self-attention to frames from before the first one; expected values by the formula, one sequence at a time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy
import pytest
import torch

from returnn.config import Config
from returnn.network import Network
from returnn.network.errors import NetworkLayerException
from returnn.tf.compat import tf
from returnn.torch.backend import backend as torch_backend
from returnn.util.errors import ConfigError
from tests.layers.recurrent.loops import behavior_version
from tests.network.net import Net

from .common import close, fill, message

X = [numpy.random.RandomState(i).normal(size=(2, 3, 2)).astype("float32") for i in range(3)]
LENS = [[3, 2], [1, 3], [3, 3]]
"""of the steps; what stands behind the end of a sequence is as large as the rest"""
ATT = {"class": "self_attention", "num_heads": 2, "total_key_dim": 4, "n_out": 2}
SIZES = {"k_left": 2, "v_left": 1}
OLD = {key: numpy.random.RandomState(n).normal(size=(2, 2, 4, n)).astype("float32") for key, n in SIZES.items()}
"""[batch, heads, 4 frames, size]"""
PLACES = {"outside": None, "moved": True, "in_loop": False}
"""where the layer is -> option optimize_move_layers_out of the loop around it"""

on_both = pytest.mark.parametrize("backend", ["tf", "torch"])
everywhere = pytest.mark.parametrize("place", PLACES)
pytestmark = pytest.mark.filterwarnings("ignore:.*Variable.load.*")


def network(place: str, **opts: Any) -> dict[str, Any]:
    """
    :param place: one of PLACES
    :param opts: of the layer
    :return: layer dict whose "output" is the output of the layer
    """
    if PLACES[place] is None:
        return {"output": {**ATT, "from": "data", **opts}}
    unit = {"output": {**ATT, "attention_left_only": True, "from": "data:source", **opts}}
    return {"output": {"class": "rec", "from": "data", "unit": unit, "optimize_move_layers_out": PLACES[place]}}


def scope(place: str) -> str:
    """:return: in front of the names of the layer"""
    return "output" if PLACES[place] is None else "output/rec/output"


def outputs(
    backend: str, net: dict[str, Any], place: str, epoch_steps: Sequence[int], *, version: int, **extern: Any
) -> list[numpy.ndarray]:
    """
    :param net: layer dict
    :param epoch_steps: a step for each, on X and LENS
    :param extern: key -> value of further data, [2, 2, frames, size]
    :return: output of each step, batch-major
    """
    data = {"data": {"dim": 2}}
    for key, value in extern.items():
        data[key] = {"shape": (2, None, value.shape[-1]), "time_dim_axis": 2, "dim": value.shape[-1]}
    with behavior_version(version):
        run = _on_tf if backend == "tf" else _on_torch
        return run(net, data, scope(place), epoch_steps, extern)


def _on_tf(net: Any, data: Any, prefix: str, epoch_steps: Sequence[int], extern: Any) -> list[numpy.ndarray]:
    res = []
    with Net(net, data, evaluation=True) as run:
        run.set(**{prefix.replace("/", "__") + "__QKV": fill(2, 10)})
        updates = run.net.get_post_control_dependencies()
        output = run.layers["output"].output.copy_as_batch_major().placeholder
        for step, x, lens in zip(epoch_steps, X, LENS, strict=False):
            feed = run.feed({"data": lens}, data=x, **extern)
            feed[run.net.get_epoch_step()] = step
            res.append(run.session.run([output, updates], feed)[0])
    return res


def _on_torch(net: Any, data: Any, prefix: str, epoch_steps: Sequence[int], extern: Any) -> list[numpy.ndarray]:
    run = Network(config=Config({"extern_data": data}), train_flag=False, eval_flag=True, backend=torch_backend)
    run.construct_from_dict(net)
    torch_backend.assign(run.param_store.named()[prefix + "/QKV"], torch.tensor(fill(2, 10)))
    res = []
    for step, x, lens in zip(epoch_steps, X, LENS, strict=False):
        fed: dict[str, Any] = {"data": x, "data:size1": numpy.array(lens, "int32")}
        for key, value in extern.items():
            fed.update({key: value, key + ":size2": numpy.array([value.shape[2]] * 2, "int32")})
        with run.step(fed, train=False, epoch_step=step):
            res.append(run.layers["output"].output.copy_as_batch_major().raw_tensor.detach().numpy())
    return res


class Frames:
    """What one sequence has seen: the queries, keys and values of frames, by heads."""

    def __init__(self) -> None:
        self.k, self.v = (numpy.zeros((2, 0, n)) for n in SIZES.values())

    def attend(self, x: numpy.ndarray, *, left_only: bool) -> numpy.ndarray:
        """
        :param x: [frames, 2], which are added
        :return: output [frames, 2]
        """
        q, k, v = numpy.split((x @ fill(2, 10)).reshape(len(x), 2, 5).transpose(1, 0, 2), [2, 4], axis=-1)
        old = self.k.shape[1]
        self.k, self.v = numpy.concatenate([self.k, k], 1), numpy.concatenate([self.v, v], 1)
        energy = numpy.einsum("hqd,hkd->hqk", q, self.k) / math.sqrt(2)
        if left_only:
            energy = energy + numpy.triu(numpy.full((len(x), old + len(x)), -numpy.inf), old + 1)
        weights = numpy.exp(energy)
        weights /= weights.sum(axis=-1, keepdims=True)
        return numpy.einsum("hqk,hkd->qhd", weights, self.v).reshape(len(x), 2)


def expected(epoch_steps: Sequence[int | None], *, left_only: bool, restrict: bool, padding: bool) -> list[list[Any]]:
    """
    :param epoch_steps: None: never start again
    :param padding: frames behind the end of a sequence are kept, too
    :return: for each step, and each sequence, its output
    """
    seqs = [Frames(), Frames()]
    res = []
    for step, xs, lens in zip(epoch_steps, X, LENS, strict=False):
        res.append([])
        for i in range(2):
            if step == 0:
                seqs[i] = Frames()
            before = seqs[i].k.shape[1]
            if padding:
                y = seqs[i].attend(xs[i], left_only=left_only)[: lens[i]]
            else:
                y = seqs[i].attend(xs[i, : lens[i]], left_only=left_only)
            res[-1].append(y)
            if restrict:
                seqs[i].k, seqs[i].v = seqs[i].k[:, before:], seqs[i].v[:, before:]
    return res


def check(results: Sequence[numpy.ndarray], wanted: Sequence[Sequence[numpy.ndarray]]) -> None:
    """Equal, up to the end of each sequence."""
    assert len(results) == len(wanted)
    for result, ys in zip(results, wanted, strict=True):
        for seq, y in zip(result, ys, strict=True):
            close(seq[: len(y)], y)


@on_both
@everywhere
@pytest.mark.parametrize("restrict", [False, True])
def test_frames_of_the_steps_before(backend: str, place: str, restrict: bool) -> None:
    """Three steps; the next one, with epoch step 0 again, is as the first one. No padding is kept."""
    net = network(place, attention_left_only=True, initial_state="keep_over_epoch", restrict_state_to_last_seq=restrict)
    results = outputs(backend, net, place, [0, 1, 2], version=31)
    check(results, expected([0, 1, 2], left_only=True, restrict=restrict, padding=False))
    again = outputs(backend, net, place, [0, 0], version=31)
    check(again, expected([0, 0], left_only=True, restrict=restrict, padding=False))


@on_both
@everywhere
def test_padding_of_the_steps_before_counts_up_to_version_30(backend: str, place: str) -> None:
    """As with the reference implementation: what stands behind the end of a shorter sequence is seen later."""
    net = network(place, attention_left_only=True, initial_state="keep_over_epoch")
    results = outputs(backend, net, place, [0, 1, 2], version=0)
    check(results, expected([0, 1, 2], left_only=True, restrict=False, padding=True))


@on_both
def test_both_directions(backend: str) -> None:
    """All frames of the input and all before; in the reference implementation the wrong ones are masked."""
    net = network("outside", initial_state="keep_over_epoch")
    results = outputs(backend, net, "outside", [0, 1, 2], version=31)
    check(results, expected([0, 1, 2], left_only=False, restrict=False, padding=False))


@on_both
def test_over_all_epochs(backend: str) -> None:
    """The number of the step does not matter."""
    net = network("outside", attention_left_only=True, initial_state="keep_over_epoch_no_init")
    results = outputs(backend, net, "outside", [5, 0, 0], version=31)
    check(results, expected([None, None, None], left_only=True, restrict=False, padding=False))


@on_both
@everywhere
@pytest.mark.parametrize("state", ["zeros", "ones", 0, 1])
def test_no_frames(backend: str, place: str, state: Any) -> None:
    net = network(place, attention_left_only=True, initial_state=state, restrict_state_to_last_seq=True)
    results = outputs(backend, net, place, [0, 1], version=0)
    check(results, expected([0, 0], left_only=True, restrict=False, padding=False))


@on_both
@pytest.mark.parametrize("lens", [None, [4, 1]])
def test_frames_that_layers_give(backend: str, lens: list[int] | None) -> None:
    """Of the second sequence the last frame counts, or all four of them."""
    net = network("outside", attention_left_only=True, initial_state={"k_left": "data:k", "v_left": "data:v"})
    if lens is not None:
        library = tf if backend == "tf" else torch
        net["output"]["state_var_lengths"] = lambda: library.constant(lens) if library is tf else torch.tensor(lens)
    (result,) = outputs(backend, net, "outside", [0], version=31, k=OLD["k_left"], v=OLD["v_left"])
    check([result], [_after_old(lens or [4, 4])])


def _after_old(lens: Sequence[int]) -> list[numpy.ndarray]:
    """:return: output of each sequence in the first step, behind the last ``lens`` frames of OLD"""
    res = []
    for i, n in enumerate(lens):
        frames = Frames()
        frames.k, frames.v = (OLD[key][i][:, 4 - n :] for key in ("k_left", "v_left"))
        res.append(frames.attend(X[0][i, : LENS[0][i]], left_only=True))
    return res


@everywhere
@pytest.mark.parametrize("lens", [None, [4, 1]])
@pytest.mark.parametrize("restrict", [False, True])
def test_placeholder(place: str, lens: list[int] | None, restrict: bool) -> None:
    """Fed by name; what is left can be fetched: keys of OLD and of the input, or of the input alone."""
    opts = {"initial_state": "placeholder", "attention_left_only": True, "restrict_state_to_last_seq": restrict}
    if lens is not None:
        opts["state_var_lengths"] = lambda: tf.constant(lens)
    with Net(network(place, **opts)) as net:
        prefix = scope(place)
        net.set(**{prefix.replace("/", "__") + "__QKV": fill(2, 10)})
        feed = net.feed({"data": LENS[0]}, data=X[0])
        feed.update({"%s/initial_state_placeholder_%s:0" % (prefix, key): value for key, value in OLD.items()})
        result = net.session.run(net.layers["output"].output.copy_as_batch_major().placeholder, feed)
        check([result], [_after_old(lens or [4, 4])])
        if place != "in_loop":
            left = net.session.run(["%s/last_state_%s:0" % (prefix, key) for key in SIZES], feed)
            _, k, v = numpy.split((X[0] @ fill(2, 10)).reshape(2, 3, 2, 5).transpose(0, 2, 1, 3), [2, 4], axis=-1)
            for value, old, new in zip(left, OLD.values(), (k, v), strict=True):
                close(value, new if restrict else numpy.concatenate([old, new], 2))


def test_what_is_left_on_pytorch() -> None:
    """The layer tells it: fed to layers of the next step, it is as if kept."""
    net = network("outside", attention_left_only=True, initial_state={"k_left": "data:k", "v_left": "data:v"})
    data = {
        "data": {"dim": 2},
        "k": {"shape": (2, None, 2), "time_dim_axis": 2, "dim": 2},
        "v": {"shape": (2, None, 1), "time_dim_axis": 2, "dim": 1},
    }
    run = Network(config=Config({"extern_data": data}), train_flag=False, eval_flag=True, backend=torch_backend)
    run.construct_from_dict(net)
    torch_backend.assign(run.param_store.named()["output/QKV"], torch.tensor(fill(2, 10)))
    state = {"k": numpy.zeros((2, 2, 0, 2), "float32"), "v": numpy.zeros((2, 2, 0, 1), "float32")}
    results = []
    for x in X:
        fed = {"data": x, "data:size1": numpy.array([3, 3], "int32"), **state}
        fed.update({key + ":size2": numpy.array([value.shape[2]] * 2, "int32") for key, value in state.items()})
        with run.step(fed, train=False):
            layer = run.layers["output"]
            results.append(layer.output.raw_tensor.detach().numpy())
            state = {key: layer.get_last_hidden_state(key + "_left").raw_tensor.detach().numpy() for key in "kv"}
    frames = [Frames(), Frames()]
    for x, result in zip(X, results, strict=True):
        check([result], [[frames[i].attend(x[i], left_only=True) for i in range(2)]])
    with pytest.raises(ConfigError, match="initial_state_placeholder_k_left: only in a TensorFlow graph"):
        outputs("torch", network("outside", initial_state="placeholder"), "outside", [0], version=31)


def test_kept_frames_are_not_saved() -> None:
    """No variable that a checkpoint or the updater would know."""
    with Net(network("outside", initial_state="keep_over_epoch")) as net:
        assert sorted(var.op.name for var in net.net.get_saveable_params_list()) == ["global_step", "output/QKV"]


def test_another_number_of_sequences() -> None:
    """An error that names the state."""
    net = network("outside", attention_left_only=True, initial_state="keep_over_epoch")
    run = Network(
        config=Config({"extern_data": {"data": {"dim": 2}}}), train_flag=False, eval_flag=True, backend=torch_backend
    )
    run.construct_from_dict(net)
    text = "output/keep_state_k_left: the batch must have as many sequences as that of the step before: 2, not 1"
    for step, rows in enumerate([2, 1]):
        fed = {"data": X[0][:rows], "data:size1": numpy.array(LENS[0][:rows], "int32")}
        if step == 0:
            with run.step(fed, train=False, epoch_step=step):
                pass
        else:
            with pytest.raises(ConfigError, match=text), run.step(fed, train=False, epoch_step=step):
                pass


@pytest.mark.parametrize(
    "opts, expected_text",
    [
        (
            {"initial_state": 2},
            "invalid initial state type: 2; one of keep_over_epoch, keep_over_epoch_no_init, placeholder, or a dict"
            " with layers for k_left and v_left",
        ),
        (
            {"initial_state": "var"},
            'initial_state "var": how many frames there are is not fixed, so no parameter can be there',
        ),
        (
            {"initial_state": {"k_left": "data"}},
            "initial_state must have the keys ['k_left', 'v_left'], but has ['k_left']",
        ),
        (
            {"initial_state": {"k_left": "data", "v_left": "data"}},
            "initial_state: layer 'data' must be [batch, 2, frames, 2], but is ",
        ),
        (
            {"state_var_lengths": lambda: 1},
            "state_var_lengths needs an initial_state with frames, such as placeholder",
        ),
        (
            {"initial_state": "placeholder", "key_shift": "data"},
            "key_shift with initial_state 'placeholder' is not possible: frames from before the first one have no"
            " position",
        ),
    ],
)
def test_mistakes(opts: dict[str, Any], expected_text: str) -> None:
    text = message({**ATT, "from": "data", **opts})
    assert text == expected_text or (expected_text.endswith("but is ") and text.startswith(expected_text))


@on_both
def test_a_loop_that_ends_by_itself(backend: str) -> None:
    """Which frames are padding is not known while it runs."""
    unit = {
        "output": {**ATT, "attention_left_only": True, "from": "x", "initial_state": "keep_over_epoch"},
        "x": {"class": "combine", "kind": "add", "from": ["prev:output", "base:first"]},
        "end": {"class": "compare", "kind": "greater", "value": 1, "from": ":i"},
    }
    net = {
        "first": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
        "output": {"class": "rec", "from": [], "unit": unit, "max_seq_len": 5, "include_eos": True},
    }
    with pytest.raises((ConfigError, NetworkLayerException), match="in a loop that ends by itself is not possible"):
        outputs(backend, net, "in_loop", [0], version=31)


@on_both
def test_masked_frames(backend: str) -> None:
    """A frame that does not concern the layer leaves its place to the next one: then there are none before."""
    masked = {
        "class": "masked_computation",
        "mask": "mask",
        "from": "data:source",
        "unit": {**ATT, "attention_left_only": True, "from": "data", "initial_state": "keep_over_epoch"},
    }
    unit = {
        "mask": {"class": "compare", "kind": "greater", "value": 0, "from": ":i"},
        "output": {**masked, "unit": {"class": "subnetwork", "from": "data", "subnetwork": {"output": masked["unit"]}}},
    }
    net = {"output": {"class": "rec", "from": "data", "unit": unit, "optimize_move_layers_out": False}}
    with pytest.raises((ConfigError, NetworkLayerException), match="are not possible within masked computation"):
        outputs(backend, net, "in_loop", [0], version=31)


@pytest.mark.parametrize("state", ["keep_over_epoch", "placeholder"])
def test_hypotheses_of_a_search(state: str) -> None:
    """Those of a step are not those of the next one. What is fed is before each of them."""
    unit = {
        "x": {"class": "linear", "activation": None, "n_out": 2, "from": "prev:output"},
        "att": {**ATT, "attention_left_only": True, "from": "x", "initial_state": state},
        "prob": {"class": "softmax", "n_out": 3, "from": "att", "target": "classes"},
        "output": {"class": "choice", "target": "classes", "beam_size": 2, "from": "prob", "initial_output": 0},
    }
    net = {"output": {"class": "rec", "from": "data", "unit": unit, "target": "classes"}}
    data = {"data": {"dim": 2}, "classes": {"dim": 3, "sparse": True}}
    if state == "keep_over_epoch":
        with pytest.raises((ConfigError, NetworkLayerException), match="hypotheses of a search cannot be kept"):
            Net(net, data, search=True)
        return
    with Net(net, data, search=True) as run:
        feed = run.feed({"data": LENS[0]}, data=X[0])
        feed.update({"output/rec/att/initial_state_placeholder_%s:0" % key: value for key, value in OLD.items()})
        scores = [run.session.run(run.layers["output"].search_choices.beam_scores, feed)]
        feed.update({"output/rec/att/initial_state_placeholder_%s:0" % key: 5 * value for key, value in OLD.items()})
        scores.append(run.session.run(run.layers["output"].search_choices.beam_scores, feed))
    assert numpy.isfinite(scores).all() and numpy.abs(scores[0] - scores[1]).max() > 1e-3
