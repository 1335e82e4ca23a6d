"""Task ``search`` through the command line."""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from returnn.config import Config
from returnn.datasets import Dataset
from returnn.tasks import search
from returnn.util.errors import ConfigError, UserError
from tests.fake_dataset import FakeDataset
from tests.program import root, run_program, run_python

CONFIG = """
#!rnn.py
use_tensorflow = True
task = "search"
device = "cpu"
dev = {"class": "HDFDataset", "files": ["dev.hdf"]}
eval = {"class": "HDFDataset", "files": ["eval.hdf"]}
extern_data = {"data": {"dim": 3}, "classes": {"dim": 3, "sparse": True}}
network = {
    "decision": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "data", "loss": "edit_distance",
        "target": "classes"},
    "output": {"class": "linear", "from": "data", "activation": None, "n_out": 3, "is_output_layer": True},
}
search_output_layer = "decision"
allow_random_model_init = True
model = "m/net"
batch_size = 1000
log_verbosity = 4
"""


def write_hdf(path: Path, seqs: dict[str, tuple[list[int], list[int]]], labels: list[str]) -> None:
    """
    :param seqs: tag -> the largest feature in each frame of "data"; labels of "classes"
    """
    with h5py.File(path, "w") as f:
        f["seqTags"] = numpy.array([tag.encode("utf8") for tag in seqs])
        f["seqLengths"] = numpy.array([[len(hyp), len(ref)] for hyp, ref in seqs.values()], "int32")
        f["inputs"] = numpy.concatenate([numpy.eye(3, dtype="float32")[hyp] for hyp, _ in seqs.values()])
        f["targets/data/classes"] = numpy.concatenate([numpy.array(ref, "int32") for _, ref in seqs.values()])
        f["targets/labels/classes"] = numpy.array([label.encode("utf8") for label in labels])
        f.require_group("targets/size").attrs["classes"] = (3, 1)
        f.attrs.update(inputPattSize=3, numTimesteps=len(f["inputs"]), numSeqs=len(seqs))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a config, and two datasets."""
    (tmp_path / "my.config").write_text(CONFIG.lstrip())
    a4 = [0, 0, 0, 0]
    write_hdf(
        tmp_path / "eval.hdf",
        {"x/1": (a4, [0, 0, 1]), "x/2": (a4, [0, 0, 0, 0, 1]), "x/3": (a4, [0, 0, 0, 1])},
        ["a", "b", "cc"],
    )
    write_hdf(
        tmp_path / "dev.hdf",
        {"x/1": ([2, 0, 1], [2, 0]), "x/2": ([1, 2, 0, 1, 1, 1], [1, 2, 0, 1, 1]), "it's": ([0], [0, 0, 2, 0])},
        ["a", "b@@", "cc"],
    )
    return tmp_path


@pytest.mark.slow
def test_search(folder: Path) -> None:
    """Hypothesis `a a a a`, references `a a b`, `a a a a b`, `a a a b`: 2 + 1 + 1 errors of 12. The peer's log."""
    log = run_program(root / "rnn.py", "my.config", "++search_output_file", "out.txt", cwd=folder)
    lines = log.splitlines()
    start = lines.index("Search with network on <HDFDataset 'eval' epoch=None>.")
    for line in [
        "Dataset have_corpus_seq_idx == True, i.e. it will be sorted for optimal performance.",
        "Will write outputs to: out.txt",
        *("seq_idx: 0, seq_tag: 'x/1', output 'decision': array([0, 0, 0, 0], dtype=int32)", "  ref: a a b"),
        "  hyp: a a a a",
        *("seq_idx: 1, seq_tag: 'x/2', output 'decision': array([0, 0, 0, 0], dtype=int32)", "  ref: a a a a b"),
        "  hyp: a a a a",
        *("seq_idx: 2, seq_tag: 'x/3', output 'decision': array([0, 0, 0, 0], dtype=int32)", "  ref: a a a b"),
        "  hyp: a a a a",
        "Search done. Num steps 1, Final: score None error 0.3333333432674408",
    ]:
        start = lines.index(line, start + 1)
    assert (folder / "out.txt").read_text() == "a a a a\n" * 3


@pytest.mark.slow
def test_py_file_of_another_dataset(folder: Path) -> None:
    """In the order of the corpus, as the peer writes it; readable by ``literal_eval``. A second run is turned away."""
    args = ["my.config", "++search_data", "dev", "++search_output_file", "out.py", "++search_output_file_format", "py"]
    log = run_program(root / "rnn.py", *args, cwd=folder)
    text = (folder / "out.py").read_text("utf8")
    assert text == "{\n'x/1': 'cc a b@@',\n'x/2': 'b@@ cc a b@@ b@@ b@@',\n\"it's\": 'a',\n}\n"
    assert list(ast.literal_eval(text)) == ["x/1", "x/2", "it's"]
    assert "Search done. Num steps 1, Final: score None error 0.4545454" in log  # (1 + 1 + 3) / 11
    result = run_python(root / "rnn.py", *args, cwd=folder)
    assert result.returncode == 1 and "Traceback" not in result.stdout + result.stderr
    assert "output file 'out.py' exists already. Remove it, or set another `search_output_file`.\n" in result.stdout
    assert (folder / "out.py").read_text("utf8") == text


BEAM_CONFIG = """
network = {
    "enc": {"class": "eval", "from": "data", "eval": "(source(0) - 0.5) * tf.constant([1.0, 2.5, 4.0])"},
    "output": {"class": "rec", "from": "enc", "target": "classes", "unit": {
        "p": {"class": "activation", "activation": "log_softmax", "from": "data:source"},
        "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "p", "input_type": "log_prob",
            "initial_output": 0},
    }},
    "decision": {"class": "decide", "from": "output", "loss": "edit_distance", "target": "classes"},
}
search_output_layer = ["decision", "output"]
search_data = "dev"
search_output_file = "out.py"
search_output_file_format = "py"
"""


@pytest.mark.slow
def test_beam_search(folder: Path) -> None:
    """Three hypotheses a sequence with their scores, and the decision for the best one: those of the peer."""
    with open(folder / "my.config", "a") as f:
        f.write(BEAM_CONFIG)
    log = run_program(root / "rnn.py", "my.config", cwd=folder)
    results = ast.literal_eval((folder / "out.py").read_text())
    expected = {
        "x/1": [(-0.22770326, "cc a b@@"), (-0.38841754, "cc a b@@"), (-0.5491318, "cc a b@@")],
        "x/2": [
            (-0.15897311, "b@@ cc a b@@ b@@ b@@"),
            (-0.40897313, "b@@ cc a b@@ b@@ a"),
            (-0.40897316, "b@@ cc a b@@ a b@@"),
        ],
        "it's": [(-0.32391244, "a"), (-0.64534104, "a"), (-0.9667696, "a")],
    }
    assert list(results) == list(expected)
    for tag, hyps in expected.items():
        assert results[tag]["decision"] == hyps[0][1]
        assert [text for _, text in results[tag]["output"]] == [text for _, text in hyps]
        assert [score for score, _ in results[tag]["output"]] == pytest.approx([score for score, _ in hyps], abs=1e-6)
    assert "  ref: cc a\n  hyp 0, score -0.227703: cc a b@@\n  hyp 1, score -0.388418: cc a b@@\n" in log
    assert "Search done. Num steps 1, Final: score None error 0.4545454" in log


class FakeEngine:
    """Notes what it is told."""

    def __init__(self) -> None:
        self.use_search_flag = False
        self.calls: list[tuple[str, Any]] = []

    def init_network_from_config(self, config: Config, *, dataset: Dataset) -> None:
        self.calls.append(("init", self.use_search_flag, config.int("load_epoch", None), dataset))

    def search(self, dataset: Dataset, **kwargs: Any) -> None:
        self.calls.append(("search", dataset, kwargs))


def run_task(datasets: dict[str, Dataset], **opts: Any) -> list[Any]:
    """
    :return: calls of the engine
    """
    engine = FakeEngine()
    search.run(engine, Config(opts), datasets)
    return engine.calls


def test_defaults() -> None:
    """Of ``eval``, layer ``output``, with references, no file; the network is built for search before that."""
    dataset = FakeDataset()
    assert run_task({"dev": FakeDataset(), "eval": dataset}, epoch=3) == [
        ("init", True, 3, dataset),
        (
            *("search", dataset),
            {"do_eval": True, "output_layer_names": "output", "output_file": None, "output_file_format": "txt"},
        ),
    ]


def test_options_of_the_command_line_are_text() -> None:
    config = Config()
    for key, value in {
        "search_data": "dev",
        "search_do_eval": "0",
        "search_output_layer": "decision,output",
        "search_output_file": "out.gz",
        "search_output_file_format": "py",
    }.items():
        config.add_line(key, value)
    dataset, engine = FakeDataset(), FakeEngine()
    search.run(engine, config, {"dev": dataset})
    assert engine.calls[1] == (
        *("search", dataset),
        {
            **{"do_eval": False, "output_layer_names": ["decision", "output"]},
            **{"output_file": "out.gz", "output_file_format": "py"},
        },
    )


def test_options_of_a_dataset() -> None:
    """Made here; without a name it gets that of the key."""
    opts = {"class": "Task12AXDataset", "num_seqs": 2}
    (_, dataset, _) = run_task({}, search_data=opts)[1]
    assert (type(dataset).__name__, dataset.name) == ("Task12AXDataset", "search_data")
    (_, dataset, _) = run_task({}, search_data="other", eval_datasets={"other": opts})[1]
    assert dataset.name == "other"


def test_no_such_dataset() -> None:
    with pytest.raises(ConfigError, match="search_data = 'eval': the config has no such dataset.*there are \\(dev\\)"):
        run_task({"dev": FakeDataset()})
    with pytest.raises(ConfigError, match='Did you mean "devtest"'):
        run_task({}, search_data="devtets", eval_datasets={"devtest": {}})
    with pytest.raises(UserError, match="^search_data: .*Task12AXDatase"):
        run_task({}, search_data={"class": "Task12AXDatase"})


def test_wrong_file_options_are_told_before_anything_is_built(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("old")
    for opts, message in [
        ({"search_output_file": str(tmp_path / "out")}, "exists already"),
        ({"search_output_file": "out", "search_output_file_format": "json"}, "'json' is unknown"),
        ({"search_output_file": "out", "search_output_layer": ["a", "b"]}, "Text format not supported"),
    ]:
        engine = FakeEngine()
        with pytest.raises(UserError, match=message):
            search.run(engine, Config(opts), {"eval": FakeDataset()})
        assert engine.calls == []
