"""What an epoch says about its sequences and frames: none is lost without a word."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from returnn.datasets.basic import Dataset, init_dataset
from returnn.datasets.batching import BatchSetGenerator
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.numbers_dict import NumbersDict


@pytest.fixture(autouse=True)
def _no_behavior_version() -> Iterator[None]:
    """As it was, afterwards."""
    version, min_version = BehaviorVersion._version, BehaviorVersion._min_version
    yield
    BehaviorVersion._reset(version, min_version)


def dataset_with(*lens: dict[str, int], **opts: Any) -> Dataset:
    """:return: in epoch 1; sequences with these lengths"""
    data = [{key: numpy.zeros(n, "int32") for key, n in seq.items()} for seq in lens]
    dataset = init_dataset({"class": "StaticDataset", "data": data, "name": "train", **opts})
    dataset.init_seq_order(1)
    return dataset


def run(dataset: Dataset, *, batch_size: Any = 10, **opts: Any) -> BatchSetGenerator:
    """:return: at its end"""
    batches = dataset.generate_batches(batch_size=batch_size, **opts)
    while batches.has_more():
        batches.advance(1)
    return batches


def taken_seqs(dataset: Dataset, used: Collection[str] | None = None, **opts: Any) -> list[int]:
    """:return: those that are in batches"""
    batches = dataset.generate_batches(batch_size=100, used_data_keys=used, **opts)
    return [part.seq_idx for batch in batches.peek_next_n(99) for part in batch.seqs]


def test_frames_taken_and_left_out() -> None:
    """4 + 5 + 12 frames taken, of these 12 more than a batch should have; 20 too many, 2 too few, none at all."""
    dataset = dataset_with(*[{"data": n} for n in (4, 20, 5, 2, 0, 12)])
    counts = run(dataset, max_seq_length=15, min_seq_length=3).counts
    assert str(counts) == (
        "3 taken, 1 of length zero, 1 longer than max_seq_length, 1 shorter than min_seq_length,"
        " 1 longer than batch_size, alone in a batch"
    )
    assert counts.frames_text() == (
        "21 of 'data' taken, 20 in those longer than max_seq_length, 2 in those shorter than min_seq_length"
    )


def test_frames_left_out_by_chance() -> None:
    """Random numbers of seed 1: 0.13, 0.85, 0.76, 0.26; those below 0.5 are left out."""
    counts = run(dataset_with(*[{"classes": n} for n in (1, 2, 3, 4)]), seq_drop=0.5).counts
    assert str(counts) == "2 taken, 2 left out by seq_drop"
    assert counts.frames_text() == "5 of 'classes' taken, 5 left out by seq_drop"


def test_context_does_not_count() -> None:
    """Its frames come twice, or are padding."""
    counts = run(dataset_with({"data": 11}, chunking="5:5", context_window=3)).counts
    assert counts.frames_text() == "11 of 'data' taken"


def test_nothing_seen() -> None:
    """Then there is no data key to speak of."""
    counts = run(dataset_with({"data": 1}, seq_ordering="default_every_n:2")).counts
    assert (str(counts), counts.frames_text()) == ("0 taken", "")


@pytest.mark.parametrize(
    "chunking,min_chunk_size,seqs,frames",
    [
        ("5:5", 0, "5 chunks of 2 sequences taken", "18 of 'data' taken"),
        ("5:5", 1, "4 chunks of 2 sequences taken", "17 of 'data' taken, 1 of 1 sequences in no chunk"),
        ("5:10", 0, "3 chunks of 2 sequences taken", "11 of 'data' taken, 7 of 2 sequences in no chunk"),
        ("10:5", 0, "5 chunks of 2 sequences taken", "26 of 'data' taken"),
    ],
)
def test_chunks(chunking: str, min_chunk_size: int, seqs: str, frames: str) -> None:
    """Lengths 11 and 7. Size 5, step 10: frames 5 to 9 of the one and 5, 6 of the other are in no chunk.
    Size 10, step 5: (0,10) (5,11) (10,11), (0,7) (5,7): 10 + 6 + 1 + 7 + 2 frames."""
    dataset = dataset_with({"data": 11}, {"data": 7}, chunking=chunking, min_chunk_size=min_chunk_size)
    counts = run(dataset).counts
    assert (str(counts), counts.frames_text()) == (seqs, frames)


@pytest.mark.parametrize("as_start", [lambda n: NumbersDict(n), lambda n: NumbersDict({"data": n})])
def test_chunking_function(as_start: Callable[[int], NumbersDict]) -> None:
    """Frames 2 to 3 and 6 to 7 of 8: four are missing. The start may be one number for all keys."""

    def chunk(**_: Any) -> Iterator[tuple[int, NumbersDict, NumbersDict]]:
        for start in (2, 6):
            yield 0, as_start(start), NumbersDict({"data": start + 2})

    counts = run(dataset_with({"data": 8}, chunking=chunk)).counts
    assert (str(counts), counts.frames_text()) == (
        "2 chunks of 1 sequences taken",
        "4 of 'data' taken, 4 of 1 sequences in no chunk",
    )


@given(
    lens=st.lists(st.integers(0, 40), min_size=1, max_size=8),
    size=st.integers(1, 12),
    step=st.integers(1, 12),
    min_size=st.integers(0, 12),
)
@settings(deadline=None, max_examples=50)
def test_each_frame_is_taken_or_counted(lens: Sequence[int], size: int, step: int, min_size: int) -> None:
    """Frames that are in some chunk, and those in none, make the whole."""
    dataset = dataset_with(*[{"data": n} for n in lens], chunking=(size, step), min_chunk_size=min_size)
    batches = dataset.generate_batches(batch_size=1000)
    parts = [part for batch in batches.peek_next_n(99) for part in batch.seqs]
    frames = {
        (part.seq_idx, frame)
        for part in parts
        for frame in range(part.seq_start_frame["data"], part.seq_end_frame["data"])
    }
    assert len(frames) + batches.counts.not_in_chunks_frames == sum(lens)
    assert batches.counts.taken_frames == sum(part.frame_length["data"] for part in parts)


@pytest.mark.parametrize("version,expected", [(0, [1]), (31, [0, 1])])
def test_limits_of_unused_keys(version: int, expected: list[int], capsys: pytest.CaptureFixture[str]) -> None:
    """The text of sequence 0 has 50 bytes, which are not for the network. From version 31 on, they do not matter."""
    BehaviorVersion._reset(version)
    dataset = dataset_with({"data": 3, "orth": 50}, {"data": 4, "orth": 5})
    assert taken_seqs(dataset, used={"data"}, max_seq_length=10) == expected
    note = "sequences are left out because of the length of data key 'orth', which the network does not use."
    assert (note in capsys.readouterr().out) == (version == 0)
    dataset.init_seq_order(1)
    assert taken_seqs(dataset, used={"data"}, max_seq_length={"orth": 10}) == [1], "a limit for the key itself holds"
    assert taken_seqs(dataset, used={"data"}, min_seq_length={"data": 4}) == [1]


@pytest.mark.parametrize("version,expected", [(0, [[0], [1]]), (31, [[0, 1]])])
def test_batch_size_and_unused_keys(version: int, expected: list[list[int]]) -> None:
    """2 * 50 bytes are too many for a batch of 60, 2 * 4 frames are not."""
    BehaviorVersion._reset(version)
    dataset = dataset_with({"data": 3, "orth": 50}, {"data": 4, "orth": 5})
    batches = dataset.generate_batches(batch_size=60, used_data_keys={"data"})
    assert [[part.seq_idx for part in batch.seqs] for batch in batches.peek_next_n(9)] == expected
