"""Files shared out over the parts of an epoch and over processes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from returnn.config import Config, global_config_ctx
from returnn.datasets import init_dataset
from returnn.datasets.basic import Dataset
from returnn.datasets.file_bins import cut_by_size
from returnn.util.errors import UserError

from .reading import read_epoch, tags, unchanged


@pytest.mark.parametrize(
    ["sizes", "expected"],
    [
        ([1, 10, 1, 1], [[1], [10], [1, 1]]),
        ([1, 1, 78, 120], [[1], [1], [78], [120]]),
        ([5, 5] + [10] * 7, [[5, 5, 10], [10, 10], [10], [10], [10, 10]]),
        ([5, 1, 4, 2, 8, 3, 7], [[5, 1, 4], [2, 8], [3, 7]]),
        ([1] * 29, [[1] * n for n in (4, 4, 4, 3, 3, 3, 4, 4)]),
    ],
)
def test_cut_by_size(sizes: list[int], expected: list[list[int]]) -> None:
    assert [[sizes[i] for i in b] for b in cut_by_size(sizes, len(expected))] == expected


@given(st.lists(st.integers(0, 100), min_size=1, max_size=30), st.integers(1, 30))
def test_each_share_has_a_file_and_each_file_a_share(sizes: list[int], num_bins: int) -> None:
    num_bins = min(num_bins, len(sizes))
    bins = cut_by_size(sizes, num_bins)
    assert len(bins) == num_bins and all(bins)
    assert [i for b in bins for i in b] == list(range(len(sizes)))


def _write_hdf(path: Path, num_seqs: int) -> str:
    with h5py.File(path, "w") as f:
        f["seqTags"] = numpy.array([f"{path.stem}-{i}".encode() for i in range(num_seqs)])
        f["seqLengths"] = numpy.array([[2, 0]] * num_seqs, dtype="int32")
        f["inputs"] = numpy.zeros((2 * num_seqs, 3), dtype="float32")
        f.attrs["inputPattSize"] = 3
        f.attrs["numSeqs"] = num_seqs
    return str(path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Eight files of ten sequences."""
    return [_write_hdf(tmp_path / f"{c}.hdf", 10) for c in "abcdefgh"]


@pytest.fixture
def make() -> Iterator[Any]:
    """Makes datasets, whose processes end with the test."""
    made: list[Dataset] = []

    def func(**kwargs: Any) -> Dataset:
        opts = {
            "class": "DistributeFilesDataset",
            "name": "train",
            "get_sub_epoch_dataset": plain,
            "partition_epoch": 2,
        }
        made.append(init_dataset({**opts, **kwargs}))
        return made[-1]

    yield func
    for dataset in made:
        dataset.finish_epoch(free_resources=True)


def plain(files: list[str]) -> dict[str, Any]:
    return {"class": "HDFDataset", "files": files, "seq_ordering": "default"}


def postprocessed(files: list[str]) -> dict[str, Any]:
    return {"class": "PostprocessingDataset", "dataset": plain(files), "map_seq": unchanged}


def multi_proc(files: list[str]) -> dict[str, Any]:
    return {"class": "MultiProcDataset", "dataset": plain(files), "num_workers": 2, "buffer_size": 2}


def _tags_of_files(names: str) -> list[str]:
    return [f"{name}-{i}" for name in names for i in range(10)]


@pytest.mark.parametrize("sub", [plain, postprocessed, multi_proc])
def test_parts_of_an_epoch(make: Any, files: list[str], sub: Any) -> None:
    dataset = make(files=files, get_sub_epoch_dataset=sub, buffer_size=5)
    expected = [_tags_of_files("abcd"), _tags_of_files("efgh")]
    for epoch in (1, 2, 3, 2, 2):  # the last ones are a jump back, and once more
        assert tags(read_epoch(dataset, epoch)) == expected[(epoch - 1) % 2]
    assert dataset.get_data_keys() == ["data"] and dataset.get_data_dim("data") == 3


def test_random_order_of_files(make: Any, files: list[str]) -> None:
    """RandomState(1).shuffle for epochs 1 and 2, RandomState(2).shuffle for 3 and 4; two epochs have all files."""
    dataset = make(files=files, seq_ordering="random")
    for full_epoch in (1, 2):
        order = list("abcdefgh")
        numpy.random.RandomState(full_epoch).shuffle(order)
        parts = [read_epoch(dataset, 2 * full_epoch - 1), read_epoch(dataset, 2 * full_epoch)]
        assert tags(parts[0] + parts[1]) == _tags_of_files("".join(order))


@pytest.mark.parametrize(["sub", "seq_ordering"], [(plain, "default"), (postprocessed, "random")])
def test_each_sequence_once_over_all_ranks(
    make: Any, files: list[str], sub: Any, seq_ordering: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    with global_config_ctx(Config({"torch_distributed": {}})):
        for rank in range(4):
            monkeypatch.setenv("RANK", str(rank))
            monkeypatch.setenv("WORLD_SIZE", "4")
            dataset = make(
                files=files,
                get_sub_epoch_dataset=sub,
                distrib_shard_files=True,
                seq_ordering=seq_ordering,
                preload_next_n_sub_epochs=0,
            )
            for epoch in (1, 2):
                seen += tags(read_epoch(dataset, epoch))
            dataset.finish_epoch(free_resources=True)
    assert len(seen) == 80 and sorted(seen) == sorted(_tags_of_files("abcdefgh"))


def test_shards_given_from_outside(make: Any, files: list[str]) -> None:
    dataset = make(files=files, _num_shards=2, _shard_index=1)
    assert tags(read_epoch(dataset, 1)) == _tags_of_files("ef")
    assert tags(read_epoch(dataset, 2)) == _tags_of_files("gh")


def test_preloading(make: Any, files: list[str]) -> None:
    """One process for the part, one for each that is loaded ahead, none afterwards."""
    before = set(psutil.Process().children())  # of other tests

    def children() -> set[psutil.Process]:
        return set(psutil.Process().children()) - before

    dataset = make(files=files, partition_epoch=4, preload_next_n_sub_epochs=2)
    dataset.init_seq_order(1)
    first = children()
    assert len(first) == 3
    dataset.init_seq_order(2)
    assert len(children() & first) == 2
    dataset.finish_epoch(free_resources=True)
    assert not children()


def test_sets_of_files_stay_together(make: Any, files: list[str]) -> None:
    """Six files stay together, so the other part has two."""
    sets = [{"x": files[0], "more": (files[1:5], [files[5]])}, [files[6]], files[7]]
    seen = []

    def get(trees: list[Any]) -> dict[str, Any]:
        seen.append(trees)
        return plain([files[0]])

    dataset = make(files=sets, get_sub_epoch_dataset=get, preload_next_n_sub_epochs=0)
    read_epoch(dataset, 1)
    read_epoch(dataset, 2)
    assert seen == [sets[:1], sets[:1], sets[1:]]


@pytest.mark.parametrize("kind", ["txt", "json", "py", "function"])
def test_lists_of_files(make: Any, files: list[str], kind: str, tmp_path: Path) -> None:
    path = tmp_path / f"list.{kind}"
    path.write_text("# all\n" + "\n".join(files) + "\n\n" if kind == "txt" else json.dumps(files))
    dataset = make(files=(lambda: files) if kind == "function" else str(path), preload_next_n_sub_epochs=0)
    assert tags(read_epoch(dataset, 2)) == _tags_of_files("efgh")


@pytest.mark.parametrize(
    ["opts", "message"],
    [
        ({"files": ["a.hdf"]}, "there are 1 files for 2 parts"),
        ({"files": "list.xyz"}, "files: list of files not found: 'list.xyz'"),
        ({"files": ["a.hdf", "b.hdf"], "seq_ordering": "sorted"}, "seq_ordering must be default or random"),
        ({"files": ["a.hdf", "b.hdf"], "sharding_fix": False}, "sharding_fix=False would lose sequences"),
        ({"files": ["a.hdf", "b.hdf"], "unique_seq_tags": True}, "unique_seq_tags has no effect"),
        (
            {
                "files": ["a.hdf", "b.hdf"],
                "get_sub_epoch_dataset": lambda files: {"class": "HDFDataset", "files": files},
            },
            "must say how sequences are ordered",
        ),
        (
            {"files": ["a", "b"], "get_sub_epoch_dataset": lambda files: {**plain(files), "partition_epoch": 2}},
            "partition_epoch must be 1 there, but is 2",
        ),
        ({"files": ["a", "b"], "get_sub_epoch_dataset": lambda files: None}, "must return a dict of options"),
        ({"files": ["a", "b"], "get_sub_epoch_dataset": lambda files: 1 / 0}, r"ZeroDivisionError(.*\n)*.*in <lambda>"),
    ],
)
def test_bad_options(make: Any, opts: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=f"DistributeFilesDataset 'train'.*{message}"):
        make(**opts)


def test_missing_file_is_named(make: Any, files: list[str]) -> None:
    dataset = make(files=[*files[:-1], files[-1].replace("h.hdf", "h.hfd")])
    with pytest.raises(UserError, match=r'DistributeFilesDataset \'train\': file not found: .*h.hfd.*mean "h.hdf"'):
        dataset.init_seq_order(1)


def test_order_from_outside_is_not_possible(make: Any, files: list[str]) -> None:
    with pytest.raises(UserError, match="cannot read sequences in a given order"):
        make(files=files).init_seq_order(1, seq_list=["a-0"])
