"""Wrappers that change nothing, around each kind of dataset, and around each other."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path
from typing import Any

import pytest

from returnn.datasets.basic import Dataset, init_dataset
from returnn.datasets.multi_proc import MultiProcDataset
from returnn.util.errors import UserError

from ..reading import Seq, read_epoch, tags
from .instances import INNER, TRANSPARENT, same_seq


def only_data(seqs: list[Seq]) -> list[Seq]:
    """:return: without other data keys"""
    return [Seq(seq.tag, {"data": seq.data["data"]}) for seq in seqs]


def epochs(options: dict[str, Any], **more: Any) -> list[list[Seq]]:
    """:return: sequences of epochs 1, 2, 1 of a new instance"""
    dataset = init_dataset({**options, **more})
    try:
        return [only_data(read_epoch(dataset, epoch)) for epoch in (1, 2, 1)]
    finally:
        dataset.finish_epoch(free_resources=True)


PAIRS = [pair for pair in itertools.product(TRANSPARENT, INNER) if pair != ("MetaDataset", "stream")]


@pytest.fixture(params=PAIRS, ids="-".join)
def pair(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, str]:
    """Name of the wrapper, name of what is inside."""
    wrapper, inner = request.param
    monkeypatch.chdir(tmp_path)
    INNER[inner].make_files()
    if inner in ("meta", "postprocessing") and not Path("a.hdf").exists():
        INNER["files"].make_files()
    return wrapper, inner


def wrapped(pair: tuple[str, str], **more: Any) -> Dataset:
    """:return: initialized"""
    return init_dataset(TRANSPARENT[pair[0]]({**INNER[pair[1]].options, **more}))


def test_a_stream_cannot_control_a_meta_dataset() -> None:
    """Which sequences the others have to give is not known in advance."""
    with pytest.raises(UserError, match=r"the dataset 'x' \(StreamDataset\) cannot tell its tags in advance"):
        init_dataset(TRANSPARENT["MetaDataset"](INNER["stream"].options))


def test_same_sequences(pair: tuple[str, str]) -> None:
    """Tags, order, data, in each epoch."""
    options = TRANSPARENT[pair[0]](INNER[pair[1]].options)
    assert epochs(options) == epochs(INNER[pair[1]].options)


def test_same_order(pair: tuple[str, str]) -> None:
    """Shuffled and in parts by what is inside."""
    inner = INNER[pair[1]]
    if not inner.has_order:
        pytest.skip("what is inside has no orders")
    more = {"seq_ordering": "random", "partition_epoch": 2}
    options = TRANSPARENT[pair[0]]({**inner.options, **more})
    assert epochs(options) == epochs(inner.options, **more)


def test_copy(pair: tuple[str, str]) -> None:
    """Reads the same."""
    dataset = wrapped(pair)
    copy = pickle.loads(pickle.dumps(dataset))
    assert read_epoch(copy, 1) == read_epoch(dataset, 1)
    for ds in (dataset, copy):
        ds.finish_epoch(free_resources=True)


def test_empty_epoch(pair: tuple[str, str]) -> None:
    """It is not an error that a part has no sequence; only a stream cannot tell whether it should have had some."""
    if not INNER[pair[1]].has_order:
        pytest.skip("what is inside has no parts")
    dataset = wrapped(pair, partition_epoch=9)
    if pair[0] == "PostprocessingDataset, stream":
        with pytest.raises(UserError, match="Not a single seq was loaded"):
            read_epoch(dataset, 9)
    else:
        assert read_epoch(dataset, 9) == []
    assert len(read_epoch(dataset, 1)) == 1
    dataset.finish_epoch(free_resources=True)


def test_shards(pair: tuple[str, str]) -> None:
    """Two of them have each sequence exactly once, if it can be sharded."""
    dataset = wrapped(pair)
    expected = sorted(tags(read_epoch(dataset, 1)))
    supported = dataset.supports_sharding()
    dataset.finish_epoch(free_resources=True)
    if not supported:
        pytest.skip("it says that it cannot be sharded")
    options = TRANSPARENT[pair[0]](INNER[pair[1]].options)
    if not INNER[pair[1]].can_be_sharded and pair[0] in ("CombinedDataset", "ConcatDataset"):
        with pytest.raises(UserError, match="num_shards is not possible"):
            epochs(options, _num_shards=2)
        return
    parts = [epochs(options, _num_shards=2, _shard_index=i)[0] for i in range(2)]
    assert sorted(tags(parts[0] + parts[1])) == expected


def test_keys_are_told_before_the_first_epoch(pair: tuple[str, str]) -> None:
    """As the network wants to know them then; and they stay."""
    dataset = wrapped(pair)
    before = dataset.get_data_keys()
    dataset.init_seq_order(1)
    assert sorted(dataset.get_data_keys()) == sorted(before)
    dataset.finish_epoch(free_resources=True)


@pytest.mark.parametrize("inner", INNER)
@pytest.mark.parametrize("num_workers", [1, 4])
@pytest.mark.parametrize("wrapper", ["MultiProcDataset", "PostprocessingDataset"])
def test_any_number_of_workers(
    wrapper: str, num_workers: int, inner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same sequences in the same order as without."""
    monkeypatch.chdir(tmp_path)
    INNER[inner].make_files()
    sub = INNER[inner].options
    if INNER[inner].has_order:
        sub = {**sub, "seq_ordering": "random"}
    if wrapper == "MultiProcDataset":
        method = "seq_order" if INNER[inner].knows_corpus else "dedicated"
        if method == "dedicated" and num_workers > 1:
            pytest.skip("a stream of unknown length cannot be sharded")
        options = {
            "class": MultiProcDataset,
            "dataset": sub,
            "num_workers": num_workers,
            "buffer_size": 2,
            "sharding_method": method,
        }
    else:
        options = {"class": "PostprocessingDataset", "dataset": sub, "map_seq": same_seq, "num_workers": num_workers}
    assert epochs(options) == epochs(sub)
