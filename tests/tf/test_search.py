"""Recognition of a dataset: what is logged and written, in which order, and what is told if it cannot be done."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.datasets.basic import Dataset, DatasetSeq
from returnn.datasets.cached2 import CachedDataset2
from returnn.datasets.static import StaticDataset
from returnn.layers import registry
from returnn.log import log
from returnn.tf.compat import tf
from returnn.tf.engine import Engine
from returnn.tf.layers.basic import (
    LayerBase,
    SearchChoices,
    _ConcatInputLayer,
    get_concat_sources_data_template,
    get_layer_class_name_list,
    register_layer_class,
)
from returnn.tf.util.data import SearchBeam
from returnn.util.errors import ConfigError, UserError

NAMES = ["a", "b@@", "cc"]
HYPS = [[2, 0, 1], [1, 2, 0, 1, 1, 1], [0]]
REFS = [[2, 0], [1, 2, 0, 1, 1], [0, 0, 2, 0]]
"""Distances 1, 1, 3; 11 labels."""

DECISION = {
    "class": "reduce", "mode": "argmax", "axis": "F", "from": "data", "loss": "edit_distance", "target": "classes",
}  # fmt: skip


class TwoBestLayer(_ConcatInputLayer):
    """Hypothesis 0: label 0 in each frame, score -5. Hypothesis 1: the best label of each frame, score -length."""

    layer_class = "two_best"

    def __init__(self, with_scores: bool = True, **kwargs: Any):
        super().__init__(**kwargs)
        best = tf.argmax(self.input_data.copy_as_batch_major().placeholder, axis=2, output_type=tf.int32)
        shape = tf.shape(best)
        self.output.placeholder = tf.reshape(tf.stack([tf.zeros_like(best), best], axis=1), (shape[0] * 2, shape[1]))
        if with_scores:
            lens = tf.cast(self.input_data.get_sequence_lengths(), "float32")
            self.search_choices = SearchChoices(owner=self, beam_size=2)
            self.search_choices.set_beam_scores(tf.stack([tf.fill([shape[0]], -5.0), -lens], axis=1))

    @classmethod
    def get_out_data_from_opts(cls, name: str, sources: list[LayerBase], **kwargs: Any) -> Any:
        data = get_concat_sources_data_template(sources, name=name + "_output")
        out = data.copy_template_excluding_axis(data.feature_dim_axis)
        out.dtype, out.sparse_dim = "int32", data.feature_dim
        out.beam = SearchBeam(2, name=name)
        return out


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the layer above, for one test."""
    get_layer_class_name_list()  # the built-in ones stay
    monkeypatch.setattr(registry, "_classes", dict(registry._classes))
    register_layer_class(TwoBestLayer)


@pytest.fixture(autouse=True)
def log_all() -> Iterator[None]:
    log.initialize([], [5])
    yield
    log.initialize([], [3])


def make_dataset(
    hyps: Sequence[Sequence[int]] = HYPS,
    refs: Sequence[Sequence[int]] | None = REFS,
    *,
    names: list[str] | None = NAMES,
    **kwargs: Any,
) -> StaticDataset:
    """
    :param hyps: the largest of three features, in each frame
    :param refs: None: no key "classes"
    :param names: of the labels
    """
    seqs = [{"data": numpy.eye(3, dtype="float32")[list(hyp)]} for hyp in hyps]
    for seq, ref in zip(seqs, refs or (), strict=False):
        seq["classes"] = numpy.array(ref, "int32")
    dims = {"data": (3, 2), "classes": (3, 1)} if refs else {"data": (3, 2)}
    dataset = StaticDataset(seqs, output_dim=dims, name="eval", **kwargs)
    dataset.initialize()
    dataset.labels = {"classes": names} if names else {}
    return dataset


MakeEngine = Callable[..., Engine]


@pytest.fixture
def make_engine() -> Iterator[MakeEngine]:
    engines: list[Engine] = []

    def make(network: dict[str, Any] | None = None, **opts: Any) -> Engine:
        """
        :return: built for search; layers "decision" and "enc"
        """
        default = {"decision": DECISION, "enc": {"class": "copy", "from": "data", "is_output_layer": True}}
        config = Config(
            {
                **{"task": "search", "device": "cpu", "allow_random_model_init": True, "tf_log_dir": None},
                "extern_data": {"data": {"dim": 3}, "classes": {"dim": 3, "sparse": True}},
                **{"network": network or default, "batch_size": 100},
                **opts,
            }
        )
        engine = Engine(config)
        engines.append(engine)
        engine.use_search_flag = True
        engine.init_network_from_config(config)
        return engine

    yield make
    for engine in engines:
        engine.finalize()


def searched(capsys: pytest.CaptureFixture[str]) -> list[str]:
    """
    :return: lines of the log about sequences, from the first on
    """
    pattern = re.compile(r"seq_idx: |  ref: |  hyp[ :]")
    return [line for line in capsys.readouterr().out.splitlines() if pattern.match(line)]


def test_log(make_engine: MakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a file in the order of the dataset; error (1 + 1 + 3) / 11. No step carries more than one sequence."""
    engine = make_engine(max_seqs=1)
    engine.search(make_dataset(), output_layer_names="decision")
    out = capsys.readouterr().out.splitlines()
    assert out[out.index("Search with network on <StaticDataset 'eval' epoch=None>.") + 1] == (
        "Given output %r is after decision (no beam)." % engine.network.layers["decision"]
    )
    assert [line for line in out if line.startswith(("seq_idx", "  "))][-9:] == [
        "seq_idx: 0, seq_tag: 'seq-0', output 'decision': array([2, 0, 1], dtype=int32)",
        "  ref: cc a",
        "  hyp: cc a b@@",
        "seq_idx: 1, seq_tag: 'seq-1', output 'decision': array([1, 2, 0, 1, 1, 1], dtype=int32)",
        "  ref: b@@ cc a b@@ b@@",
        "  hyp: b@@ cc a b@@ b@@ b@@",
        "seq_idx: 2, seq_tag: 'seq-2', output 'decision': array([0], dtype=int32)",
        "  ref: a a cc a",
        "  hyp: a",
    ]
    done = re.fullmatch(r"Search done\. Num steps 3, Final: score None error (.*)", out[-1])
    assert done and float(done.group(1)) == pytest.approx(5 / 11)


def test_file_is_in_the_order_of_the_corpus(
    make_engine: MakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The longest come first in the search. The order of the dataset is its own again afterwards."""
    dataset = make_dataset(seq_ordering="random")
    path = tmp_path / "out.txt"
    make_engine().search(dataset, output_layer_names="decision", output_file=str(path))
    assert path.read_text() == "cc a b@@\nb@@ cc a b@@ b@@ b@@\na\n"
    out = capsys.readouterr().out
    assert "Dataset have_corpus_seq_idx == True, i.e. it will be sorted for optimal performance.\n" in out
    assert "Will write outputs to: %s\n" % path in out
    assert re.findall(r"seq_tag: '(.*)',", out) == ["seq-1", "seq-0", "seq-2"]
    assert dataset.seq_ordering == "random"


class DatasetWithoutLengths(CachedDataset2):
    """Knows how many sequences there are, and nothing else before they are loaded."""

    def __init__(self, *, knows_corpus: bool, **kwargs: Any):
        super().__init__(**kwargs)
        self.num_inputs, self.num_outputs = 3, {"data": (3, 2), "classes": (3, 1)}
        self.labels = {"classes": NAMES}
        self._knows_corpus = knows_corpus
        self._order: Sequence[int] = ()

    def init_seq_order(self, epoch: int | None = None, seq_list: Any = None, seq_order: Any = None) -> bool:
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._order = self.get_seq_order_for_epoch(epoch, len(HYPS))
        self._num_seqs = len(self._order)
        return True

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self._num_seqs:
            return None
        i = self._order[seq_idx]
        data = numpy.eye(3, dtype="float32")[HYPS[i]]
        return DatasetSeq(seq_idx, {"data": data, "classes": numpy.array(REFS[i], "int32")})

    def have_corpus_seq_idx(self) -> bool:
        return self._knows_corpus

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        return int(self._order[seq_idx])


@pytest.mark.parametrize(
    ("knows_corpus", "line"),
    [
        (False, "Dataset have_corpus_seq_idx == False, i.e. it will not be sorted for optimal performance.\n"),
        (True, "Dataset have_corpus_seq_idx == True, but lengths are not known before, i.e. it will not be sorted.\n"),
    ],
)
def test_datasets_that_know_less(
    make_engine: MakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str], *, knows_corpus: bool, line: str
) -> None:
    """Corpus indices without lengths are no reason to give up; without both the order is the default one."""
    dataset = DatasetWithoutLengths(knows_corpus=knows_corpus, seq_ordering="random", name="eval")
    dataset.initialize()
    path = tmp_path / "out.txt"
    make_engine().search(dataset, output_layer_names="decision", output_file=str(path))
    assert path.read_text() == "cc a b@@\nb@@ cc a b@@ b@@ b@@\na\n"
    assert line in capsys.readouterr().out


@pytest.mark.parametrize("batch_size", [100, {"classes": 6, "data": 7}])
def test_limits_of_training_do_not_count(make_engine: MakeEngine, tmp_path: Path, *, batch_size: Any) -> None:
    """max_seq_length leaves none out."""
    engine = make_engine(max_seq_length=2, batch_size=batch_size)
    engine.search(make_dataset(), output_layer_names="decision", output_file=str(tmp_path / "out.txt"))
    assert len((tmp_path / "out.txt").read_text().splitlines()) == 3


def test_max_seq_length_is_noted(make_engine: MakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    note = "Note: max_seq_length has no effect in search, no sequence is left out.\n"
    make_engine(max_seq_length=2).search(make_dataset(), output_layer_names="decision")
    assert note in capsys.readouterr().out
    make_engine(max_seq_length=0).search(make_dataset(), output_layer_names="decision")
    assert note not in capsys.readouterr().out


def test_sequences_without_frames_have_a_line(
    make_engine: MakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Else the lines behind would belong to others. The log names them."""
    network = {"decision": DECISION, "best": {"class": "two_best", "from": "data", "is_output_layer": True}}
    dataset = make_dataset([[0], [], [2, 1], []], [[0], [1], [2], [0]])
    engine = make_engine(network)
    engine.search(dataset, output_layer_names="decision", output_file=str(tmp_path / "out.txt"))
    assert (tmp_path / "out.txt").read_text() == "a\n\ncc b@@\n\n"
    out = capsys.readouterr().out
    assert "warning: nothing to search in sequences without frames: seq-1, seq-3\n" in out
    engine.search(dataset, output_layer_names=["best"], output_file=str(tmp_path / "out.py"), output_file_format="py")
    assert eval((tmp_path / "out.py").read_text())["seq-1"] == {"best": []}


def test_dense_output_and_several_layers(
    make_engine: MakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Frames as they are, without padding; no reference beside them. A dict by layer for each sequence."""
    path = tmp_path / "out.py.gz"
    make_engine().search(
        make_dataset(),
        output_layer_names=["decision", "enc"],
        output_file=str(path),
        output_file_format="py",
    )
    values = eval(gzip.decompress(path.read_bytes()), {"array": numpy.array, "float32": "float32"})
    assert list(values) == ["seq-0", "seq-1", "seq-2"]
    assert [value["decision"] for value in values.values()] == ["cc a b@@", "b@@ cc a b@@ b@@ b@@", "a"]
    for value, hyp in zip(values.values(), HYPS, strict=True):
        numpy.testing.assert_array_equal(value["enc"], numpy.eye(3)[hyp])
    assert searched(capsys)[-2:] == [
        "seq_idx: 2, seq_tag: 'seq-2', output 'enc': array([[1., 0., 0.]], dtype=float32)",
        "  hyp: [[1. 0. 0.]]",
    ]


# Beams


BEST = {"best": {"class": "two_best", "from": "data", "is_output_layer": True}}
BEST_FILE = """{
'seq-0': [
(-3.0, 'cc a b@@'),
(-5.0, 'a a a'),
],
'seq-1': [
(-5.0, 'a a a a a a'),
(-6.0, 'b@@ cc a b@@ b@@ b@@'),
],
'seq-2': [
(-1.0, 'a'),
(-5.0, 'a'),
],
}
"""


def test_beam(make_engine: MakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The lengths are 3, 6, 1, so the scores -3, -6, -1 of one hypothesis, -5 of the other; the best first."""
    engine = make_engine(BEST)
    path = tmp_path / "out.py"
    engine.search(make_dataset(), output_layer_names="best", output_file=str(path), output_file_format="py")
    assert path.read_text() == BEST_FILE
    out = capsys.readouterr().out
    assert "Given output %r has beam Beam{'best'}(2).\n" % engine.network.layers["best"] in out
    assert (
        "seq_idx: 1, seq_tag: 'seq-0', outputs 'best':"
        " [array([2, 0, 1], dtype=int32), array([0, 0, 0], dtype=int32)]\n"
        "  ref: cc a\n"
        "  hyp 0, score -3.000000: cc a b@@\n"
        "  hyp 1, score -5.000000: a a a\n"
    ) in out


def test_beam_as_txt(make_engine: MakeEngine, tmp_path: Path) -> None:
    make_engine(BEST).search(make_dataset(), output_layer_names="best", output_file=str(tmp_path / "out"))
    lines = (tmp_path / "out").read_text().splitlines()
    assert lines[0] == "[(-3.0, 'cc a b@@'), (-5.0, 'a a a')]" and len(lines) == 3


def test_beam_without_scores(make_engine: MakeEngine) -> None:
    engine = make_engine({"best": {**BEST["best"], "with_scores": False}})
    with pytest.raises(ConfigError, match="the output of layer 'best' has a beam, .* but no scores"):
        engine.search(make_dataset(), output_layer_names="best")


# References


def test_without_references(make_engine: MakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    """The losses need them: told so, and what to do."""
    dataset = make_dataset(refs=None)
    engine = make_engine()
    with pytest.raises(ConfigError, match="has no data key 'classes', which the losses need. Set search_do_eval"):
        engine.search(dataset, output_layer_names="decision")
    capsys.readouterr()
    engine.search(dataset, do_eval=False, output_layer_names="decision")
    out = capsys.readouterr().out
    assert "Search done. Num steps 1, Final: score None error None\n" in out
    assert "  ref:" not in out and out.count("  hyp:") == 3


def test_reference_that_no_loss_needs(make_engine: MakeEngine, capsys: pytest.CaptureFixture[str]) -> None:
    """That of the default target, if the dataset has it."""
    network = {"decision": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "data", "is_output_layer": True}}
    make_engine(network).search(make_dataset(), output_layer_names="decision")
    assert searched(capsys)[1:3] == ["  ref: cc a", "  hyp: cc a b@@"]
    make_engine(network).search(make_dataset(refs=None), output_layer_names="decision")
    assert searched(capsys)[1] == "  hyp: cc a b@@"


def test_labels_without_names(make_engine: MakeEngine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Enough for an error rate, not for a file."""
    engine, dataset = make_engine(), make_dataset(names=None)
    engine.search(dataset, output_layer_names="decision")
    assert searched(capsys)[:2] == [
        "seq_idx: 0, seq_tag: 'seq-0', output 'decision': array([2, 0, 1], dtype=int32)",
        "seq_idx: 1, seq_tag: 'seq-1', output 'decision': array([1, 2, 0, 1, 1, 1], dtype=int32)",
    ]
    with pytest.raises(ConfigError, match="Unable to serialize sparse output of layer 'decision'. It has 3 classes"):
        engine.search(dataset, output_layer_names="decision", output_file=str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


# Errors


def test_unknown_layer(make_engine: MakeEngine) -> None:
    with pytest.raises(ConfigError, match="output layer 'dec' not found, available layers: .*decision"):
        make_engine().search(make_dataset(), output_layer_names="dec")
    network = {"decision": DECISION, "unused": {"class": "copy", "from": "data"}}
    with pytest.raises(ConfigError, match="output layer 'unused' not found.* set is_output_layer = True in it"):
        make_engine(network).search(make_dataset(), output_layer_names="unused")


def test_nothing_is_written_after_an_error(make_engine: MakeEngine, tmp_path: Path) -> None:
    dataset = make_dataset()

    def fail(*_args: Any) -> numpy.ndarray:
        raise OSError("disk gone")

    dataset.get_data_slice = fail
    with pytest.raises(OSError, match="disk gone"):
        make_engine().search(dataset, output_layer_names="decision", output_file=str(tmp_path / "out"))
    assert list(tmp_path.iterdir()) == [] and dataset.seq_ordering == "default"


def test_existing_file_is_kept(make_engine: MakeEngine, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    with pytest.raises(UserError, match="exists already"):
        make_engine().search(make_dataset(), output_layer_names="decision", output_file=str(tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "old"


def test_events_go_into_a_folder_of_their_own(make_engine: MakeEngine, tmp_path: Path) -> None:
    """Not into that of evaluations."""
    make_engine(tf_log_dir=str(tmp_path)).search(make_dataset(), output_layer_names="decision")
    (folder,) = tmp_path.iterdir()
    assert folder.name.startswith("eval-1-search-20")


# One sequence


def started(dataset: Dataset) -> Dataset:
    dataset.init_seq_order(epoch=1)
    return dataset


def as_lists(hyps: Sequence[tuple[float, numpy.ndarray]]) -> list[tuple[float, list[int]]]:
    return [(score, labels.tolist()) for score, labels in hyps]


def test_search_single(make_engine: MakeEngine) -> None:
    """(score, labels), the best first; one without a beam."""
    engine = make_engine({"decision": DECISION, **BEST}, search_output_layer="best")
    expected = [(-3.0, [2, 0, 1]), (-5.0, [0, 0, 0])]
    assert as_lists(engine.search_single(started(make_dataset()), 0, "best")) == expected
    assert as_lists(engine.search_single(started(make_dataset()), 0)) == expected
    assert as_lists(engine.search_single(started(make_dataset()), 0, "decision")) == [(0.0, [2, 0, 1])]


def test_search_single_seq(make_engine: MakeEngine) -> None:
    """All of the first sequence, then all of the second."""
    sources = [numpy.eye(3, dtype="float32")[hyp] for hyp in ([2, 0, 1], [1])]
    hyps = make_engine(BEST).search_single_seq(sources, "best")
    assert as_lists(hyps) == [(-3.0, [2, 0, 1]), (-5.0, [0, 0, 0]), (-1.0, [1]), (-5.0, [0])]


class Vocab:
    """Letters."""

    num_labels = 3
    labels = ["x", "y", "z"]

    def get_seq(self, text: str) -> list[int]:
        return ["xyz".index(c) for c in text]

    def get_seq_labels(self, labels: numpy.ndarray) -> str:
        return "".join("xyz"[i] for i in labels)


def test_search_single_string_to_string_seq(make_engine: MakeEngine) -> None:
    """One hot vectors of the labels, and the label of each."""
    network = {
        "one_hot": {"class": "eval", "from": "data", "eval": "tf.one_hot(source(0)[..., 0], 3)", "out_type": {
            "shape": (None, 3), "dim": 3, "sparse": False, "dtype": "float32", "sparse_dim": None,
            "feature_dim_axis": -1}},
        "best": {"class": "two_best", "from": "one_hot", "is_output_layer": True, "target": "classes"},
    }  # fmt: skip
    data = {"dim": 3, "sparse": True, "vocab": Vocab()}
    engine = make_engine(network, extern_data={"data": data, "classes": data})
    assert engine.search_single_string_to_string_seq("zy", "best") == [(-2.0, "zy"), (-5.0, "xx")]
    assert engine.search_single_string_to_string_seq(["zy", "y"], "best")[2:] == [(-1.0, "y"), (-5.0, "x")]
    with pytest.raises(ConfigError, match=r"extern_data\['data'\] has no vocabulary"):
        make_engine().search_single_string_to_string_seq("zy", "decision")
