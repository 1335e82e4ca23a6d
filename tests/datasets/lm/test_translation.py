"""Parallel text. More of it is in the data cases translation and translation_factors."""

from __future__ import annotations

import copy
import gzip
import pickle
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from returnn.datasets.basic import Dataset, init_dataset
from returnn.datasets.hdf import HDFDatasetWriter
from returnn.util.errors import ConfigError, UserError
from tests.datasets.reading import read_epoch, tags
from tests.program import root, run_python


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    vocabs = {
        "source": {"<S>": 0, "</S>": 0, "<UNK>": 1, "a": 2, "b": 3},
        "target": {"</S>": 0, "<UNK>": 1, "A": 2},
        "lemma": {"</S>": 0, "<UNK>": 1, "x": 2, "y": 3},
    }
    for name, vocab in vocabs.items():
        Path(f"{name}.vocab.pkl").write_bytes(pickle.dumps(vocab))
    yield


def translation(source: str, target: str | None = None, cls: str = "TranslationDataset", **opts: Any) -> Dataset:
    """:return: dataset of these texts"""
    Path("source.x").write_text(source)
    if target is not None:
        with gzip.open("target.x.gz", "wt") as f:
            f.write(target)
    more = {"unknown_label": "<UNK>", "name": "tr"}
    return init_dataset({"class": cls, "path": ".", "file_postfix": "x", **more, **opts})


def test_words_and_postfix() -> None:
    """c is not there; <S> and </S> have the same number, of which <S> is the name."""
    dataset = translation("a b|b|c a".replace("|", "\n"), "A\n\nA A\n", source_postfix=" </S>", target_postfix=" </S>")
    seqs = read_epoch(dataset, 1)
    assert [seq.data["data"] for seq in seqs] == [[2, 3, 0], [3, 0], [1, 2, 0]]
    assert [seq.data["classes"] for seq in seqs] == [[2, 0], [0], [2, 2, 0]]
    assert dataset.labels["data"] == ["<S>", "<UNK>", "a", "b"]
    assert (dataset.get_data_dim("data"), dataset.get_data_dim("classes")) == (4, 3)
    assert dataset.get_data_dtype("classes") == "int32" and dataset.get_target_list() == ["classes"]


def test_what_a_meta_dataset_asks_for() -> None:
    dataset = translation("a\nb\na b\n", "A\nA\nA\n", seq_ordering="sorted_reverse")
    assert dataset.get_total_num_seqs() == 3 and list(dataset.get_all_tags()) == ["line-0", "line-1", "line-2"]
    assert tags(read_epoch(dataset, 1)) == ["line-2", "line-0", "line-1"]
    dataset.init_seq_order(1)
    assert list(dataset.get_current_seq_order()) == [2, 0, 1] and dataset.get_corpus_seq_idx(0) == 2
    assert dataset.get_estimated_seq_length(0) == 2
    assert tags(read_epoch(dataset, 1, seq_list=["line-1"])) == ["line-1"]
    assert dataset.get_corpus_seq(2).features["data"].tolist() == [2, 3]
    assert read_epoch(copy.deepcopy(dataset), 1) == read_epoch(dataset, 1)


@pytest.mark.parametrize("entries", ["2\n0\n", "line-2\nline-0\n"])
def test_seq_list_file(entries: str) -> None:
    """Numbers or tags."""
    Path("list").write_text(entries)
    dataset = translation("a\nb\na b\n", "A\nA\nA\n", seq_list_file="list")
    seqs = read_epoch(dataset, 1)
    assert (tags(seqs), list(dataset.get_all_tags())) == (["line-2", "line-0"], ["line-2", "line-0"])
    assert [seq.data["data"] for seq in seqs] == [[2, 3], [2]]
    Path("list").write_text("3\n")
    with pytest.raises(UserError, match="seq_list_file 'list', line 1: '3' is none of line-0 .. line-2"):
        dataset.finish_epoch(free_resources=True)
        dataset.init_seq_order(1)


def test_without_target() -> None:
    """Only the source; with `search_without_reference` the labels of the target are known."""
    for option, dims in (
        ("source_only", {"data": [4, 1]}),
        ("search_without_reference", {"data": [4, 1], "classes": [3, 1]}),
    ):
        dataset = translation("a\n", **{option: True})
        assert (dataset.get_data_keys(), dataset.get_target_list()) == (["data"], [])
        assert dataset.num_outputs == dims
        assert [seq.data for seq in read_epoch(dataset, 1)] == [{"data": [2]}]


def test_factors() -> None:
    """Each part of a word is a key; those of the source are inputs."""
    dataset = translation(
        "a|x b|y\n", "A\n", "TranslationFactorsDataset", source_factors=["lemma"], source_postfix=" </S>"
    )
    assert [seq.data for seq in read_epoch(dataset, 1)] == [{"data": [2, 3, 0], "lemma": [2, 3, 0], "classes": [2]}]
    assert dataset.get_target_list() == ["classes"]
    dataset = translation("a|x b\n", "A\n", "TranslationFactorsDataset", source_factors=["lemma"])
    dataset.init_seq_order(1)
    message = "All words must have all factors. Expected: data|lemma, but there is 'b'"
    with pytest.raises(AssertionError, match=re.escape(message)):
        dataset.load_seqs(0, 1)


def test_confusion_network() -> None:
    """Words with weights, or plain text. No postfix: no further position."""
    opts = {"cls": "ConfusionNetworkDataset", "max_density": 3}
    text = "__ALT__ a|0.75__b|0.25 a|1.0\na b\n"
    seqs = read_epoch(translation(text, "A\nA\n", **opts), 1)
    assert seqs[0].data["sparse_inputs"] == [[2, 3, 0], [2, 0, 0]]
    assert seqs[0].data["sparse_weights"] == [[0.75, 0.25, 0], [1, 0, 0]]
    assert seqs[1].data["sparse_inputs"] == [[2, 0, 0], [3, 0, 0]]
    dataset = translation(text, "A\nA\n", source_postfix=" </S>", **opts)
    assert [seq.data["sparse_inputs"][-1] for seq in read_epoch(dataset, 1)] == [[0, 0, 0], [0, 0, 0]]
    assert [len(seq.data["sparse_inputs"]) for seq in read_epoch(dataset, 1)] == [3, 3]
    assert dataset.get_data_shape("sparse_weights") == [3] and dataset.is_data_sparse("sparse_inputs")
    assert (dataset.get_data_dim("sparse_inputs"), dataset.get_data_dtype("sparse_weights")) == (4, "float32")
    with pytest.raises(UserError, match=r"line-0 .*: expected word\|weight, but there is 'a'"):
        read_epoch(translation("__ALT__ a\n", "A\n", **opts), 1)


def test_unknown_words() -> None:
    dataset = translation("a\na c\n", "A\nA\n", unknown_label={"classes": "<UNK>"})
    dataset.init_seq_order(1)
    with pytest.raises(UserError) as info:
        dataset.load_seqs(0, 2)
    assert str(info.value) == (
        "TranslationDataset 'tr', line-1 ('./source.x', line 2): Can not handle unknown token without unknown_label:"
        " 'c' is not in the vocabulary of 'data'"
    )
    with pytest.raises(ConfigError, match="unknown_label '<unk>' is not in the vocabulary of 'data', which begins"):
        translation("a\n", "A\n", unknown_label="<unk>")


def test_errors() -> None:
    with pytest.raises(UserError, match="must have as many lines, but there are 2 in './source.x' and 1 in"):
        translation("a\na\n", "A\n").init_seq_order(1)
    with pytest.raises(UserError, match="'./source.x' is empty"):
        translation("", "").init_seq_order(1)
    with pytest.raises(ConfigError, match="text file not found: './source.y'"):
        translation("a\n", "A\n", file_postfix="y")
    with pytest.raises(ConfigError, match="path: folder not found: 'nowhere'"):
        translation("a\n", "A\n", path="nowhere")
    Path("source.vocab.pkl").write_bytes(b"x")
    with pytest.raises(ConfigError, match="vocabulary file './source.vocab.pkl': expected a pickled dict"):
        translation("a\n", "A\n")


def _layout(filename: str) -> dict[str, Any]:
    res: dict[str, Any] = {}

    def visit(name: str, item: Any) -> None:
        res[name] = {key: numpy.asarray(value).tolist() for key, value in item.attrs.items()}
        if isinstance(item, h5py.Dataset):
            res[name]["content"] = item[...].tolist()

    with h5py.File(filename) as f:
        visit("", f)
        f.visititems(visit)
    return res


def test_hdf_dump_tool() -> None:
    """The same file as of the dataset."""
    dataset = translation(
        "a|x c|y\nb|x\n",
        "A B\n\n",
        "TranslationFactorsDataset",
        source_factors=["lemma"],
        source_postfix=" </S>",
        target_postfix=" </S>",
    )
    writer = HDFDatasetWriter("expected.hdf")
    writer.dump_from_dataset(dataset, use_progress_bar=False)
    writer.close()
    args = ["-s", "source.x", "-t", "target.x.gz", "-v", "source.vocab.pkl,lemma.vocab.pkl", "-w", "target.vocab.pkl"]
    args += ["--source_factors", "lemma", "-o", "out.hdf", "-n"]
    tool = root / "tools" / "hdf_dump_translation_dataset.py"
    result = run_python(tool, *args, "2", cwd=Path())
    assert result.returncode == 0, result.stderr
    assert _layout("out.hdf") == _layout("expected.hdf")
    assert _layout("out.hdf")["inputs"]["content"] == [2, 1, 0, 3, 0]
    Path("out.hdf").unlink()
    result = run_python(tool, *args, "3", cwd=Path())
    assert result.returncode == 1 and "expected 3 lines (-n), but there are 2" in result.stderr
    assert not Path("out.hdf").exists() and "Traceback" not in result.stderr
