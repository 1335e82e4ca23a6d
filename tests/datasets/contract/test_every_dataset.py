"""The dataset protocol, law by law, for every dataset class."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.datasets.basic import Dataset, init_dataset
from returnn.datasets.create import DATASET_CLASSES
from returnn.util.errors import UserError
from tests.program import root

from ..reading import Seq, read_epoch, tags
from .instances import INSTANCES, NO_INSTANCE, Instance

ORDERS = (
    "default",
    "reverse",
    "random",
    "random:2",
    "sorted",
    "sorted_reverse",
    "laplace:2",
    "laplace:.2",
    "sort_bin_shuffle:2",
    "sort_bin_shuffle_x2:2",
)
BY_LENGTH = ORDERS[4:]


def test_every_class_has_an_entry() -> None:
    """So that no class goes without the laws."""
    assert set(DATASET_CLASSES) <= set(INSTANCES) | set(NO_INSTANCE)


@pytest.fixture(params=INSTANCES)
def instance(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Instance:
    """Its files are in the current folder."""
    instance = INSTANCES[request.param]
    if request.param == "HuggingFaceDataset":
        pytest.importorskip("datasets")
    monkeypatch.chdir(tmp_path)
    instance.make_files()
    return instance


@pytest.fixture
def dataset(instance: Instance) -> Iterator[Dataset]:
    """As it is without further options. Its processes, if it has some, are ended."""
    dataset = init_dataset(instance.options)
    yield dataset
    dataset.finish_epoch(free_resources=True)


def read(options: dict[str, Any], epoch: int = 1, **more: Any) -> list[Seq]:
    """:return: sequences of an epoch of a new instance"""
    dataset = init_dataset({**options, **more})
    try:
        return read_epoch(dataset, epoch)
    finally:
        dataset.finish_epoch(free_resources=True)


def needs(condition: bool) -> None:
    """Leaves a test out where an entry says that its class cannot do that."""
    if not condition:
        pytest.skip("not for this class, as its entry says")


def test_data_are_as_declared(instance: Instance, dataset: Dataset) -> None:
    """Keys, shapes, dtypes, lengths, classes below the dim; slices; tags are text."""
    dataset.init_seq_order(1)
    keys = dataset.get_data_keys()
    assert len(set(keys)) == len(keys) and set(dataset.get_target_list()) <= set(keys)
    seq_idx = 0
    while dataset.is_less_than_num_seqs(seq_idx):
        dataset.load_seqs(seq_idx, seq_idx + 1)
        assert isinstance(dataset.get_tag(seq_idx), str)
        for key in keys:
            data = dataset.get_data(seq_idx, key)
            assert dataset.get_seq_length(seq_idx)[key] == (len(data) if data.ndim else 1)
            shape, dtype = dataset.get_data_shape(key), dataset.get_data_dtype(key)
            if data.ndim:
                assert len(shape) == data.ndim - 1, key
                assert all(n in (None, m) for n, m in zip(shape, data.shape[1:], strict=True)), (key, shape, data.shape)
            if not instance.other_dtypes:
                assert dtype == ("string" if data.dtype.kind in "OSU" else data.dtype.name), key
            if dataset.is_data_sparse(key) and data.size and dataset.get_data_dim(key):
                assert data.min() >= 0 and data.max() < dataset.get_data_dim(key), key
            if dtype != "string" and data.ndim:
                part = dataset.get_data_slice(seq_idx, key, 1, 3)
                numpy.testing.assert_array_equal(part, data[1:3])
        seq_idx += 1
    assert seq_idx == instance.num_seqs or instance.num_seqs < 0
    assert dataset.num_seqs == seq_idx, "known at last"


def test_epochs_can_be_read_again(instance: Instance, dataset: Dataset) -> None:
    """An epoch is the same each time, also after another one was left in the middle, or all resources were freed.
    Without an epoch there are no sequences."""
    first = read_epoch(dataset, 1)
    second = read_epoch(dataset, 2)
    assert sorted(tags(first)) == sorted(tags(second))
    if instance.same_each_epoch:
        assert sorted(first) == sorted(second) or instance.num_seqs < 0
    dataset.init_seq_order(2)
    if dataset.is_less_than_num_seqs(0):
        dataset.load_seqs(0, 1)
    assert read_epoch(dataset, 1) == first
    dataset.init_seq_order(None)
    assert dataset.num_seqs == 0 and not dataset.is_less_than_num_seqs(0)
    dataset.finish_epoch(free_resources=True)
    assert read_epoch(dataset, 1) == first


def test_order(instance: Instance, dataset: Dataset) -> None:
    """Each order is one of the same sequences. Those by length are possible, or a clear error."""
    needs(instance.has_order)
    expected = read_epoch(dataset, 1)
    for order in ("random", "sorted") if instance.is_slow else ORDERS:
        if order in BY_LENGTH and not instance.has_lengths:
            if order in ("sorted", "sorted_reverse"):  # "sorted" is the default of "dev", so it means "default" there
                assert tags(read(instance.options, seq_ordering=order)) == tags(expected)
                continue
            with pytest.raises(UserError, match="seq_ordering"):
                read(instance.options, seq_ordering=order)
            continue
        seqs = read(instance.options, seq_ordering=order)
        assert sorted(seqs) == sorted(expected), order
        if order == "reverse":
            assert tags(seqs) == tags(expected)[::-1]
    with pytest.raises(UserError, match="seq_ordering"):
        read(instance.options, seq_ordering="sortd")
    by_function = read(instance.options, seq_ordering=lambda epoch, **_: "random")
    assert by_function == read(instance.options, seq_ordering="random")
    assert len(read(instance.options, seq_ordering="default_every_n:2")) == instance.num_seqs // 2 * 2


def test_parts_of_an_epoch(instance: Instance, dataset: Dataset) -> None:
    """Two epochs have each sequence once. With repeat_epoch, one has each twice. A part can be empty."""
    needs(instance.has_order)
    expected = tags(read_epoch(dataset, 1))
    for order in ("random",) if instance.is_slow else ("default", "random"):
        parts = [tags(read(instance.options, epoch, seq_ordering=order, partition_epoch=2)) for epoch in (1, 2, 3)]
        assert sorted(parts[0] + parts[1]) == sorted(expected)
        assert all(abs(len(part) - len(expected) / 2) < 1 for part in parts)
    assert tags(read(instance.options, repeat_epoch=2)) == expected * 2
    num = len(expected)
    parts = [tags(read(instance.options, epoch, partition_epoch=num + 1)) for epoch in (1, num, num + 1)]
    assert [len(part) for part in parts] == [1, 1, 0]


def test_empty_epoch_has_no_batches(instance: Instance) -> None:
    """And its end is seen at once."""
    needs(instance.has_order)
    dataset = init_dataset({**instance.options, "partition_epoch": 9})
    dataset.init_seq_order(9)
    assert not dataset.is_less_than_num_seqs(0) and dataset.num_seqs == 0
    assert not dataset.generate_batches(batch_size=10).has_more()
    dataset.finish_epoch(free_resources=True)


def test_filter(instance: Instance, dataset: Dataset) -> None:
    """Only the wanted tags, in their order. None of them in an epoch is an error."""
    needs(instance.has_order and instance.knows_corpus)
    all_tags = tags(read_epoch(dataset, 1))
    Path("wanted").write_text(f"{all_tags[2]}\n{all_tags[0]}\nother\n")
    assert tags(read(instance.options, seq_list_filter_file="wanted")) == [all_tags[0], all_tags[2]]
    Path("nothing").write_text("other\n")
    with pytest.raises(UserError, match="nothing"):
        read(instance.options, seq_list_filter_file="nothing")


def test_order_is_told_and_taken(instance: Instance, dataset: Dataset) -> None:
    """Corpus indices are positions in all tags. An order that is given is followed."""
    needs(instance.knows_corpus)
    options = {**instance.options, "seq_ordering": "random"} if instance.has_order else instance.options
    dataset = init_dataset(options)
    seqs = read_epoch(dataset, 2)
    dataset.init_seq_order(2)
    order = [int(i) for i in dataset.get_current_seq_order()]
    all_tags = list(dataset.get_all_tags())
    assert tags(seqs) == [all_tags[i] for i in order]
    assert len(all_tags) == dataset.get_total_num_seqs() == instance.num_seqs
    if dataset.have_corpus_seq_idx():
        assert [dataset.get_corpus_seq_idx(i) for i in range(len(order))] == order
    by_tag = {seq.tag: seq for seq in seqs}
    wanted = [tags(seqs)[2], tags(seqs)[0]]
    assert read_epoch(dataset, 2, seq_list=wanted) == [by_tag[tag] for tag in wanted]
    indices = [all_tags.index(tag) for tag in wanted]
    assert read_epoch(dataset, 2, seq_order=indices) == [by_tag[tag] for tag in wanted]
    assert read_epoch(dataset, 2) == seqs, "the order that was given is gone"
    dataset.finish_epoch(free_resources=True)


def test_random_access(instance: Instance, dataset: Dataset) -> None:
    """The sequences of the epoch, in any order, again and again."""
    needs(dataset.have_get_corpus_seq())
    dataset.init_seq_order(1)
    order = [int(i) for i in dataset.get_current_seq_order()]
    seqs = read_epoch(dataset, 1)
    dataset.init_seq_order(1)
    for i in [*reversed(range(len(order))), *range(len(order))]:
        seq = dataset.get_corpus_seq(order[i])
        assert Seq(seq.seq_tag, {key: seq.features[key].tolist() for key in sorted(seq.features)}) == seqs[i]


def test_shards(instance: Instance, dataset: Dataset) -> None:
    """Three of them together have each sequence exactly once; or more than one is an error."""
    expected = Counter(tags(read_epoch(dataset, 1)))
    if not instance.can_be_sharded:
        if not dataset.supports_sharding():
            with pytest.raises(UserError, match="shard"):
                read(instance.options, _num_shards=2)
        return
    if not instance.num_seqs:
        return
    shards = [tags(read(instance.options, _num_shards=3, _shard_index=i)) for i in range(3)]
    assert sum(map(Counter, shards), Counter()) == expected
    assert dataset.supports_sharding()


def test_progress(instance: Instance, dataset: Dataset) -> None:
    """Grows, up to 1 if the number of sequences is known. Lengths are the same before and after loading."""
    dataset.init_seq_order(1)
    fractions = []
    seq_idx = 0
    while dataset.is_less_than_num_seqs(seq_idx):
        length = dataset.get_seq_length(seq_idx).dict
        dataset.load_seqs(seq_idx, seq_idx + 1)
        assert length == dataset.get_seq_length(seq_idx).dict
        frac = dataset.get_complete_frac(seq_idx)
        assert frac is not None and 0 < frac <= 1
        fractions.append(frac)
        seq_idx += 1
    assert fractions == sorted(fractions)
    if fractions and instance.knows_corpus:
        assert fractions[-1] == 1


def test_batches_have_each_frame_once(instance: Instance, dataset: Dataset) -> None:
    """Also in chunks, of the key that is chunked."""
    dataset.init_seq_order(1)
    batches = dataset.generate_batches(batch_size=100, max_seqs=2)
    frames: Counter[str] = Counter()
    while batches.has_more():
        (batch,) = batches.peek_next_n(1)
        dataset.load_seqs(batch.start_seq, batch.end_seq)  # type: ignore[arg-type]  # not empty
        frames.update(batch.get_total_num_frames().dict)
        batches.advance(1)
    expected: Counter[str] = Counter()
    for seq in read_epoch(dataset, 1):
        key0 = "data" if "data" in seq.data else min(seq.data)
        if numpy.size(seq.data[key0]):
            expected.update({k: len(v) if isinstance(v, list) else 1 for k, v in seq.data.items()})
    assert {key: frames[key] for key in expected} == expected


def test_info(instance: Instance, dataset: Dataset) -> None:
    """For people; never an error."""
    assert dataset.len_info(fast=True).startswith(type(dataset).__name__ + ", sequences: ")
    dataset.init_seq_order(1)
    assert dataset.have_seqs() == (instance.num_seqs != 0)


def test_copy(instance: Instance, dataset: Dataset) -> None:
    """The copy has the same epochs."""
    expected = read_epoch(dataset, 2)
    copy = pickle.loads(pickle.dumps(dataset))
    assert read_epoch(copy, 2) == expected
    copy.finish_epoch(free_resources=True)


_worker = """
import pickle, sys
from tests.datasets.reading import read_epoch
if __name__ == "__main__":
    dataset = pickle.load(open("dataset", "rb"))
    seqs = read_epoch(dataset, 2)
    dataset.finish_epoch(free_resources=True)
    pickle.dump(seqs, open("seqs", "wb"))
"""


def test_copy_in_another_process(instance: Instance, dataset: Dataset) -> None:
    """Nothing of this process is needed."""
    Path("dataset").write_bytes(pickle.dumps(dataset))
    Path("worker.py").write_text(_worker)
    command = [sys.executable, "worker.py"]
    subprocess.run(command, env={"PYTHONPATH": str(root), "PATH": ""}, check=True, timeout=120)
    assert pickle.loads(Path("seqs").read_bytes()) == read_epoch(dataset, 2)
