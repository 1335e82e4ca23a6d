"""ConcatSeqsDataset: sequences glued together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.datasets.basic import init_dataset
from returnn.util.errors import ConfigError, UserError

from ..reading import read_epoch, tags


def options(folder: Path, data: list[dict[str, list[int]]], lines: str, **more: Any) -> dict[str, Any]:
    """Tags of the single sequences are seq-0, seq-1, ...; lengths are those of data."""
    (folder / "list").write_text(lines)
    (folder / "lens").write_text(repr({f"seq-{i}": len(seq["data"]) for i, seq in enumerate(data)}))
    arrays = [{key: numpy.array(value, dtype="int32") for key, value in seq.items()} for seq in data]
    return {
        "class": "ConcatSeqsDataset",
        "name": "cs",
        "dataset": {"class": "StaticDataset", "data": arrays},
        "seq_list_file": str(folder / "list"),
        "seq_len_file": str(folder / "lens"),
        **more,
    }


def data_of(opts: dict[str, Any], key: str = "data") -> list[list[int]]:
    """:return: of epoch 1"""
    return [seq.data[key] for seq in read_epoch(init_dataset(opts), 1)]


singles = [{"data": [0]}, {"data": [1, 1]}, {"data": [2, 2, 2]}]


def test_glue(tmp_path: Path) -> None:
    """[0] and [2 2 2]; [1 1]."""
    opts = options(tmp_path, singles, "seq-0;seq-2\nseq-1\n")
    dataset = init_dataset(opts)
    seqs = read_epoch(dataset, 1)
    assert [seq.data["data"] for seq in seqs] == [[0, 2, 2, 2], [1, 1]]
    assert tags(seqs) == dataset.get_all_tags() == ["seq-0;seq-2", "seq-1"]
    assert data_of({**opts, "seq_ordering": "sorted"}) == [[1, 1], [0, 2, 2, 2]]


def test_repeat(tmp_path: Path) -> None:
    """The last frame of all but the last sequence, up to a multiple of 3; or of 5."""
    option = "repeat_in_between_last_frame_up_to_multiple_of"
    opts = options(tmp_path, singles, "seq-0;seq-2\nseq-1\n", seq_ordering="sorted", **{option: {"data": 3}})
    assert data_of(opts) == [[1, 1], [0, 0, 0, 2, 2, 2]]
    opts = options(tmp_path, [{"data": [1, 2]}, {"data": [1, 2, 3]}], "seq-0;seq-1;seq-1", **{option: {"data": 5}})
    assert data_of(opts) == [[1, 2, 2, 2, 2, 1, 2, 3, 3, 3, 1, 2, 3]]


def test_postfix(tmp_path: Path) -> None:
    """Label 9 at the end of all but the last sequence is dropped; it must be there."""
    seqs = [{"data": [1, 9]}, {"data": [2, 9]}, {"data": [3, 4]}]
    opts = options(tmp_path, seqs, "seq-0;seq-1", remove_in_between_postfix={"data": 9})
    assert data_of(opts) == [[1, 2, 9]]
    opts = options(tmp_path, seqs, "seq-2;seq-1", remove_in_between_postfix={"data": 9})
    with pytest.raises(UserError, match=r"'data' of the sequence 'seq-2' should end with the label 9.*end is \[3, 4\]"):
        data_of(opts)


def test_pad(tmp_path: Path) -> None:
    """Two frames for each label that is there, before the postfix goes: 3 -> 2, 2 -> 4; the last one as it is."""
    seqs = [{"data": [1, 2, 3], "classes": [9]}, {"data": [4, 5], "classes": [8, 9]}]
    more = {
        "remove_in_between_postfix": {"classes": 9},
        "pad_narrow_data_to_multiple_of_target_len": {"data": ("classes", 2)},
    }
    opts = options(tmp_path, seqs, "seq-0;seq-1;seq-0", **more)
    assert data_of(opts) == [[1, 2, 4, 5, 5, 5, 1, 2, 3]] and data_of(opts, "classes") == [[8, 9]]


def test_epoch_wise_filter(tmp_path: Path) -> None:
    """Lengths 4 and 2: only the shorter one in epoch 1."""
    filters = {(1, 1): {"max_mean_len": 2}}
    dataset = init_dataset(options(tmp_path, singles, "seq-0;seq-2\nseq-1\n", epoch_wise_filter=filters))
    assert [len(read_epoch(dataset, epoch)) for epoch in (1, 2)] == [1, 2]


def test_order_and_given_lists(tmp_path: Path) -> None:
    """Joined tags, or numbers of lines."""
    opts = options(tmp_path, singles, "seq-0|seq-2\nseq-1\nseq-2\n", seq_tag_delim="|", seq_ordering="random")
    dataset = init_dataset(opts)
    dataset.init_seq_order(1)
    order = [dataset.get_corpus_seq_idx(i) for i in range(3)]
    assert [dataset.get_tag(i) for i in range(3)] == [dataset.get_all_tags()[i] for i in order]
    assert tags(read_epoch(dataset, 1, seq_list=["seq-2", "seq-0|seq-2"])) == ["seq-2", "seq-0|seq-2"]
    assert tags(read_epoch(dataset, 1, seq_order=[1])) == ["seq-1"]
    shards = [init_dataset({**opts, "_num_shards": 2, "_shard_index": i}) for i in range(2)]
    assert sorted(tag for shard in shards for tag in tags(read_epoch(shard, 1))) == sorted(dataset.get_all_tags())


@pytest.mark.parametrize(
    "more,message",
    [
        ({"seq_tag_delim": ""}, "seq_tag_delim must not be empty"),
        (
            {"remove_in_between_postfix": {"x": 1}},
            "remove_in_between_postfix has the data key 'x', but there are: data",
        ),
        ({"seq_list_file": "/nowhere"}, "Cannot read '/nowhere'"),
        ({"seq_len_file": None, "seq_ordering": "sorted"}, "seq_ordering 'sorted' needs the lengths"),
        (
            {"seq_list_file": "bad", "seq_ordering": "sorted"},
            "has no length for 'seq-7', which is in seq_list_file 'bad'",
        ),
    ],
)
def test_mistakes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], message: str) -> None:
    """Each says what is wrong."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bad").write_text("seq-0;seq-7\n")
    with pytest.raises((UserError, ConfigError)) as exc_info:
        init_dataset(options(tmp_path, singles, "seq-0", **more)).init_seq_order(1)
    assert message in str(exc_info.value)
