"""Map-style datasets of the user's own."""

from __future__ import annotations

import copy
from typing import Any

import numpy
import pytest

from returnn.datasets import init_dataset
from returnn.datasets.map import FromListDataset, MapDatasetBase, MapDatasetWrapper
from returnn.util.errors import ConfigError

from .reading import read_epoch, tags

_lens = [5, 3, 9, 1]


class Squares(MapDatasetBase):
    """Sequence i has _lens[i] frames of the value i * i."""

    def __init__(self) -> None:
        super().__init__(data_types={"data": {"shape": (None, 2), "dim": 2}, "classes": {"dim": 20, "sparse": True}})

    def __len__(self) -> int:
        return len(_lens)

    def __getitem__(self, seq_idx: int) -> dict[str, numpy.ndarray]:
        data = numpy.full((_lens[seq_idx], 2), seq_idx**2, dtype="float32")
        return {"data": data, "classes": numpy.array([seq_idx**2], dtype="int32")}


class SquaresWithLens(Squares):
    """The same, and lengths are known."""

    def get_seq_len(self, seq_idx: int) -> int:
        return _lens[seq_idx]


def _wrapped(map_dataset: Any, **kwargs: Any) -> Any:
    return init_dataset({"class": "MapDatasetWrapper", "name": "train", "map_dataset": map_dataset, **kwargs})


def test_keys_dims_and_values() -> None:
    dataset = _wrapped(Squares, seq_ordering="reverse")
    assert (dataset.get_data_keys(), dataset.get_target_list()) == (["data", "classes"], ["classes"])
    assert dataset.num_outputs == {"data": (2, 2), "classes": (20, 1)}
    seqs = read_epoch(dataset, 1)
    assert tags(seqs) == ["seq-3", "seq-2", "seq-1", "seq-0"]
    assert [seq.data["classes"] for seq in seqs] == [[9], [4], [1], [0]]
    assert seqs[0].data["data"] == [[9.0, 9.0]]
    assert read_epoch(copy.deepcopy(dataset), 1) == seqs


def test_order_by_length_needs_lengths() -> None:
    assert tags(read_epoch(_wrapped(SquaresWithLens, seq_ordering="sorted"), 1)) == ["seq-3", "seq-1", "seq-0", "seq-2"]
    with pytest.raises(ConfigError, match="MapDatasetWrapper 'train': seq_ordering 'sorted' needs the lengths"):
        read_epoch(_wrapped(Squares(), seq_ordering="sorted"), 1)


def test_follower_with_tags_and_indices() -> None:
    dataset = _wrapped(Squares)
    assert tags(read_epoch(dataset, 1, seq_list=["seq-2", "seq-0"])) == ["seq-2", "seq-0"]
    assert tags(read_epoch(dataset, 1, seq_order=[1, 1])) == ["seq-1", "seq-1"]


def test_from_list() -> None:
    data = [{"data": numpy.arange(n, dtype="int32")} for n in _lens]
    types = {"data": {"dim": 10, "sparse": True}}
    dataset = _wrapped(FromListDataset(data, sort_data_key="data", data_types=types), seq_ordering="sorted_reverse")
    assert [len(seq.data["data"]) for seq in read_epoch(dataset, 1)] == [9, 5, 3, 1]
    without = _wrapped(FromListDataset(data, data_types=types))
    assert not without.supports_seq_order_sorting()


class _NoTypes(Squares):
    def __init__(self) -> None:
        pass


class _Incomplete(Squares):
    def __getitem__(self, seq_idx: int) -> dict[str, numpy.ndarray]:
        return {"data": numpy.zeros((3, 2), dtype="float32")}


class _OtherShape(Squares):
    def __getitem__(self, seq_idx: int) -> dict[str, numpy.ndarray]:
        return {"data": numpy.zeros(3, dtype="float32"), "classes": numpy.zeros(3, dtype="int32")}


@pytest.mark.parametrize(
    ["map_dataset", "message"],
    [
        (_NoTypes, "MapDatasetWrapper 'train': _NoTypes has no data_types"),
        (dict, "MapDatasetWrapper 'train': map_dataset must be an instance of MapDatasetBase"),
        (_Incomplete, "MapDatasetWrapper 'train': sequence 'seq-0' has no 'classes', which is in data_types"),
        (_OtherShape, r"'data' has shape \[3\], but data_types says \[None, 2\]"),
    ],
)
def test_bad_datasets(map_dataset: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_epoch(_wrapped(map_dataset), 1)


def test_wrapper_is_the_class_of_a_config() -> None:
    assert isinstance(_wrapped(Squares), MapDatasetWrapper)
