"""Chunks of sequences, and context around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from returnn.datasets.basic import Dataset, init_dataset
from returnn.util.errors import ConfigError, UserError
from returnn.util.numbers_dict import NumbersDict


def dataset_with(*lens: dict[str, int], **opts: Any) -> Dataset:
    """:return: in epoch 1"""
    data = [
        {
            key: numpy.zeros((n, 1) if key == "data" else n, "float32" if key == "data" else "int32")
            for key, n in x.items()
        }
        for x in lens
    ]
    dataset = init_dataset({"class": "StaticDataset", "data": data, **opts})
    dataset.init_seq_order(1)
    return dataset


def chunks(dataset: Dataset, key: str = "data", **opts: Any) -> list[tuple[int, int]]:
    """:return: start and end frames"""
    return [(int(start[key]), int(end[key])) for _, start, end in dataset.iterate_seqs(**opts)]


@pytest.mark.parametrize(
    "chunking,min_chunk_size,expected",
    [
        ("10:5", 0, [(0, 10), (5, 11), (10, 11)]),
        ("5", 0, [(0, 5), (5, 10), (10, 11)]),
        (5, 0, [(0, 5), (5, 10), (10, 11)]),
        ({"data": 5}, 0, [(0, 5), (5, 10), (10, 11)]),
        ((5, None), 0, [(0, 5), (5, 10), (10, 11)]),
        ((5, 2), 0, [(0, 5), (2, 7), (4, 9), (6, 11), (8, 11), (10, 11)]),
        ("5:5", 1, [(0, 5), (5, 10)]),
        ("10:5", 1, [(0, 10), (5, 11)]),
        ("20", 15, [(0, 11)]),
        ("0", 0, [(0, 11)]),
        (None, 0, [(0, 11)]),
        (0, 0, [(0, 11)]),
    ],
)
def test_chunks_of_eleven_frames(chunking: Any, min_chunk_size: int, expected: list[tuple[int, int]]) -> None:
    """Starts are multiples of the step; none where at most min_chunk_size frames are left, but the first always."""
    assert chunks(dataset_with({"data": 11}, chunking=chunking, min_chunk_size=min_chunk_size)) == expected


def test_keys_in_step() -> None:
    """One class stands for two frames."""
    dataset = dataset_with(
        {"data": 24, "classes": 12}, chunking=({"data": 12, "classes": 6}, {"data": 6, "classes": 3})
    )
    assert chunks(dataset) == [(0, 12), (6, 18), (12, 24), (18, 24)]
    assert chunks(dataset, "classes") == [(0, 6), (3, 9), (6, 12), (9, 12)]


def test_keys_out_of_step() -> None:
    """24 frames make 4 chunks, 20 classes 7; and equal steps need equal lengths."""
    dataset = dataset_with(
        {"data": 24, "classes": 20}, chunking=({"data": 12, "classes": 6}, {"data": 6, "classes": 3})
    )
    with pytest.raises(
        AssertionError, match="different numbers of chunks {'data': 4, 'classes': 7} in sequence 'seq-0'"
    ):
        chunks(dataset)
    dataset = dataset_with({"data": 24, "classes": 20}, chunking=10)
    with pytest.raises(UserError, match="Chunking with multiple data-keys of different length"):
        chunks(dataset)
    assert chunks(dataset, used_data_keys={"data"}) == [(0, 10), (10, 20), (20, 24)]


def test_key_of_length_one_goes_into_each_chunk() -> None:
    """Its end must not end the chunks of the others; the reference lost all but the first chunk here."""
    dataset = dataset_with({"data": 11, "speaker": 1}, chunking=5)
    assert chunks(dataset) == [(0, 5), (5, 10), (10, 11)]
    assert chunks(dataset, "speaker") == [(0, 1)] * 3


def test_key_with_step_zero_stays() -> None:
    """ "data" does not move, so "classes" decides."""
    dataset = dataset_with({"data": 4, "classes": 6}, chunking=({"data": 3, "classes": 3}, {"data": 0, "classes": 3}))
    assert chunks(dataset, "classes") == [(0, 3), (3, 6)]
    assert chunks(dataset) == [(0, 3), (0, 3)]


def test_variance() -> None:
    """The first random number of seed 1 is 0.134, so the size is int(10 * (1 - 0.067)) = 9."""
    opts = {"chunking": "10:10", "chunking_variance": 0.5}
    dataset = dataset_with({"data": 35, "classes": 35}, **opts)
    assert [end for _, end in chunks(dataset, used_data_keys={"data", "classes"})] == [9, 18, 27, 35]
    assert chunks(dataset_with({"data": 35}, **opts))[0] == (0, 10), "only with used_data_keys"


def test_variance_keeps_ratios() -> None:
    """classes 40 -> int(40 * 0.933) = 37, data exactly twice that."""
    dataset = dataset_with(
        {"data": 200, "classes": 100}, chunking=({"data": 80, "classes": 40},) * 2, chunking_variance=0.5
    )
    keys = {"data", "classes"}
    assert chunks(dataset, "classes", used_data_keys=keys) == [(0, 37), (37, 74), (74, 100)]
    dataset.init_seq_order(1)
    assert chunks(dataset, used_data_keys=keys) == [(0, 74), (74, 148), (148, 200)]


def batch_frames(dataset: Dataset, key: str) -> list[tuple[int, int]]:
    """:return: start and end frames of all parts of batches"""
    batches = dataset.generate_batches(batch_size=1000)
    parts = [part for batch in batches.peek_next_n(99) for part in batch.seqs]
    return [(int(part.seq_start_frame[key]), int(part.seq_end_frame[key])) for part in parts]


def test_context() -> None:
    """Three frames: one more on either side, for "data" alone."""
    dataset = dataset_with({"data": 11, "classes": 11}, chunking="5:5", context_window=3)
    assert batch_frames(dataset, "data") == [(-1, 6), (4, 11), (9, 12)]
    assert batch_frames(dataset, "classes") == [(0, 5), (5, 10), (10, 11)]
    dataset = dataset_with({"data": 11}, context_window={"data": 4})
    assert (dataset.ctx_left["data"], dataset.ctx_right["data"]) == (1, 2)
    start, end = dataset.get_start_end_frames_full_seq(0)
    assert (start["data"], end["data"]) == (-1, 13)
    assert batch_frames(dataset_with({"data": 5}, context_window=({"data": 2}, {"data": 0})), "data") == [(-2, 5)]


def test_chunking_function() -> None:
    """It yields sequence, start and end, and must be ready for more arguments."""

    def last_frame(dataset: Dataset, seq_idx_start: int, **_kwargs: Any) -> Iterator[Any]:
        for i in range(seq_idx_start, dataset.num_seqs):
            n = dataset.get_seq_length(i)
            yield i, n - 1, n

    assert chunks(dataset_with({"data": 11}, {"data": 3}, chunking=last_frame)) == [(10, 11), (2, 3)]
    with pytest.raises(ConfigError, match="the function given as chunking must accept further keyword arguments"):
        chunks(dataset_with({"data": 11}, chunking=lambda dataset, seq_idx_start, recurrent_net, used_data_keys: []))


def test_no_chunks_without_recurrence() -> None:
    """There, sequences are cut where a batch is full."""
    assert chunks(dataset_with({"data": 11}, chunking=5), recurrent_net=False) == [(0, 11)]


def test_new_sizes_for_a_live_dataset() -> None:
    """They can be assigned as plain numbers, too."""
    dataset = dataset_with({"data": 11}, chunking=5)
    dataset.chunk_size, dataset.chunk_step = 8, 8
    assert chunks(dataset) == [(0, 8), (8, 11)]
    dataset.chunking = "6"
    assert chunks(dataset) == [(0, 6), (6, 11)] and dataset.chunk_size == NumbersDict(6)


@pytest.mark.parametrize(
    "chunking", ["x", "5:y", (1, 2, 3), -1, ({"data": 5}, {"classes": 5}), ({"data": 5}, {"data": 0})]
)
def test_invalid_chunking(chunking: Any) -> None:
    """The value is in the message."""
    with pytest.raises(UserError, match="invalid chunking"):
        dataset_with({"data": 11}, chunking=chunking)


@given(st.integers(1, 50), st.integers(1, 60))
def test_chunks_cover_each_frame_once(num_frames: int, size: int) -> None:
    """With step = size."""
    parts = chunks(dataset_with({"data": num_frames, "classes": num_frames}, chunking=size))
    assert [t for start, end in parts for t in range(start, end)] == list(range(num_frames))
