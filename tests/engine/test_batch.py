"""Batches: limits, what is left out, look ahead."""

from __future__ import annotations

import io
import random
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from returnn.datasets.basic import Dataset, init_dataset, shapes_for_batches
from returnn.datasets.cached import CachedDataset
from returnn.engine.batch import Batch, BatchSetGenerator
from returnn.log import log
from returnn.util.errors import UserError

lens = [3, 7, 2, 9, 4, 4, 1, 12]


def dataset_of(seq_lens: list[int], **opts: Any) -> Dataset:
    """:return: data and classes of these lengths, in epoch 1"""
    data = [{"data": numpy.zeros((n, 1), "float32"), "classes": numpy.zeros(n, "int32")} for n in seq_lens]
    dataset = init_dataset({"class": "StaticDataset", "name": "train", "data": data, **opts})
    dataset.init_seq_order(1)
    return dataset


def all_batches(batches: BatchSetGenerator) -> list[Batch]:
    """:return: all there are"""
    res = []
    while batches.has_more():
        res += batches.peek_next_n(1)
        batches.advance(1)
    return res


def groups(seq_lens: list[int] = lens, **opts: Any) -> list[list[int]]:
    """:return: sequence indices of each batch"""
    batches = dataset_of(seq_lens).generate_batches(recurrent_net=True, **opts)
    return [[part.seq_idx for part in batch.seqs] for batch in all_batches(batches)]


@pytest.mark.parametrize(
    "opts,expected",
    [
        ({"batch_size": 20}, [[0, 1], [2, 3], [4, 5, 6], [7]]),
        ({"batch_size": 20, "max_seqs": 2}, [[0, 1], [2, 3], [4, 5], [6], [7]]),
        ({"batch_size": 10}, [[0], [1], [2], [3], [4, 5], [6], [7]]),
        ({"batch_size": 20, "max_seq_length": 7}, [[0, 1], [2, 4, 5, 6]]),
        ({"batch_size": 20, "max_seq_length": {"classes": 7}}, [[0, 1], [2, 4, 5, 6]]),
        ({"batch_size": 20, "max_seq_length": -4}, [[0, 2, 4, 5, 6]]),
        ({"batch_size": 20, "max_seq_length": 0}, [[0, 1], [2, 3], [4, 5, 6], [7]]),
        ({"batch_size": 20, "min_seq_length": 3}, [[0, 1], [3, 4], [5], [7]]),
        ({"batch_size": 20, "max_pad_size": 4}, [[0, 1], [2], [3], [4, 5, 6], [7]]),
        ({"batch_size": 20, "max_total_num_seqs": 3}, [[0, 1], [2, 3]]),
        ({"batch_size": None, "packed_batch_size": 12}, [[0, 1, 2], [3], [4, 5, 6], [7]]),
        ({"batch_size": {"data": 20, "classes": 100}}, [[0, 1], [2, 3], [4, 5, 6], [7]]),
    ],
)
def test_limits(opts: dict[str, Any], expected: list[list[int]]) -> None:
    """For example batch_size 20: 2 * 7 = 14 fits, 3 * 7 = 21 does not."""
    assert groups(**opts) == expected


def test_too_long_for_a_batch_is_kept_with_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """12 > 10: alone in its batch."""
    monkeypatch.setattr(log, "v4", io.StringIO())
    assert groups([12, 3], batch_size=10) == [[0], [1]]
    assert log.v4.getvalue() == (
        "warning: sequence length (NumbersDict({'data': 12, 'classes': 12})) larger than limit (NumbersDict(10))\n"
    )


def test_note_about_unused_keys_that_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """One number is a limit for all keys. Once it is said that an unused one made a difference."""
    monkeypatch.setattr(log, "v3", io.StringIO())
    data = [{"data": numpy.zeros((1, 1)), "classes": numpy.zeros(5, "int32")}] * 2
    dataset = init_dataset({"class": "StaticDataset", "data": data})
    dataset.init_seq_order(1)
    batches = dataset.generate_batches(batch_size=10, max_seq_length=3, used_data_keys={"data"})
    assert not batches.has_more() and batches.counts.too_long == 2
    assert log.v3.getvalue().count("because of the length of data key 'classes'") == 1


def test_one_slice() -> None:
    """Without recurrence sequences are laid end to end, and cut where 10 frames are reached."""
    batches = all_batches(dataset_of(lens).generate_batches(recurrent_net=False, batch_size=10))
    parts = [
        [(p.seq_idx, p.seq_start_frame["data"], p.seq_end_frame["data"], p.batch_frame_offset["data"]) for p in b.seqs]
        for b in batches
    ]
    assert parts == [
        [(0, 0, 3, 0), (1, 0, 7, 3)],
        [(2, 0, 2, 0), (3, 0, 8, 2)],
        [(3, 8, 9, 0), (4, 0, 4, 1), (5, 0, 4, 5), (6, 0, 1, 9)],
        [(7, 0, 10, 0)],
        [(7, 10, 12, 0)],
    ]
    assert [batch.num_slices for batch in batches] == [1] * 5


@pytest.mark.parametrize("opts", [{}, {"batch_size": 0}, {"batch_size": {"data": 5, "classes": 0}}])
def test_batch_size_must_be_positive(opts: dict[str, Any]) -> None:
    """For every key."""
    with pytest.raises(UserError, match="batch_size must be set and be greater than 0"):
        dataset_of(lens).generate_batches(recurrent_net=True, **opts)


def test_sequences_of_length_zero_are_left_out_and_counted() -> None:
    """Nothing can be learned from them; what is behind them is as without them."""
    batches = dataset_of([3, 0, 2, 0]).generate_batches(batch_size=10)
    assert [part.seq_idx for batch in all_batches(batches) for part in batch.seqs] == [0, 2]
    assert batches.num_zero_len_seqs_skipped == 2
    assert str(batches.counts) == "2 taken, 2 of length zero"
    batches = dataset_of([0, 0]).generate_batches(batch_size=10)
    assert not batches.has_more() and batches.num_zero_len_seqs_skipped == 2


def test_empty_targets_are_no_empty_sequence() -> None:
    """It counts what the default key has: "data", if used, else the first used key."""
    data = [{"data": numpy.zeros((3, 1)), "classes": numpy.zeros(0, "int32")}]
    dataset = init_dataset({"class": "StaticDataset", "data": data})
    dataset.init_seq_order(1)
    assert len(all_batches(dataset.generate_batches(batch_size=10))) == 1
    batches = dataset.generate_batches(batch_size=10, used_data_keys={"classes"})
    assert not batches.has_more() and batches.counts.zero_len == 1


def test_counts_say_why_there_are_no_batches() -> None:
    """For messages of the engine."""
    batches = dataset_of([3, 7, 2]).generate_batches(batch_size=20, max_seq_length=5, min_seq_length=3)
    assert len(all_batches(batches)) == 1
    assert str(batches.counts) == "1 taken, 1 longer than max_seq_length, 1 shorter than min_seq_length"


def test_seq_drop_is_a_function_of_the_epoch() -> None:
    """Random numbers of seed 1: 0.13, 0.85, 0.76, 0.26, 0.50, 0.45, 0.65, 0.79; those below 0.5 are left out."""
    assert groups(batch_size=1000, seq_drop=0.5) == [[1, 2, 6, 7]]


def test_global_random_numbers_stay() -> None:
    """Whoever uses them is not disturbed."""
    random.seed(3)
    expected = random.random()
    random.seed(3)
    groups(batch_size=10, seq_drop=0.5)
    assert random.random() == expected


def test_look_ahead() -> None:
    """peek does not advance; the end is known."""
    batches = dataset_of(lens).generate_batches(batch_size=20)
    first, second = batches.peek_next_n(2)
    assert (first.start_seq, first.end_seq, second.start_seq) == (0, 2, 2)
    assert batches.get_current_batch_idx() == 0 and batches.completed_frac() == 0
    batches.advance(1)
    assert batches.completed_frac() == 2 / 8 and batches.peek_next_n(1) == [second]
    assert len(batches.peek_next_n(99)) == 3
    batches.advance(3)
    assert not batches.has_more() and batches.completed_frac() == 1 and batches.get_current_batch_idx() == 4
    with pytest.raises(AssertionError, match="only 0 more"):
        batches.advance(1)
    batches.reset()
    assert batches.get_current_batch_idx() == 0 and len(all_batches(batches)) == 4


class RandomAccess(CachedDataset):
    """Ten sequences of five frames, without values."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.num_outputs = {"data": (1, 1)}

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        return 10

    def get_corpus_seq_lens(self, corpus_seq_idx: int) -> dict[str, int]:
        return {"data": 5}


def test_shuffled_batches_are_a_function_of_the_epoch() -> None:
    """So a resumed run sees the same order as one that was never stopped. All come once."""
    dataset = init_dataset({"class": RandomAccess})

    def order(epoch: int) -> list[int | None]:
        dataset.init_seq_order(epoch)
        return [batch.start_seq for batch in all_batches(dataset.generate_batches(batch_size=5, shuffle_batches=True))]

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == sorted(order(2)) == list(range(10))
    dataset.init_seq_order(1)
    batches = dataset.generate_batches(batch_size=5, shuffle_batches=True)
    batches.advance(4)
    assert batches.completed_frac() == 0.4


def test_batch_by_hand() -> None:
    """Slices of 3 and 5 frames make 2 * 5 padded ones, 8 real ones."""
    batch = Batch()
    batch.add_sequence_as_slice(0, 0, {"data": 3})
    assert batch.try_sequence_as_slice({"data": 5}) == ({"data": 5}, 2)
    batch.add_sequence_as_slice(1, {"data": 2}, {"data": 5})
    assert batch.get_all_slices_num_frames()["data"] == 10 and batch.get_total_num_frames()["data"] == 8
    assert batch.seqs[1].frame_length["data"] == 5 and batch.seqs[1].seq_end_frame["data"] == 7
    assert (batch.get_num_seqs(), repr(batch)) == (2, "<Batch start_seq:0, len(seqs):2>")
    batch = Batch()
    batch.init_with_one_full_sequence(1, dataset_of(lens, context_window=3))
    assert (batch.seqs[0].seq_start_frame["data"], batch.seqs[0].seq_end_frame["data"]) == (-1, 8)


def test_frames_of_all_keys_start_together() -> None:
    """After 4 frames of data and 2 of classes, the next sequence starts at 4 for both; or each where it is."""
    batch = Batch()
    batch.add_frames(0, 0, {"data": 4, "classes": 2})
    batch.add_frames(1, 0, {"data": 1, "classes": 1})
    assert batch.seqs[1].batch_frame_offset.dict == {"data": 4, "classes": 4}
    batch.add_frames(2, 0, {"data": 1, "classes": 1}, frame_dim_corresponds=False)
    assert batch.seqs[2].batch_frame_offset.dict == {"data": 5, "classes": 5}


class _ExternData:
    """As much as shapes_for_batches needs."""

    class _Data:
        def __init__(self, *shape: int | None):
            self.shape = shape

    data = {"data": _Data(None, 3), "classes": _Data(None), "vec": _Data(4)}


def test_shapes() -> None:
    """[slices, frames, ...]; without slices there is no shape."""
    batches = all_batches(dataset_of([2, 4]).generate_batches(batch_size=10))
    keys = ["data", "classes", "vec"]
    assert shapes_for_batches(batches, data_keys=keys, extern_data=_ExternData) == {
        "data": [2, 4, 3],
        "classes": [2, 4],
        "vec": [2, 4],
    }
    assert shapes_for_batches([], data_keys=keys, extern_data=_ExternData) is None


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=15),
    st.booleans(),
    st.integers(1, 30),
    st.integers(1, 5),
    st.sampled_from([None, 3, "4:4"]),
)
def test_batches_cover_each_frame_once(
    seq_lens: list[int], recurrent: bool, batch_size: int, max_seqs: int, chunking: Any
) -> None:
    """In the order of the sequences; no batch is above the limits unless it is a single sequence."""
    dataset = dataset_of(seq_lens, chunking=chunking)
    batches = all_batches(dataset.generate_batches(recurrent_net=recurrent, batch_size=batch_size, max_seqs=max_seqs))
    frames = [
        (part.seq_idx, t)
        for batch in batches
        for part in batch.seqs
        for t in range(int(part.seq_start_frame["data"]), int(part.seq_end_frame["data"]))
    ]
    assert frames == [(i, t) for i, n in enumerate(seq_lens) for t in range(n)]
    for batch in batches:
        padded = batch.get_all_slices_num_frames()["data"]
        assert padded <= batch_size or (recurrent and batch.num_slices == 1)
        assert batch.num_slices <= max_seqs or not recurrent
