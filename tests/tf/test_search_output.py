"""Hypotheses in order, labels as text, and the files."""

from __future__ import annotations

import ast
import gzip
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from returnn.datasets.static import StaticDataset
from returnn.tensor import Tensor
from returnn.tf.search_output import SearchOutputs, split_beams, text_func_of_data, text_func_of_output
from returnn.util.errors import ConfigError


def ids(*labels: int) -> numpy.ndarray:
    return numpy.array(labels, "int32")


def labels_of(name: str, dim: int) -> Tensor:
    """
    :return: template [B, T] of labels
    """
    return Tensor(name, shape=(None,), sparse=True, dim=dim)


def dataset_with(labels: list[str]) -> StaticDataset:
    dataset = StaticDataset([{"data": ids(0), "classes": ids(0)}], output_dim={"data": (9, 1), "classes": (9, 1)})
    dataset.initialize()
    dataset.labels = {"classes": labels} if labels else {}
    return dataset


def test_rows_of_the_batch_belong_to_their_sequence() -> None:
    """Row b * 2 + k; the best first, whatever its place in the beam; equal ones in the order of the beam."""
    rows = [ids(0), ids(1, 1), ids(2), ids(3), ids(4), ids(5)]
    scores = numpy.array([[-0.5, -2.25], [-3.0, -1.0], [-7.0, -7.0]], "float32")
    seqs = split_beams(rows, scores)
    assert [[(score, row.tolist()) for score, row in seq] for seq in seqs] == [
        [(-0.5, [0]), (-2.25, [1, 1])],
        [(-1.0, [3]), (-3.0, [2])],
        [(-7.0, [4]), (-7.0, [5])],
    ]


def test_scores_are_plain_numbers() -> None:
    """0.1 in single precision is written as 0.1, not as 0.10000000149 or np.float32(0.1)."""
    ((hyp,),) = split_beams([ids(0)], numpy.array([[0.1]], "float32"))
    assert type(hyp[0]) is float and repr(hyp[0]) == "0.1"


def test_rows_must_be_those_of_the_beam() -> None:
    with pytest.raises(AssertionError, match=r"3 rows are not 2 sequences \* beam 2"):
        split_beams([ids(0)] * 3, numpy.zeros((2, 2), "float32"))


# Text


def text_of(labels: numpy.ndarray, *, dim: int, names: list[str], output_vocab: Any = None, vocab: Any = None) -> Any:
    """
    :return: text of the labels of an output with this dim, if the dataset has ``names`` for the target; None if nobody
        knows names
    """
    output, target = labels_of("output", dim), labels_of("classes", 3)
    output.sparse_dim.vocab, target.sparse_dim.vocab = output_vocab, vocab
    func = text_func_of_output(output, target, "classes", dataset_with(names))
    return func and func(labels)


class Vocab:
    """Of three labels, each with a prefix."""

    num_labels = 3

    def __init__(self, prefix: str):
        self.prefix = prefix

    def get_seq_labels(self, labels: numpy.ndarray) -> str:
        return " ".join("%s%i" % (self.prefix, i) for i in labels)


def test_labels_are_those_of_the_dataset() -> None:
    """Blanks between words and sub-words, which are not merged; none between single characters."""
    assert text_of(ids(2, 1, 0), dim=3, names=["a", "b@@", "cc"]) == "cc b@@ a"
    assert text_of(ids(2, 1, 0), dim=3, names=["a", "b", "c"]) == "cba"
    assert text_of(ids(), dim=3, names=["a", "b@@", "cc"]) == ""
    assert text_of(numpy.array(1, "int32"), dim=3, names=["a", "b@@", "cc"]) == "b@@"


def test_vocabularies_come_before_the_dataset() -> None:
    names = ["a", "b@@", "cc"]
    assert text_of(ids(2, 1), dim=3, names=names, vocab=Vocab("t")) == "t2 t1"
    assert text_of(ids(2, 1), dim=3, names=names, vocab=Vocab("t"), output_vocab=Vocab("o")) == "o2 o1"


def test_256_classes_are_bytes() -> None:
    """UTF-8; what is no UTF-8 becomes a replacement character."""
    assert text_of(ids(*"hé\nb".encode()), dim=256, names=[]) == "hé\nb"
    assert text_of(ids(0xFF, 0x41), dim=256, names=["a", "b@@", "cc"]) == "\ufffdA"


def test_no_names() -> None:
    """Nobody knows any, or not for all classes: four of them, and names of three."""
    assert text_of(ids(0), dim=3, names=[]) is None
    assert text_of(ids(0), dim=4, names=["a", "b", "c"]) is None
    assert text_of(ids(0), dim=4, names=[], vocab=Vocab("t")) is None
    func = text_func_of_output(labels_of("output", 3), None, None, dataset_with(["a", "b", "c"]))
    assert func is None


def test_text_of_the_reference() -> None:
    func = text_func_of_data(labels_of("classes", 3), "classes", dataset_with(["a", "b@@", "cc"]))
    assert func is not None and func(ids(0, 2)) == "a cc"
    assert text_func_of_data(labels_of("classes", 3), "classes", dataset_with([])) is None
    dense = SimpleNamespace(sparse=False)
    assert text_func_of_data(dense, "classes", dataset_with(["a", "b"])) is None


# Files


def write(tmp_path: Path, file_format: str, values: list[Any], *, name: str = "out") -> str:
    """
    :return: content of the file with these values for x/0, x/1, ..., which were added from the last to the first
    """
    outputs = SearchOutputs()
    for i in reversed(range(len(values))):
        outputs.add(10 * i, "x/%i" % i, values[i])
    outputs.write(str(tmp_path / name), file_format)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    return (tmp_path / name).read_text("utf8")


def test_txt(tmp_path: Path) -> None:
    """A line a sequence: text, or a list of (score, text)."""
    beam = [(-0.25, "a b@@"), (-math.inf, "it's")]
    content = write(tmp_path, "txt", ["hé a", "", beam, "two\nlines", numpy.array([[0.5, 1], [2, 3]], "float32")])
    assert content.split("\n") == [
        *("hé a", "", """[(-0.25, 'a b@@'), (float('-inf'), "it's")]""", "two lines", "[[0.5 1. ] [2.  3. ]]"),
        "",
    ]


def test_py(tmp_path: Path) -> None:
    """Byte by byte as existing files have it, but for its np.float32(...)."""
    beam = [(-0.22770326, "cc a b@@"), (-0.38841754, "it's")]
    content = write(tmp_path, "py", ["cc a b@@", beam])
    assert content == "{\n'x/0': 'cc a b@@',\n'x/1': [\n(-0.22770326, 'cc a b@@'),\n(-0.38841754, \"it's\"),\n],\n}\n"
    assert ast.literal_eval(content) == {"x/0": "cc a b@@", "x/1": beam}


def test_py_of_several_layers(tmp_path: Path) -> None:
    """Byte by byte as existing files have it. Arrays are whole, also long ones."""
    array = numpy.array([[0.5, 1], [2, 3]], "float32")
    content = write(tmp_path, "py", [{"decision": "a", "output": [(-1.0, "a")], "enc": array}])
    assert content == (
        "{\n'x/0': {\n'decision': 'a',\n'output': [\n(-1.0, 'a'),\n],\n"
        "'enc': array([[0.5, 1. ],\n       [2. , 3. ]], dtype=float32),\n},\n}\n"
    )
    (tmp_path / "out").unlink()
    content = write(tmp_path, "py", [numpy.arange(2000)])
    value = eval(content, {"array": numpy.array})["x/0"]
    assert value.tolist() == list(range(2000))


def test_gz_is_packed_and_the_same_each_time(tmp_path: Path) -> None:
    packed = []
    for name in ("out.gz", "again.gz"):
        outputs = SearchOutputs()
        outputs.add(0, "x/0", "a é")
        outputs.write(str(tmp_path / name), "txt")
        packed.append((tmp_path / name).read_bytes())
    assert packed[0] == packed[1] and gzip.decompress(packed[0]).decode("utf8") == "a é\n"


def test_a_sequence_comes_only_once() -> None:
    outputs = SearchOutputs()
    outputs.add(0, "x/0", "a")
    with pytest.raises(ConfigError, match="sequence 'x/0' comes twice, whole or in pieces"):
        outputs.add(0, "x/0", "b")
