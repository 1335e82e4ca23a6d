"""ClusteringDataset, ChunkShuffleDataset, VariableDataset, MultiEpochDataset, AnythingDataset."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.datasets.basic import DatasetSeq, init_dataset
from returnn.datasets.cached2 import CachedDataset2
from returnn.util.errors import ConfigError, UserError

from ..reading import read_epoch, tags


def static(lens: list[int], **options: Any) -> dict[str, Any]:
    """Sequence i is 100 * i + (0, 1, 2, ...)."""
    data = [{"data": 100 * i + numpy.arange(n, dtype="int32")} for i, n in enumerate(lens)]
    return {"class": "StaticDataset", "data": data, "output_dim": {"data": (1000, 1)}, **options}


class Unknown(CachedDataset2):
    """Two sequences per epoch, whose number shows at the end."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.num_outputs = {"data": (9, 1)}

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        assert self.epoch is not None
        return None if seq_idx == 2 else DatasetSeq(seq_idx, numpy.array([self.epoch]))


class TestClustering:
    """One more data key."""

    @pytest.fixture
    def options(self, tmp_path: Path) -> dict[str, Any]:
        """Clusters 2 0 2 2."""
        items = "".join(f'<map-item key="seq-{i}" value="{c}"/>\n' for i, c in enumerate([2, 0, 2, 2]))
        (tmp_path / "map.xml").write_text(f"<?xml?>\n<coprus-key-map>\n{items}</coprus-key-map>\n")
        name = str(tmp_path / "map.xml")
        return {"class": "ClusteringDataset", "dataset": static([2] * 4), "cluster_map_file": name, "n_clusters": 3}

    def test_data(self, options: dict[str, Any]) -> None:
        """[1], int32, three classes."""
        dataset = init_dataset(options)
        assert [seq.data["cluster_idx"] for seq in read_epoch(dataset, 1)] == [[2], [0], [2], [2]]
        assert dataset.get_data_keys() == ["data", "cluster_idx"] and dataset.get_target_list() == ["cluster_idx"]
        assert dataset.get_data_dim("cluster_idx") == 3 and dataset.is_data_sparse("cluster_idx")
        assert dataset.get_corpus_seq(1).features["cluster_idx"].tolist() == [0]
        assert read_epoch(pickle.loads(pickle.dumps(dataset)), 2) == read_epoch(dataset, 2)

    @pytest.mark.parametrize("single,groups", [(False, [[0, 1, 2], [3]]), (True, [[0], [1], [2, 3]])])
    def test_batches(self, options: dict[str, Any], single: bool, groups: list[list[int]]) -> None:
        """Six frames fit into a batch."""
        dataset = init_dataset({**options, "single_cluster": single})
        dataset.init_seq_order(1)
        batches = dataset.generate_batches(batch_size=6)
        res = []
        while batches.has_more():
            (batch,) = batches.peek_next_n(1)
            dataset.load_seqs(batch.start_seq or 0, batch.end_seq or 0)
            res.append([part.seq_idx for part in batch.seqs])
            batches.advance(1)
        assert res == groups

    def test_mistakes(self, options: dict[str, Any], tmp_path: Path) -> None:
        """In the map."""
        with pytest.raises(ConfigError, match="cluster of 'seq-0' must be in 0..1, but is '2'"):
            init_dataset({**options, "n_clusters": 2})
        (tmp_path / "other").write_text("x\n")
        with pytest.raises(ConfigError, match="is no map"):
            init_dataset({**options, "cluster_map_file": str(tmp_path / "other")})
        with pytest.raises(ConfigError, match="cluster_map_file not found"):
            init_dataset({**options, "cluster_map_file": str(tmp_path / "none")})
        dataset = init_dataset({**options, "dataset": static([1] * 5)})
        with pytest.raises(UserError, match="no cluster for the sequence 'seq-4', but for example for 'seq-0'"):
            read_epoch(dataset, 1)


class TestChunkShuffle:
    """Chunks as sequences."""

    options = {"class": "ChunkShuffleDataset", "dataset": static([5, 2, 4], chunking="3:2")}
    chunks = {
        "seq-0.0": [0, 1, 2],
        "seq-0.1": [2, 3, 4],
        "seq-0.2": [4],
        "seq-1.0": [100, 101],
        "seq-2.0": [200, 201, 202],
        "seq-2.1": [202, 203],
    }

    def test_all_chunks_shuffled(self) -> None:
        """Another order in each epoch, the same one if it is read again."""
        dataset = init_dataset(self.options)
        epochs = [read_epoch(dataset, epoch) for epoch in (1, 2, 1)]
        for seqs in epochs:
            assert {seq.tag: seq.data["data"] for seq in seqs} == self.chunks and len(seqs) == 6
        assert tags(epochs[0]) == tags(epochs[2]) != tags(epochs[1])
        assert tags(epochs[0]) != list(self.chunks)

    def test_blocks(self) -> None:
        """Two at a time; one at a time is the order of the dataset."""
        seqs = tags(read_epoch(init_dataset({**self.options, "chunk_shuffle_cache": 2}), 1))
        expected = list(self.chunks)
        assert [sorted(seqs[i : i + 2]) for i in (0, 2, 4)] == [expected[i : i + 2] for i in (0, 2, 4)]
        assert tags(read_epoch(init_dataset({**self.options, "chunk_shuffle_cache": 1}), 1)) == expected

    def test_context(self) -> None:
        """Frames outside of the sequence are zeros."""
        dataset = static([3], chunking="2:2", context_window=3)
        seqs = read_epoch(init_dataset({**self.options, "dataset": dataset, "chunk_shuffle_cache": 1}), 1)
        assert [seq.data["data"] for seq in seqs] == [[0, 0, 1, 2], [1, 2, 0]]


class TestVariable:
    """Another dataset in each epoch."""

    def test_epochs(self) -> None:
        """Equal options give the same dataset again, if it is still there."""
        made: list[int] = []

        class Counted(Unknown):
            """Counts."""

            def __init__(self, number: int, **kwargs: Any):
                super().__init__(**kwargs)
                self.number = number
                made.append(number)

        def get_dataset(self: Any, epoch: int, **_kwargs: Any) -> dict[str, Any]:
            return {"class": Counted, "number": (epoch + 1) // 2 % 2}

        dataset = init_dataset({"class": "VariableDataset", "get_dataset": get_dataset})
        for epoch in range(1, 7):
            assert [seq.data["data"] for seq in read_epoch(dataset, epoch)] == [[epoch], [epoch]]
        assert made == [1, 0, 1]
        made.clear()
        dataset = init_dataset({"class": "VariableDataset", "get_dataset": get_dataset, "dataset_lru_cache_size": 2})
        for epoch in range(1, 7):
            dataset.init_seq_order(epoch)
        assert made == [1, 0]

    def test_tags(self) -> None:
        """Known only if promised; then it can control a MetaDataset."""

        def get_dataset(epoch: int, **_kwargs: Any) -> dict[str, Any]:
            return static([1, 2, 3], seq_ordering="reverse" if epoch == 2 else "default")

        options = {"class": "VariableDataset", "get_dataset": get_dataset}
        with pytest.raises(NotImplementedError, match="set always_same_tags=True"):
            init_dataset(options).get_all_tags()
        meta = {
            "class": "MetaDataset",
            "datasets": {"v": {**options, "always_same_tags": True}, "s": static([3, 4, 5])},
            "data_map": {"data": ("v", "data"), "classes": ("s", "data")},
            "seq_order_control_dataset": "v",
        }
        dataset = init_dataset(meta)
        assert [tags(read_epoch(dataset, epoch)) for epoch in (1, 2)] == [
            ["seq-0", "seq-1", "seq-2"],
            ["seq-2", "seq-1", "seq-0"],
        ]

    def test_mistakes(self) -> None:
        """In the function, and what it returns."""
        with pytest.raises(ConfigError, match="get_dataset must be a function, but is 3"):
            init_dataset({"class": "VariableDataset", "get_dataset": 3})
        with pytest.raises(ConfigError, match="get_dataset must return a dict for epoch 1, got None"):
            init_dataset({"class": "VariableDataset", "get_dataset": lambda **_kwargs: None})
        with pytest.raises(ConfigError, match="must accept further keyword arguments"):
            init_dataset({"class": "VariableDataset", "get_dataset": lambda self, epoch: static([1])})
        dataset = init_dataset(
            {
                "class": "VariableDataset",
                "get_dataset": lambda epoch, **_kwargs: static([1], output_dim={"data": (epoch, 1)}),
            }
        )
        with pytest.raises(
            ConfigError, match="'data' must be the same in all epochs, but .* and is .2, ... in epoch 2"
        ):
            dataset.init_seq_order(2)


class TestMultiEpoch:
    """Several epochs as one."""

    def test_known_sizes(self) -> None:
        """Two thirds of the data are an epoch; sizes and order are known in advance."""
        sub = static([1] * 7, partition_epoch=3)
        dataset = init_dataset({"class": "MultiEpochDataset", "dataset": sub, "multi_epoch": 2})
        orders = [[0, 1, 2, 3, 4], [5, 6, 0, 1, 2], [3, 4, 5, 6]]
        for epoch, order in enumerate(orders, 1):
            assert tags(read_epoch(dataset, epoch)) == [f"seq-{i}" for i in order]
            dataset.init_seq_order(epoch)
            assert dataset.num_seqs == len(order) and [int(i) for i in dataset.get_current_seq_order()] == order
            assert [dataset.get_corpus_seq_idx(i) for i in range(len(order))] == order
        assert dataset.get_total_num_seqs() == 7
        assert tags(read_epoch(dataset, 2, seq_list=["seq-3", "seq-1"])) == ["seq-3", "seq-1"]
        assert tags(read_epoch(pickle.loads(pickle.dumps(dataset)), 3)) == ["seq-3", "seq-4", "seq-5", "seq-6"]

    def test_unknown_sizes(self) -> None:
        """Epoch 2 is the inner epochs 4 to 6."""
        dataset = init_dataset({"class": "MultiEpochDataset", "dataset": {"class": Unknown}, "multi_epoch": 3})
        assert [seq.data["data"][0] for seq in read_epoch(dataset, 2)] == [4, 4, 5, 5, 6, 6]
        dataset.init_seq_order(1)
        with pytest.raises(NotImplementedError):
            dataset.num_seqs  # noqa: B018
        fractions = []
        for i in range(6):
            dataset.load_seqs(i, i + 1)
            fractions.append(dataset.get_complete_frac(i) or 0.0)
        assert fractions == sorted(fractions) and fractions[4] > 2 / 3 - 1e-6

    def test_mistakes(self) -> None:
        """Of options."""
        with pytest.raises(ConfigError, match="multi_epoch must be an int, at least 1, but is 0"):
            init_dataset({"class": "MultiEpochDataset", "dataset": static([1]), "multi_epoch": 0})


class TestAnything:
    """Zeros."""

    options = {
        "class": "AnythingDataset",
        "data_keys": {
            "data": {"dim": 3},
            "classes": {"dim": 5, "sparse": True},
            "vector": {"shape": (2,), "dtype": "int16"},
            "image": {"shape": (None, None, 4)},
            "text": {"dim": 1, "shape": (), "dtype": "string"},
        },
    }

    def test_data(self) -> None:
        """One frame each, without an end."""
        dataset = init_dataset(self.options)
        assert dataset.num_seqs == 0
        dataset.init_seq_order(1)
        assert dataset.num_seqs == float("inf") and dataset.is_less_than_num_seqs(10**9)
        values = {key: dataset.get_data(7, key) for key in dataset.get_data_keys()}
        assert {key: (value.shape, str(value.dtype)) for key, value in values.items()} == {
            "data": ((1, 3), "float32"),
            "classes": ((1,), "int32"),
            "vector": ((2,), "int16"),
            "image": ((1, 1, 4), "float32"),
            "text": ((), "<U1"),
        }
        assert not any(value.any() for value in values.values())
        assert dataset.get_seq_length(7).dict == {"data": 1, "classes": 1, "vector": 2, "image": 1, "text": 1}
        shapes = {key: dataset.get_data_shape(key) for key in values}
        assert shapes == {"data": [3], "classes": [], "vector": [2], "image": [None, 4], "text": []}

    def test_given_lists(self) -> None:
        """Any tags, any indices."""
        dataset = init_dataset(self.options)
        assert tags(read_epoch(dataset, 1, seq_list=["x", "y"])) == ["x", "y"]
        assert tags(read_epoch(dataset, 1, seq_order=[4, 2])) == ["seq-4", "seq-2"]
        assert tags(read_epoch(pickle.loads(pickle.dumps(dataset)), 1, seq_list=["z"])) == ["z"]

    def test_mistakes(self) -> None:
        """Of options."""
        with pytest.raises(ConfigError, match="data_keys.'x'. needs dim, or shape"):
            init_dataset({"class": "AnythingDataset", "data_keys": {"x": {"dtype": "int32"}}})
