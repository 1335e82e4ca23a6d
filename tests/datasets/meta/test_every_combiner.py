"""Laws for all datasets that are made of others, also of each other."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

from returnn.datasets.basic import init_dataset
from tests.data_cases.data_files import simple_hdf, write_text

from ..reading import read_epoch, tags


def _get_dataset(epoch: int, **_kwargs: Any) -> dict[str, Any]:
    return {"class": "HDFDataset", "files": ["a.hdf"], "seq_ordering": "random"}


a = {"class": "HDFDataset", "files": ["a.hdf"], "seq_ordering": "random"}
b = {"class": "HDFDataset", "files": ["b.hdf"]}
zeros = {"class": "AnythingDataset", "data_keys": {"data": {"dim": 2}}}

meta = {
    "class": "MetaDataset",
    "datasets": {"a": a, "zeros": zeros},
    "data_map": {"data": ("a", "data"), "classes": ("zeros", "data")},
}
both = {"datasets": {"a": a, "b": b}, "data_map": {("a", "data"): "data", ("b", "data"): "data"}}

combiners: dict[str, dict[str, Any]] = {
    "meta": meta,
    "meta with control": {**meta, "seq_order_control_dataset": "a"},
    "meta random": {**meta, "seq_ordering": "random"},
    "combined": {"class": "CombinedDataset", **both},
    "combined random": {"class": "CombinedDataset", **both, "seq_ordering": "random"},
    "combined interleave": {
        "class": "CombinedDataset",
        **both,
        "seq_ordering": "interleave",
        "interleave_gumbel_scale": 1.0,
    },
    "concat": {"class": "ConcatDataset", "datasets": [a, b]},
    "concat seqs": {"class": "ConcatSeqsDataset", "dataset": a, "seq_list_file": "list", "seq_ordering": "random"},
    "clustering": {"class": "ClusteringDataset", "dataset": a, "cluster_map_file": "map", "n_clusters": 2},
    "variable": {"class": "VariableDataset", "get_dataset": _get_dataset, "always_same_tags": True},
    "multi epoch": {"class": "MultiEpochDataset", "dataset": {**a, "partition_epoch": 2}, "multi_epoch": 2},
}


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Five and three sequences."""
    monkeypatch.chdir(tmp_path)
    simple_hdf("a.hdf", [4, 2, 6, 3, 1], dim=2)
    simple_hdf("b.hdf", [2, 5, 3], dim=2, seed=30, first=5)
    write_text("list", "seq-0;seq-1\nseq-4\nseq-2;seq-3\n")
    items = "".join(f'<map-item key="seq-{i}" value="{i % 2}"/>\n' for i in range(8))
    write_text("map", f"<coprus-key-map>\n{items}")


@pytest.mark.parametrize("name", combiners)
class TestLaws:
    """Whatever it is made of."""

    def test_epochs_can_be_read_again(self, name: str) -> None:
        """The same number is the same epoch; another one has the same sequences. One without number has none."""
        dataset = init_dataset(combiners[name])
        epochs = [read_epoch(dataset, epoch) for epoch in (1, 2, 1)]
        assert epochs[0] == epochs[2] and sorted(tags(epochs[0])) == sorted(tags(epochs[1]))
        dataset.init_seq_order(None)
        assert dataset.num_seqs == 0 and not dataset.is_less_than_num_seqs(0)
        dataset.init_seq_order(2)
        dataset.load_seqs(0, 2)  # and left
        assert read_epoch(dataset, 1) == epochs[0]
        dataset.finish_epoch(free_resources=True)
        assert read_epoch(dataset, 1) == epochs[0]

    def test_order_is_told(self, name: str) -> None:
        """Corpus indices of the epoch are positions of the tags; given again, they are the same epoch."""
        dataset = init_dataset(combiners[name])
        dataset.init_seq_order(2)
        order = [int(i) for i in dataset.get_current_seq_order()]
        all_tags = list(dataset.get_all_tags())
        seqs = read_epoch(dataset, 2)
        assert tags(seqs) == [all_tags[i] for i in order] and len(all_tags) == dataset.get_total_num_seqs()
        assert sorted(order) == list(range(len(all_tags)))
        assert read_epoch(dataset, 2, seq_order=order) == seqs
        assert read_epoch(dataset, 2, seq_list=tags(seqs)) == seqs
        dataset.init_seq_order(2)
        assert dataset.have_corpus_seq_idx() and [dataset.get_corpus_seq_idx(i) for i in range(len(order))] == order

    def test_copy(self, name: str) -> None:
        """Reads the same."""
        dataset = init_dataset(combiners[name])
        assert read_epoch(pickle.loads(pickle.dumps(dataset)), 2) == read_epoch(dataset, 2)

    def test_shards(self, name: str) -> None:
        """Two shards have each sequence once."""
        dataset = init_dataset(combiners[name])
        shards = [init_dataset({**combiners[name], "_num_shards": 2, "_shard_index": i}) for i in range(2)]
        assert dataset.supports_sharding()
        expected = sorted(tags(read_epoch(dataset, 1)))
        parts = [tags(read_epoch(shard, 1)) for shard in shards]
        assert sorted(parts[0] + parts[1]) == expected and all(parts)

    def test_progress(self, name: str) -> None:
        """Grows to 1."""
        dataset = init_dataset(combiners[name])
        dataset.init_seq_order(1)
        fractions = []
        for i in range(dataset.num_seqs):
            dataset.load_seqs(i, i + 1)
            fractions.append(dataset.get_complete_frac(i))
        assert fractions == sorted(fractions) and fractions[0] > 0 and fractions[-1] == 1  # type: ignore[type-var,operator]

    def test_in_a_meta_dataset(self, name: str) -> None:
        """As control dataset of zeros, and as follower of itself."""
        expected = read_epoch(init_dataset(combiners[name]), 1)
        options = {
            "class": "MetaDataset",
            "datasets": {"x": combiners[name], "y": zeros, "z": combiners[name]},
            "data_map": {"data": ("x", "data"), "zeros": ("y", "data"), "other": ("z", "data")},
            "seq_order_control_dataset": "x",
        }
        seqs = read_epoch(init_dataset(options), 1)
        assert tags(seqs) == tags(expected)
        assert [seq.data["data"] for seq in seqs] == [seq.data["data"] for seq in expected]
        assert [seq.data["other"] for seq in seqs] == [seq.data["data"] for seq in expected]

    def test_in_a_combined_dataset(self, name: str) -> None:
        """Shuffled with another one, sorted by length, sampled."""
        expected = tags(read_epoch(init_dataset(combiners[name]), 1))
        options = {
            "class": "CombinedDataset",
            "datasets": {"x": combiners[name], "b": {**b, "files": ["b.hdf"]}},
            "data_map": {("x", "data"): "data", ("b", "data"): "data"},
        }
        for rule in ("random", "sorted", "default", "interleave"):
            seqs = tags(read_epoch(init_dataset({**options, "seq_ordering": rule}), 1))
            assert sorted(seqs) == sorted([*expected, "seq-5", "seq-6", "seq-7"])
        dataset = init_dataset({**options, "sampling_sizes": {"x": 4, "b": 2}})
        assert [len(read_epoch(dataset, epoch)) for epoch in (1, 2, 3)] == [6, 6, 6]
