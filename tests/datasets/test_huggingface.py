"""Datasets of the library ``datasets``."""

from __future__ import annotations

import copy
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from returnn.config import Config, global_config_ctx
from returnn.datasets import init_dataset
from returnn.util.errors import UserError

from .reading import read_epoch, tags

os.environ["HF_HUB_OFFLINE"] = "1"
os.environ["HF_DATASETS_DISABLE_PROGRESS_BARS"] = "1"

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),  # of the library
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

_columns = {
    "id": ["utt-a", "utt-b", "utt-c"],
    "text": ["b a", "", "abba"],
    "labels": [[1, 2, 3], [4], [5, 6]],
    "features": [[[1.0, 2.0]] * 3, [[3.0, 4.0]], [[5.0, 6.0]] * 2],
    "duration": [3.5, 0.5, 2.0],
}
_format = {
    "text": {"vocab": {"class": "CharacterTargets", "vocab_file": None, "labels": list("ab "), "unknown_label": None}},
    "labels": {"dim": 10, "sparse": True, "dtype": "int32"},
    "features": {"dim": 2, "shape": (None, 2)},
}


def _rows() -> Any:
    return pytest.importorskip("datasets").Dataset.from_dict(_columns)


def _make(dataset_opts: Any = _rows, **kwargs: Any) -> Any:
    opts = {"class": "HuggingFaceDataset", "name": "x", "dataset_opts": dataset_opts, "data_format": _format}
    return init_dataset({**opts, **kwargs})


@pytest.fixture
def folder(tmp_path: Path) -> str:
    """As save_to_disk writes it."""
    _rows().save_to_disk(str(tmp_path / "saved"))
    return str(tmp_path / "saved")


def _check(dataset: Any) -> None:
    seqs = read_epoch(dataset, 1)
    assert tags(seqs) == _columns["id"]
    assert [seq.data["text"] for seq in seqs] == [[1, 2, 0], [], [0, 1, 1, 0]]
    for key in ("labels", "features"):
        assert [seq.data[key] for seq in seqs] == _columns[key]


def test_rows_from_a_function() -> None:
    dataset = _make()
    _check(dataset)
    assert dataset.get_data_keys() == dataset.get_target_list() == ["text", "labels", "features"]
    assert dataset.num_outputs == {"text": (3, 1), "labels": (10, 1), "features": (2, 2)}
    assert dataset.labels == {"text": ["a", "b", " "]}
    assert [dataset.get_data_dtype(key) for key in dataset.get_data_keys()] == ["int32", "int32", "float32"]
    assert dataset.get_all_tags() == _columns["id"] and dataset.get_total_num_seqs() == 3
    dataset.init_seq_order(1)
    dataset.load_seqs(0, 1)
    assert dataset.get_data(0, "features").dtype == "float32" and dataset.get_data(0, "labels").dtype == "int32"


def test_folder_and_files(folder: str) -> None:
    _check(_make(folder))
    files = [str(path) for path in sorted(Path(folder).glob("*.arrow"))]
    assert files
    _check(_make(files))
    _check(copy.deepcopy(_make(folder)))


def test_load_dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _rows().to_json(str(tmp_path / "rows.jsonl"))
    opts = {"path": "json", "data_files": str(tmp_path / "rows.jsonl"), "cache_dir": str(tmp_path / "cache")}
    _check(_make({**opts, "split": "train"}))
    with pytest.raises(UserError, match="HuggingFaceDataset 'x': dataset_opts gives several splits: 'train'"):
        _make(opts)


def test_file_cache(folder: str, tmp_path: Path) -> None:
    with global_config_ctx(Config({"file_cache_opts": {"cache_directory": str(tmp_path / "cache")}})):
        dataset = _make(folder, use_file_cache=True)
        _check(dataset)
        assert dataset._rows.cache_files[0]["filename"].startswith(str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ["option", "expected"],
    [
        ({"sorting_seq_len_column": "duration"}, ["utt-b", "utt-c", "utt-a"]),
        ({"sorting_seq_len_column_data": "text"}, ["utt-b", "utt-a", "utt-c"]),
        ({"sorting_seq_len_column_data": "features"}, ["utt-b", "utt-c", "utt-a"]),
    ],
)
def test_order_by_length(option: dict[str, str], expected: list[str]) -> None:
    assert tags(read_epoch(_make(seq_ordering="sorted", **option), 1)) == expected


def test_order_by_length_needs_a_column() -> None:
    with pytest.raises(UserError, match="seq_ordering 'sorted' needs the lengths"):
        read_epoch(_make(seq_ordering="sorted"), 1)


def test_changes_of_columns() -> None:
    """map_func, then rename_columns, then cast_columns."""
    hf = pytest.importorskip("datasets")
    dataset = _make(
        map_func=lambda rows: rows.select([2, 0]),
        rename_columns={"labels": "classes"},
        cast_columns={"classes": hf.Sequence(hf.Value("int16"))},
        data_format={"classes": {"dim": 10, "sparse": True, "dtype": "int32"}},
        seq_tag_column=None,
    )
    seqs = read_epoch(dataset, 1)
    assert tags(seqs) == ["seq-0", "seq-1"]
    assert [seq.data["classes"] for seq in seqs] == [[5, 6], [1, 2, 3]]


def test_audio_bytes_that_are_not_decoded() -> None:
    hf = pytest.importorskip("datasets")
    rows = hf.Dataset.from_dict({"id": ["a"], "audio": [{"bytes": b"RIFF", "path": None}]})
    dataset = _make(
        lambda: rows.cast_column("audio", hf.Audio(decode=False)),
        data_format={"audio": {"dim": 256, "sparse": True, "dtype": "uint8"}},
    )
    assert read_epoch(dataset, 1)[0].data["audio"] == list(b"RIFF")


def test_follower_and_workers(folder: str) -> None:
    assert tags(read_epoch(_make(folder), 1, seq_list=["utt-c", "utt-a"])) == ["utt-c", "utt-a"]
    sub = {"class": "HuggingFaceDataset", "dataset_opts": folder, "data_format": _format, "seq_ordering": "reverse"}
    dataset = init_dataset({"class": "MultiProcDataset", "dataset": sub, "num_workers": 2, "buffer_size": 1})
    try:
        assert tags(read_epoch(dataset, 1)) == ["utt-c", "utt-b", "utt-a"]
    finally:
        dataset.finish_epoch(free_resources=True)


@pytest.mark.parametrize(
    ["opts", "message"],
    [
        ({"data_format": {}}, "data_format must name at least one column"),
        ({"data_format": {"label": {"dim": 5}}}, "data_format: there is no column 'label'. Did you mean \"labels\""),
        (
            {"data_format": {"labels": {"dim": 5, "shape": (None, 5)}}},
            "'labels' is declared as float32 with 2 axes, but",
        ),
        ({"data_format": {"text": {"dim": 5, "sparse": True}}}, "'text' is declared as int32 with 1 axes, but"),
        ({"seq_tag_column": "tag"}, "seq_tag_column: there is no column 'tag'"),
        ({"dataset_opts": "no-folder"}, "folder not found: 'no-folder'"),
        ({"dataset_opts": ["no.arrow"]}, "Arrow file not found: 'no.arrow'"),
        ({"dataset_opts": 3}, "dataset_opts must be a dict, a folder, a list of Arrow files, or a function"),
        ({"dataset_opts": lambda: 1 / 0}, r"dataset_opts: ZeroDivisionError"),
    ],
)
def test_bad_options(opts: dict[str, Any], message: str) -> None:
    pytest.importorskip("datasets")
    with pytest.raises(UserError, match=f"HuggingFaceDataset 'x': .*{message}"):
        _make(**opts)


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(UserError, match=r'needs the library "datasets": pip install "returnn\[huggingface\]"'):
        _make("folder")


def test_unknown_text_names_the_sequence() -> None:
    rows = pytest.importorskip("datasets").Dataset.from_dict({"id": ["utt"], "text": ["xyz"]})
    with pytest.raises(UserError, match="HuggingFaceDataset 'x': sequence 'utt': 'text': "):
        read_epoch(_make(lambda: rows, data_format={"text": _format["text"]}), 1)
