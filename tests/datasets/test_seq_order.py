"""Order of sequences: rules, seeds, parts, filters."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path
from typing import Any

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from returnn.datasets.basic import init_dataset
from returnn.datasets.seq_order import SeqOrderingError, first_of_each_tag
from returnn.util.errors import ConfigError, UserError

lens = [5, 3, 9, 1, 7, 3, 8, 2, 6, 4]

PERMUTATIONS = [
    "default",
    "reverse",
    "random",
    "random:2",
    "sorted",
    "sorted_reverse",
    "laplace",
    "laplace:3",
    "laplace:.2:2",
    "sort_bin_shuffle:3",
    "sort_bin_shuffle:.4",
    "sort_bin_shuffle_x2:2:3",
]


def order(seq_ordering: Any, epoch: int = 1, seq_lens: list[int] = lens, **opts: Any) -> list[int]:
    """:return: corpus indices of the epoch"""
    data = [{"data": numpy.zeros((n, 1), "float32")} for n in seq_lens]
    dataset = init_dataset({"class": "StaticDataset", "data": data, "seq_ordering": seq_ordering, **opts})
    dataset.init_seq_order(epoch)
    return [int(i) for i in dataset.get_current_seq_order()]


@pytest.mark.parametrize(
    "rule,epoch,expected",
    [
        ("sorted", 1, [3, 7, 1, 5, 9, 0, 8, 4, 6, 2]),
        ("sorted_reverse", 1, [2, 6, 4, 8, 0, 9, 1, 5, 7, 3]),
        ("random", 1, [2, 9, 6, 4, 0, 3, 1, 7, 8, 5]),
        ("random", 2, [4, 1, 5, 0, 7, 2, 3, 6, 9, 8]),
        ("random:2", 2, [2, 9, 6, 4, 0, 3, 1, 7, 8, 5]),
        ("random:2", 3, [4, 1, 5, 0, 7, 2, 3, 6, 9, 8]),
        ("random_sample", 1, [5, 8, 9, 5, 0, 0, 1, 7, 6, 9]),
        ("laplace", 1, [9, 0, 4, 6, 2, 8, 1, 5, 7, 3]),
        ("laplace:.4", 1, [9, 0, 4, 6, 2, 8, 1, 5, 7, 3]),
        ("laplace:3", 1, [9, 6, 2, 4, 0, 3, 7, 1, 5, 8]),
        ("laplace:3", 2, [1, 5, 4, 2, 0, 7, 3, 9, 8, 6]),
        ("sort_bin_shuffle:3", 1, [8, 4, 6, 2, 3, 7, 1, 5, 9, 0]),
        ("sort_bin_shuffle_x2:3", 1, [2, 8, 4, 6, 7, 1, 3, 0, 5, 9]),
        ("default_every_n:3", 1, [0, 3, 6, 1, 4, 7, 2, 5, 8]),
        ("reverse", 1, [9, 8, 7, 6, 5, 4, 3, 2, 1, 0]),
    ],
)
def test_rules(rule: str, epoch: int, expected: list[int]) -> None:
    """Ten sequences, no seed offset. Ties of "sorted" keep the corpus order: 1 before 5, both of length 3."""
    assert order(rule, epoch) == expected


def test_seeds() -> None:
    """A fixed seed 7 ignores epoch and offset; an offset of 5 makes epoch 1 the seed 6."""
    fixed = [8, 5, 0, 2, 1, 9, 7, 3, 6, 4]
    assert order("random", 1, fixed_random_seed=7) == fixed
    assert order("random", 3, fixed_random_seed=7, random_seed_offset=5) == fixed
    assert order("random", 1, random_seed_offset=5) == [8, 1, 7, 0, 6, 5, 2, 4, 3, 9] == order("random", 6)


def test_parts_of_an_epoch() -> None:
    """10 = 4 + 3 + 3. One full pass has one seed, so epochs 1 to 3 are parts of the order of epoch 1."""
    parts = [order("random", epoch, partition_epoch=3) for epoch in (1, 2, 3, 4)]
    assert parts == [[2, 9, 6, 4], [0, 3, 1], [7, 8, 5], [4, 1, 5, 0]]


def test_parts_and_shards() -> None:
    """Four parts of 3, 3, 2, 2; shard 1 has the second and the fourth one."""
    opts = {"partition_epoch": 2, "_num_shards": 2, "_shard_index": 1}
    assert [order("default", epoch, **opts) for epoch in (1, 2)] == [[3, 4, 5], [8, 9]]


def test_repeated_epoch() -> None:
    """The same order twice in a row."""
    assert order("random", seq_lens=[1] * 4, repeat_epoch=2) == [3, 2, 0, 1, 3, 2, 0, 1]
    with pytest.raises(ConfigError, match="exclude each other"):
        order("default", repeat_epoch=2, partition_epoch=2)


def test_rule_by_function() -> None:
    """The function gets the epoch, and must be ready for more."""
    assert order(lambda epoch, **_kwargs: "reverse" if epoch == 2 else "default", 2) == list(range(9, -1, -1))
    with pytest.raises(ConfigError, match="must accept further keyword arguments: def f"):
        order(lambda epoch: "default")
    with pytest.raises(TypeError, match="returned 3, expected a str"):
        order(lambda **_kwargs: 3)


@pytest.mark.parametrize("rule", ["randm", "laplace:x", "laplace:0", "default:3", "default_every_n", "random:1:2"])
def test_invalid_rule(rule: str) -> None:
    """Also a ValueError, for those who catch that; it names the rule and what there is."""
    with pytest.raises(ValueError, match="StaticDataset 'train': invalid seq_ordering '%s'" % rule) as exc_info:
        order(rule, name="train")
    assert isinstance(exc_info.value, SeqOrderingError) and isinstance(exc_info.value, UserError)
    assert ('Did you mean "random"' in str(exc_info.value)) == (rule == "randm")


def test_order_by_length_needs_lengths() -> None:
    """Generated data has no lengths. The defaults of dev and eval must work nevertheless, others are an error."""
    opts = {"class": "Task12AXDataset", "num_seqs": 3, "name": "dev"}
    dataset = init_dataset({**opts, "seq_ordering": "sorted"})
    dataset.init_seq_order(1)
    assert list(dataset.get_current_seq_order()) == [0, 1, 2]
    dataset = init_dataset({**opts, "seq_ordering": "laplace:.10"})
    with pytest.raises(ConfigError, match="Task12AXDataset 'dev': seq_ordering 'laplace:.10' needs the lengths"):
        dataset.init_seq_order(1)


def test_lengths_from_a_file(tmp_path: Path) -> None:
    """seq-0 is said to be the longest."""
    filename = tmp_path / "lens.py.gz"
    filename.write_bytes(gzip.compress(repr({"seq-%i" % i: 10 - i for i in range(3)}).encode()))
    opts = {"class": "DummyDataset", "input_dim": 1, "output_dim": 2, "num_seqs": 3, "seq_ordering": "sorted"}
    dataset = init_dataset({**opts, "seq_order_seq_lens_file": str(filename)})
    dataset.init_seq_order(1)
    assert list(dataset.get_current_seq_order()) == [2, 1, 0]
    dataset = init_dataset({**opts, "num_seqs": 4, "seq_order_seq_lens_file": str(filename)})
    with pytest.raises(UserError, match="has no length for the sequence 'seq-3'"):
        dataset.init_seq_order(1)


@pytest.mark.parametrize("name", ["tags.txt", "tags.txt.gz", "tags.pkl", "tags.pkl.gz"])
def test_filter_inside_of_parts(tmp_path: Path, name: str) -> None:
    """seq-2 is in the first half, seq-7 in the second one."""
    content = pickle.dumps(["seq-2", "seq-7"]) if ".pkl" in name else b"seq-2\nseq-7\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    opts = {"partition_epoch": 2, "seq_list_filter_file": str(tmp_path / name)}
    assert [order("default", epoch, **opts) for epoch in (1, 2)] == [[2], [7]]


def test_filter_that_leaves_nothing(tmp_path: Path) -> None:
    """The message has a tag of each side."""
    (tmp_path / "tags").write_text("seq-99\n")
    with pytest.raises(AssertionError, match="leaves no sequence.*'seq-99'.*'seq-0'"):
        order("default", seq_list_filter_file=str(tmp_path / "tags"))
    with pytest.raises(UserError, match="Cannot read '/nowhere/tags'"):
        order("default", seq_list_filter_file="/nowhere/tags")
    (tmp_path / "tags.pkl").write_bytes(b"x")
    with pytest.raises(UserError, match="expected a pickled list"):
        order("default", seq_list_filter_file=str(tmp_path / "tags.pkl"))


def test_given_order() -> None:
    """By tags, or by corpus indices; both win over seq_ordering. An unknown tag is named."""
    dataset = init_dataset({"class": "DummyDataset", "input_dim": 1, "output_dim": 2, "num_seqs": 5})
    dataset.init_seq_order(1, seq_list=["seq-3", "seq-1"])
    assert list(dataset.get_current_seq_order()) == [3, 1] and dataset.get_tag(1) == "seq-1"
    dataset.init_seq_order(1, seq_order=[4, 0])
    assert list(dataset.get_current_seq_order()) == [4, 0]
    with pytest.raises(UserError, match="1 of 2 wanted sequences are not there, for example 'nobody'"):
        dataset.init_seq_order(1, seq_list=["seq-3", "nobody"])


@settings(max_examples=50, deadline=None)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.sampled_from(PERMUTATIONS), st.integers(1, 9))
def test_order_is_a_permutation(seq_lens: list[int], rule: str, epoch: int) -> None:
    """Every sequence once."""
    assert sorted(order(rule, epoch, seq_lens)) == list(range(len(seq_lens)))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=30),
    st.sampled_from(PERMUTATIONS),
    st.integers(1, 5),
    st.integers(1, 3),
    st.integers(0, 3),
)
def test_parts_of_all_shards_cover_all_once(
    seq_lens: list[int], rule: str, num_parts: int, num_shards: int, num_passes_before: int
) -> None:
    """Over one full pass; sizes differ by one at most."""
    parts = [
        order(rule, epoch, seq_lens, partition_epoch=num_parts, _num_shards=num_shards, _shard_index=shard)
        for epoch in range(num_passes_before * num_parts + 1, (num_passes_before + 1) * num_parts + 1)
        for shard in range(num_shards)
    ]
    assert sorted(sum(parts, [])) == list(range(len(seq_lens)))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_unique_tags_keep_the_first_of_each() -> None:
    """Tags aabbccddee, order 2 9 6 4 0 3 1 7 8 5, which are b e d c a b a d e c."""
    assert list(first_of_each_tag([2, 9, 6, 4, 0, 3, 1, 7, 8, 5], "aabbccddee")) == [2, 9, 6, 4, 0]
