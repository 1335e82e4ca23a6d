"""Texts by tag, as search writes them."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest

from returnn.datasets import init_dataset
from returnn.util.errors import UserError

from .reading import read_epoch, tags

_vocab = {"class": "CharacterTargets", "vocab_file": None, "labels": list("abc '\"\n"), "unknown_label": None}


def _make(path: Path, content: str, **kwargs: Any) -> Any:
    data = content.encode("utf8")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return init_dataset({"class": "TextDictDataset", "name": "x", "filename": str(path), "vocab": _vocab, **kwargs})


def test_scores(tmp_path: Path) -> None:
    """The best of -2, -inf and -0.5 is the last one. Line breaks, both quotes, and escapes are fine."""
    content = """{
        'one': [(-2, 'ab'), (-inf, "c'"), (-0.5, 'b\\'')],
        "two": [
            (1e-3, 'a "b" \\n'),
        ],
    }
    """
    seqs = read_epoch(_make(tmp_path / "x.py.gz", content), 1)
    assert tags(seqs) == ["one", "two"]
    assert seqs[0].data == {
        "data": [1, 4],
        "data_flat": [0, 1, 2, 4, 1, 4],
        "data_seq_lens": [2, 2, 2],
        "scores": [-2.0, -float("inf"), -0.5],
    }
    assert seqs[1].data["data"] == [0, 3, 5, 1, 5, 3, 6]


def test_single(tmp_path: Path) -> None:
    dataset = _make(tmp_path / "x", "{'l': 'abc', 'e': '', 's': 'a'}", item_format="single", seq_ordering="sorted")
    seqs = read_epoch(dataset, 1)
    assert [(seq.tag, seq.data) for seq in seqs] == [
        ("e", {"data": []}),
        ("s", {"data": [0]}),
        ("l", {"data": [0, 1, 2]}),
    ]
    assert tags(read_epoch(dataset, 1, seq_list=["s", "l"])) == ["s", "l"]
    assert dataset.get_all_tags() == ["l", "e", "s"]


@pytest.mark.parametrize("content", ["{}", " {\n}\n"])
def test_empty(tmp_path: Path, content: str) -> None:
    dataset = _make(tmp_path / "x", content)
    dataset.init_seq_order(1)
    assert dataset.num_seqs == 0


@pytest.mark.parametrize(
    ["content", "message"],
    [
        ("['a']", r"x.py must be a Python dict {tag: ...}: \"\['a'\]\""),
        ("{'a': [(1, 'a')],\n'b': [(1, 'a')], c: 3}", r"x.py, line 2: expected 'tag': .*, got 'c: 3}'"),
        ("{'a': [(1, 'a')]", "x.py, line 1: expected 'tag'"),
        ("{'a': 'text'}", "the value of 'a' does not go with item_format 'list_with_scores': 'text'"),
        ("{'a': []}", "the value of 'a' does not go with item_format"),
        ("{'a': [(1, 'x')]}", "TextDictDataset 'x': sequence 'a': .*'x'"),
    ],
)
def test_bad_files(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        read_epoch(_make(tmp_path / "x.py", content), 1)


def test_missing_file_and_wrong_format(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="TextDictDataset 'x': file not found: 'no.py'"):
        init_dataset({"class": "TextDictDataset", "name": "x", "filename": "no.py", "vocab": _vocab})
    with pytest.raises(UserError, match="item_format must be one of list_with_scores, single, but is 'list'"):
        _make(tmp_path / "x", "{}", item_format="list")
