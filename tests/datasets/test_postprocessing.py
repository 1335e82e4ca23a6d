"""Functions of the config over sequences."""

from __future__ import annotations

import copy
import os
import signal
from collections.abc import Iterator
from typing import Any

import numpy
import pytest

from returnn.datasets import init_dataset
from returnn.datasets.basic import Dataset
from returnn.datasets.postprocessing import LaplaceOrdering, Sequential
from returnn.datasets.worker_process import WorkerError
from returnn.tensor import Dim, Tensor, TensorDict
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError, UserError

from .reading import iterate, read_epoch, tags

_lens = [5, 3, 9, 1, 7, 3, 8, 2, 6, 4]
_data = [{"data": numpy.arange(n * 3, dtype="float32").reshape(n, 3)} for n in _lens]
_static = {"class": "StaticDataset", "data": _data}
_dummy = {"class": "DummyDataset", "input_dim": 2, "output_dim": 300, "num_seqs": 3}


@pytest.fixture
def make() -> Iterator[Any]:
    """Makes datasets, whose processes end with the test."""
    made: list[Dataset] = []

    def func(sub: Any, **kwargs: Any) -> Dataset:
        made.append(init_dataset({"class": "PostprocessingDataset", "name": "train", "dataset": sub, **kwargs}))
        return made[-1]

    yield func
    for dataset in made:
        dataset.finish_epoch(free_resources=True)


@pytest.fixture(params=[0, 31])
def version(request: pytest.FixtureRequest) -> Iterator[int]:
    """The behaviour version."""
    BehaviorVersion._reset(request.param)
    yield request.param
    BehaviorVersion._reset()


def add_random(data: TensorDict, *, rng: numpy.random.RandomState, **kwargs: Any) -> TensorDict:
    data["classes"].raw_tensor = data["classes"].raw_tensor + rng.randint(0, 100)
    return data


def add_random_stream(stream: Iterator[TensorDict], **kwargs: Any) -> Iterator[TensorDict]:
    for data in stream:
        yield add_random(data, **kwargs)


def even_ones_twice(stream: Iterator[TensorDict], **kwargs: Any) -> Iterator[TensorDict]:
    for data in stream:
        for _ in range(2 if len(data["data"].raw_tensor) % 2 == 0 else 0):
            yield data


def test_random_numbers(make: Any) -> None:
    """DummyDataset has the classes [4, 5], [5, 6], [6, 7]; the first numbers of RandomState(1) are 37, 12, 72."""
    dataset = make(_dummy, map_seq=add_random)
    assert [seq.data["classes"] for seq in read_epoch(dataset, 1)] == [[41, 42], [17, 18], [78, 79]]
    assert read_epoch(dataset, 1) != read_epoch(dataset, 2)
    assert read_epoch(copy.deepcopy(dataset), 1) == read_epoch(dataset, 1)


def test_what_a_function_gets(make: Any) -> None:
    seen = []

    def look(data: TensorDict, *, epoch: int, seq_idx: int, rng: Any, **kwargs: Any) -> TensorDict:
        assert not any(x.have_batch_axis() for x in data.data.values())
        more = [data[key].raw_tensor for key in ("seq_tag", "seq_idx", "complete_frac")]
        seen.append((epoch, seq_idx, str(more[0]), more[1], more[2], data["data"].raw_tensor.shape))
        assert (data["data"].dim, data["data"].shape, more[2].dtype) == (3, (None, 3), "float32")
        return data

    dataset = make({**_static, "seq_ordering": "reverse", "partition_epoch": 5}, map_seq=look)
    read_epoch(dataset, 5)
    assert seen == [(5, 0, "seq-1", 0, 0.5, (3, 3)), (5, 1, "seq-0", 1, 1.0, (5, 3))]


@pytest.mark.parametrize("num_workers", [1, 4])
def test_map_seq_in_workers(make: Any, num_workers: int, version: int) -> None:
    """All is as without workers; in old versions but for random numbers."""
    sub = {**_dummy, "num_seqs": 11, "seq_ordering": "random", "partition_epoch": 2}
    alone, dataset = make(sub, map_seq=add_random), make(sub, map_seq=add_random, num_workers=num_workers, buf_size=3)
    for epoch in (1, 2, 3):
        expected, seqs = read_epoch(alone, epoch), read_epoch(dataset, epoch)
        assert tags(seqs) == tags(expected) and len(seqs) == (5 if epoch == 2 else 6)
        assert (seqs == expected) == (version == 31)
    dataset.init_seq_order(1)
    alone.init_seq_order(1)
    assert list(dataset.get_current_seq_order()) == list(alone.get_current_seq_order())
    assert dataset.num_seqs == 6


def test_random_numbers_belong_to_the_sequence(make: Any) -> None:
    """In new versions: RandomState((seed of the epoch, corpus index)), whatever the order."""
    BehaviorVersion._reset(31)
    try:
        expected = {i: numpy.random.RandomState((2, i)).randint(0, 100) + 4 + i for i in range(3)}
        for order in ("default", "reverse"):
            seqs = read_epoch(make({**_dummy, "seq_ordering": order}, map_seq=add_random), 2)
            assert {int(seq.tag[4:]): seq.data["classes"][0] for seq in seqs} == expected
    finally:
        BehaviorVersion._reset()


@pytest.mark.parametrize("num_workers", [0, 1, 3])
def test_stream_that_changes_the_number(make: Any, num_workers: int) -> None:
    """Sequences of 8, 2, 6, 4 frames, each twice. Workers get 0 3 6 9, 1 4 7, 2 5 8, and give by turns."""
    dataset = make(_static, map_seq_stream=even_ones_twice, num_workers=num_workers)
    dataset.init_seq_order(1)
    with pytest.raises(NotImplementedError):
        len(dataset.get_all_tags())
    seqs = tags(list(iterate(dataset)))
    if num_workers < 3:
        assert seqs == [f"seq-{i}" for i in (6, 6, 7, 7, 8, 8, 9, 9)]
    else:
        assert seqs == [f"seq-{i}" for i in (6, 7, 8, 6, 7, 8, 9, 9)]
    assert dataset.num_seqs == 8
    fractions = [dataset.get_complete_frac(i) for i in range(6, 8)]
    assert fractions == sorted(fractions)


def test_stream_in_a_worker_has_its_seed(make: Any) -> None:
    """Worker i of W: (seed of the epoch * 683859 * W + 30411 * i) % (2**32 - 1); here epoch 3."""
    dataset = make(_dummy, map_seq_stream=add_random_stream, num_workers=2)
    rngs = [numpy.random.RandomState((3 * 683859 * 2 + 30411 * i) % (2**32 - 1)) for i in range(2)]
    expected = [4 + i + rngs[i % 2].randint(0, 100) for i in range(3)]
    assert [seq.data["classes"][0] for seq in read_epoch(dataset, 3)] == expected


def test_laplace_ordering(make: Any) -> None:
    """Bins of 4 sequences with lengths 5391 7382 64: up, down, up. Fractions stay in place."""
    dataset = make(_static, map_seq_stream=LaplaceOrdering(4))
    dataset.init_seq_order(1)
    assert dataset.num_seqs == 10
    seqs, fractions = [], []
    for i, seq in enumerate(iterate(dataset)):
        seqs.append(seq)
        fractions.append(dataset.get_complete_frac(i))
    assert tags(seqs) == [f"seq-{i}" for i in (3, 1, 0, 2, 6, 4, 5, 7, 9, 8)]
    assert fractions == pytest.approx([0.1 * i for i in range(1, 11)])


def test_sequential(make: Any) -> None:
    """g(f(x)); the number is known if all functions keep it."""
    dataset = make(_dummy, map_seq=Sequential(add_random, add_random))
    assert read_epoch(dataset, 1)[0].data["classes"][0] == 4 + 37 + 12
    assert Sequential(LaplaceOrdering(2), LaplaceOrdering(3)).preserves_num_seqs
    assert not Sequential(LaplaceOrdering(2), even_ones_twice).preserves_num_seqs


_feature_dim = Dim(3, name="feature")


def to_sums(data: TensorDict, **kwargs: Any) -> TensorDict:
    res = TensorDict({key: data[key] for key in ("complete_frac", "seq_idx", "seq_tag")})
    values = data["data"].raw_tensor
    res["sum"] = Tensor("sum", dims=[_feature_dim], dtype="float32", raw_tensor=values.sum(axis=0))
    res["len"] = Tensor("len", dims=[], dtype="int32", raw_tensor=numpy.array(len(values), dtype="int32"))
    return res


@pytest.mark.parametrize("num_workers", [0, 2])
def test_other_keys(make: Any, num_workers: int) -> None:
    """Sequence 3 has the one frame [0, 1, 2], sequence 7 also [3, 4, 5]."""
    outputs = {"sum": {"dims": [_feature_dim], "dtype": "float32"}, "len": {"shape": (), "dtype": "int32"}}
    dataset = make(_static, map_seq=to_sums, map_outputs=outputs, num_workers=num_workers)
    assert dataset.get_data_keys() == ["sum", "len"]
    assert (dataset.get_data_dtype("len"), dataset.is_data_sparse("len")) == ("int32", False)
    seqs = read_epoch(dataset, 1, seq_order=[3, 7])
    assert [seq.data for seq in seqs] == [{"sum": [0, 1, 2], "len": 1}, {"sum": [3, 5, 7], "len": 2}]


def _no_fraction(data: TensorDict, **kwargs: Any) -> TensorDict:
    del data.data["complete_frac"]
    return data


def _fewer_features(data: TensorDict, **kwargs: Any) -> TensorDict:
    data["data"] = data["data"].like(data["data"].raw_tensor[:, :2], dims=(Dim(None, name="t"), Dim(2, name="f")))
    return data


def _other_dtype(data: TensorDict, **kwargs: Any) -> TensorDict:
    data["data"] = data["data"].like(data["data"].raw_tensor.astype("float64"), dtype="float64")
    return data


def _one_more_key(data: TensorDict, **kwargs: Any) -> TensorDict:
    data["more"] = data["data"]
    return data


def _fails(data: TensorDict, **kwargs: Any) -> TensorDict:
    raise ValueError("not my day")


@pytest.mark.parametrize(
    ["func", "message"],
    [
        (_no_fraction, "PostprocessingDataset 'train': map_seq: the result lacks 'complete_frac'"),
        (
            _fewer_features,
            r"map_seq: the result for sequence 'seq-0': 'data' has shape \[5, 2\], but .* is \[None, 3\]",
        ),
        (_other_dtype, "'data' has dtype float64, but expected is float32"),
        (_one_more_key, "the result has also 'more'.*need map_outputs"),
        (_fails, r"(?s)map_seq, sequence 'seq-0'.*ValueError: not my day.*in _fails"),
        (lambda data: data, "map_seq must accept further keyword arguments"),
        (lambda data, **kwargs: None, "map_seq must give a TensorDict, but gave NoneType"),
    ],
)
def test_wrong_functions(make: Any, func: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_epoch(make(_static, map_seq=func), 1)


def test_wrong_function_in_a_worker(make: Any) -> None:
    message = r"map_seq, sequence 'seq-0'(.*\n)*.*ValueError: not my day(.*\n)*.*\(in PP worker 0 of 'train'\)$"
    with pytest.raises(ConfigError, match=message):
        read_epoch(make(_static, map_seq=_fails, num_workers=1), 1)


def _backwards(stream: Iterator[TensorDict], **kwargs: Any) -> Iterator[TensorDict]:
    yield from reversed(list(stream))


def test_fractions_must_grow(make: Any) -> None:
    with pytest.raises(ConfigError, match="complete_frac must only grow, .* is 0.9 for sequence 'seq-8', behind 1"):
        read_epoch(make(_static, map_seq_stream=_backwards), 1)


def test_number_must_be_kept_if_promised(make: Any) -> None:
    dataset = make(_static, map_seq_stream=even_ones_twice, map_seq_stream_preserves_num_seqs=True)
    with pytest.raises(ConfigError, match="map_seq_stream gave only 8 of 10 sequences"):
        read_epoch(dataset, 1)


def _dies(data: TensorDict, *, seq_idx: int, **kwargs: Any) -> TensorDict:
    if seq_idx == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return data


def test_killed_worker(make: Any) -> None:
    with pytest.raises(WorkerError, match="PP worker 1 of 'train' .* was killed by SIGKILL"):
        read_epoch(make(_static, map_seq=_dies, num_workers=2), 1)


@pytest.mark.parametrize(
    ["opts", "message"],
    [
        ({"map_seq": add_random, "seq_ordering": "random"}, "seq_ordering 'random' must be set in the dataset inside"),
        ({}, "needs either map_seq or map_seq_stream, and not both"),
        ({"map_seq": add_random, "map_seq_stream": even_ones_twice}, "needs either map_seq or map_seq_stream"),
        ({"map_seq": "f"}, "map_seq must be a function, but is 'f'"),
        ({"map_seq": add_random, "num_workers": -1}, "num_workers must be an int, at least 0, but is -1"),
        ({"map_seq": add_random, "seq_list_filter_file": "x"}, "seq_list_filter_file has no effect .* dataset inside"),
    ],
)
def test_bad_options(make: Any, opts: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError, match=f"PostprocessingDataset 'train': .*{message}"):
        make(_static, **opts)


def test_wrong_order_is_a_value_error(make: Any) -> None:
    with pytest.raises(ValueError):
        make(_static, map_seq=add_random, seq_ordering="random")
