"""MetaDataset: streams of the same sequences from several datasets."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.config import Config, global_config_ctx
from returnn.datasets.basic import Dataset, DatasetSeq, init_dataset
from returnn.datasets.cached2 import CachedDataset2
from returnn.util.errors import ConfigError, UserError
from tests.data_cases.data_files import simple_hdf, write_pickle, write_text

from ..reading import read_epoch, tags

WriteHdf = Callable[..., dict[str, Any]]


@pytest.fixture
def hdf(tmp_path: Path) -> WriteHdf:
    """Writes a file of sequences with these numbers. Sequence i is [[10 * i]] * (1 + i), or with another factor."""

    def write(name: str, numbers: list[int], factor: int = 10, **options: Any) -> dict[str, Any]:
        data = [{"data": numpy.full((1 + i, 1), float(factor * i), "float32")} for i in numbers]
        return {"class": Numbered, "numbers": numbers, "arrays": data, **options}

    return write


class Numbered(CachedDataset2):
    """Arrays with tags that tell more than a position."""

    def __init__(self, numbers: list[int], arrays: list[dict[str, numpy.ndarray]], **kwargs: Any):
        super().__init__(**kwargs)
        self.numbers, self.arrays = numbers, arrays
        self.num_outputs = {"data": (1, 2)}
        self.loaded = 0
        self._order: Any = []

    def init_seq_order(self, epoch: Any = None, seq_list: Any = None, seq_order: Any = None) -> bool:
        """Orders by length use the length."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        get_len = lambda i: len(self.arrays[i]["data"])  # noqa: E731
        self._order = self._corpus_order(epoch, seq_list, seq_order, num_seqs=len(self.numbers), get_seq_len=get_len)
        self._num_seqs = len(self._order)
        return True

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        self.loaded += 1
        i = self._order[seq_idx]
        return DatasetSeq(seq_idx, self.arrays[i], seq_tag=f"seq-{self.numbers[i]}")

    def get_all_tags(self) -> list[str]:
        """:return: by the numbers"""
        return [f"seq-{i}" for i in self.numbers]

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """:return: of the corpus"""
        return len(self.numbers)

    def get_current_seq_order(self) -> Any:
        """:return: as it is"""
        return self._order

    def have_corpus_seq_idx(self) -> bool:
        """:return: True"""
        return True

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """:return: as it is"""
        return int(self._order[seq_idx])

    def supports_sharding(self) -> bool:
        """:return: True"""
        return True


def meta(datasets: dict[str, Any], **options: Any) -> dict[str, Any]:
    """Data from A, classes from B."""
    return {
        "class": "MetaDataset",
        "name": "meta",
        "datasets": datasets,
        "data_map": {"data": ("A", "data"), "classes": ("B", "data")},
        **options,
    }


def values(dataset: Dataset, epoch: int, **kwargs: Any) -> list[tuple[str, float, float]]:
    """:return: tag, first values of data and classes"""
    return [(s.tag, s.data["data"][0][0], s.data["classes"][0][0]) for s in read_epoch(dataset, epoch, **kwargs)]


class TestLists:
    """Which sequences there are."""

    def test_lists_by_dataset(self, hdf: WriteHdf, tmp_path: Path) -> None:
        """Line i of one list belongs to line i of the other."""
        write_pickle(str(tmp_path / "list.pkl"), {"A": ["seq-3", "seq-1"], "B": ["seq-0", "seq-2"]})
        subs = {"A": hdf("a", [0, 1, 2, 3]), "B": hdf("b", [0, 1, 2, 3], factor=100)}
        options = meta(subs, seq_list_file=str(tmp_path / "list.pkl"))
        assert values(init_dataset(options), 1) == [("seq-3", 30, 0), ("seq-1", 10, 200)]
        assert values(init_dataset({**options, "seq_ordering": "reverse"}), 1) == [("seq-1", 10, 200), ("seq-3", 30, 0)]

    def test_one_list(self, hdf: WriteHdf, tmp_path: Path) -> None:
        """Text, for all datasets."""
        write_text(str(tmp_path / "list.gz"), "seq-2\nseq-0\n")
        subs = {"A": hdf("a", [0, 1, 2]), "B": hdf("b", [2, 1, 0], factor=100)}
        dataset = init_dataset(meta(subs, seq_list_file=str(tmp_path / "list.gz")))
        assert values(dataset, 1) == [("seq-2", 20, 200), ("seq-0", 0, 0)]
        assert dataset.get_all_tags() == ["seq-2", "seq-0"] and dataset.get_total_num_seqs() == 2

    def test_control_and_list(self, hdf: WriteHdf, tmp_path: Path) -> None:
        """The list says which sequences, the control dataset in which order."""
        write_text(str(tmp_path / "list"), "seq-1\nseq-0\nseq-2\n")
        subs = {"A": hdf("a", [0, 1, 2, 3], seq_ordering="reverse"), "B": hdf("b", [2, 1, 0, 3], factor=100)}
        dataset = init_dataset(meta(subs, seq_list_file=str(tmp_path / "list"), seq_order_control_dataset="A"))
        assert values(dataset, 1) == [("seq-2", 20, 200), ("seq-1", 10, 100), ("seq-0", 0, 0)]
        dataset.init_seq_order(1)
        assert list(dataset.get_current_seq_order()) == [2, 0, 1]  # in the list

    @pytest.mark.parametrize(
        "content,message",
        [
            ({"A": ["seq-1"]}, "seq_list_file has no list for the dataset 'B', only for ['A']"),
            ({"A": ["seq-1"], "B": []}, "must be equally long, but are: {'A': 1, 'B': 0}"),
            ([1, 2], "expected a pickled list of sequence tags"),
        ],
    )
    def test_bad_lists(self, hdf: WriteHdf, tmp_path: Path, content: Any, message: str) -> None:
        """What is wrong with them."""
        write_pickle(str(tmp_path / "list.pkl"), content)
        with pytest.raises(UserError) as exc_info:
            init_dataset(meta({"A": hdf("a", [1]), "B": hdf("b", [1])}, seq_list_file=str(tmp_path / "list.pkl")))
        assert message in str(exc_info.value)


class TestControlDataset:
    """Another dataset makes the order."""

    def test_order(self, hdf: WriteHdf) -> None:
        """Random order of 4 in epoch 1 is 3 2 0 1; two parts of it."""
        subs = {
            "A": hdf("a", [0, 1, 2, 3], seq_ordering="random", partition_epoch=2),
            "B": hdf("b", [3, 0, 2, 1], factor=100),
        }
        dataset = init_dataset(meta(subs, seq_order_control_dataset="A"))
        assert values(dataset, 1) == [("seq-3", 30, 300), ("seq-2", 20, 200)]
        assert values(dataset, 2) == [("seq-0", 0, 0), ("seq-1", 10, 100)]
        dataset.init_seq_order(2)
        assert list(dataset.get_current_seq_order()) == [0, 1] and dataset.get_corpus_seq_idx(1) == 1
        dataset.load_seqs(0, 1)
        assert dataset.get_complete_frac(0) == 0.5

    def test_order_that_is_only_set_outside_is_handed_on(self, hdf: WriteHdf) -> None:
        """As if it was set in the control dataset."""
        subs = {"A": hdf("a", [0, 1, 2, 3]), "B": hdf("b", [3, 0, 2, 1])}
        options = meta(subs, seq_order_control_dataset="A", seq_ordering="random", partition_epoch=2)
        dataset = init_dataset(options)
        assert tags(read_epoch(dataset, 1)) == ["seq-3", "seq-2"]
        assert tags(read_epoch(dataset, 2)) == ["seq-0", "seq-1"]

    def test_order_of_the_control_dataset_wins(self, hdf: WriteHdf) -> None:
        """`batching` of the config, and "sorted" of `dev`, are only defaults."""
        subs = {"A": hdf("a", [0, 1, 2], seq_ordering="reverse"), "B": hdf("b", [0, 1, 2])}
        dataset = init_dataset(meta(subs, seq_order_control_dataset="A", seq_ordering="sorted"))
        assert tags(read_epoch(dataset, 1)) == ["seq-2", "seq-1", "seq-0"]

    def test_two_partitions_contradict(self, hdf: WriteHdf) -> None:
        """One of them would be lost."""
        subs = {"A": hdf("a", [0, 1, 2], partition_epoch=3), "B": hdf("b", [0, 1, 2])}
        with pytest.raises(ConfigError, match="partition_epoch is 2 here, but 3 in the dataset 'A', which controls"):
            init_dataset(meta(subs, seq_order_control_dataset="A", partition_epoch=2))

    def test_sorted_goes_to_who_knows_lengths(self, hdf: WriteHdf, tmp_path: Path) -> None:
        """HDF does; generated data do not, and stay as they are instead of an error."""
        simple_hdf(str(tmp_path / "a.hdf"), [2, 1, 3])
        dummy = {"class": "DummyDataset", "input_dim": 2, "output_dim": 3, "num_seqs": 3}
        subs = {"A": {"class": "HDFDataset", "files": [str(tmp_path / "a.hdf")]}, "B": dummy}
        for control, order in (("A", ["seq-1", "seq-0", "seq-2"]), ("B", ["seq-0", "seq-1", "seq-2"])):
            dataset = init_dataset(meta(subs, seq_order_control_dataset=control, seq_ordering="sorted"))
            assert tags(read_epoch(dataset, 1)) == order
        assert not dataset.supports_seq_order_sorting()

    def test_order_that_is_set_later(self, hdf: WriteHdf) -> None:
        """As a search does, and undoes."""
        subs = {"A": hdf("a", [2, 0, 1], seq_ordering="reverse"), "B": hdf("b", [0, 1, 2])}
        dataset = init_dataset(meta(subs, seq_order_control_dataset="A"))
        before = dataset.seq_ordering
        dataset.seq_ordering = "sorted"
        assert tags(read_epoch(dataset, 1)) == ["seq-0", "seq-1", "seq-2"]
        assert tags(read_epoch(pickle.loads(pickle.dumps(dataset)), 1)) == ["seq-0", "seq-1", "seq-2"]
        dataset.seq_ordering = before
        assert tags(read_epoch(dataset, 1)) == ["seq-1", "seq-0", "seq-2"]

    def test_who_cannot_be_it(self, hdf: WriteHdf) -> None:
        """It must tell the order."""

        class Silent(Numbered):
            """Does not."""

            def get_current_seq_order(self) -> Any:
                return Dataset.get_current_seq_order(self)

        subs = {"A": {**hdf("a", [0]), "class": Silent}, "B": hdf("b", [0])}
        dataset = init_dataset(meta(subs, seq_order_control_dataset="A"))
        with pytest.raises(ConfigError, match=r"dataset 'A' \(Silent\) cannot be seq_order_control_dataset"):
            dataset.init_seq_order(1)

    def test_given_order_wins(self, hdf: WriteHdf) -> None:
        """Positions in the list of tags, or tags."""
        subs = {"A": hdf("a", [0, 1, 2], seq_ordering="reverse"), "B": hdf("b", [2, 0, 1])}
        dataset = init_dataset(meta(subs, seq_order_control_dataset="A"))
        assert tags(read_epoch(dataset, 1, seq_order=[1, 1, 2])) == ["seq-1", "seq-1", "seq-2"]
        assert tags(read_epoch(dataset, 1, seq_list=["seq-2", "seq-0"])) == ["seq-2", "seq-0"]


class TestMissing:
    """Sequences that one of the datasets does not have."""

    def test_message(self, hdf: WriteHdf, capsys: pytest.CaptureFixture[str]) -> None:
        """Before training starts."""
        subs = {"A": hdf("a", [0, 1, 2, 3], seq_ordering="random", partition_epoch=2), "B": hdf("b", [0, 1, 3])}
        with pytest.raises(ConfigError, match="^Dataset 'B' is missing seqs.*1 of the 4 .*for example 'seq-2'"):
            init_dataset(meta(subs, seq_order_control_dataset="A"))

    @pytest.mark.parametrize("control", [None, "A", "B"])
    def test_only_used_ones_count(self, hdf: WriteHdf, tmp_path: Path, control: str | None) -> None:
        """30 and 28 sequences, of which a filter leaves 5, which both have."""
        filename = str(tmp_path / "filter.txt")
        write_text(filename, "".join(f"seq-{i}\n" for i in range(0, 25, 5)))
        subs = {
            "A": hdf("a", list(range(30)), seq_list_filter_file=filename),
            "B": hdf("b", [i for i in range(30) if i not in (7, 9)], factor=100, seq_list_filter_file=filename),
        }
        dataset = init_dataset(meta(subs, seq_order_control_dataset=control))
        assert values(dataset, 1) == [(f"seq-{i}", 10 * i, 100 * i) for i in range(0, 25, 5)]

    def test_used_one_is_missing(self, hdf: WriteHdf, tmp_path: Path) -> None:
        """The totals look good, so it shows when the epoch starts."""
        subs = {"A": hdf("a", [0, 1]), "B": hdf("b", [0, 2, 3])}
        dataset = init_dataset(meta(subs))
        with pytest.raises(
            ConfigError, match="^Dataset 'B' is missing seqs.*'seq-1'.*Sequence 'seq-2' is there, but not"
        ):
            dataset.init_seq_order(1)

    def test_other_sequence_than_asked_for(self, hdf: WriteHdf) -> None:
        """Both tags, dataset and index are named."""

        class Wrong(Numbered):
            """Takes the list as it likes."""

            def init_seq_order(self, epoch: Any = None, seq_list: Any = None, seq_order: Any = None) -> bool:
                return super().init_seq_order(epoch=epoch)

        subs = {"A": hdf("a", [1, 0]), "B": {**hdf("b", [0, 1]), "class": Wrong, "name": "x"}}
        dataset = init_dataset(meta(subs))
        dataset.init_seq_order(1)
        with pytest.raises(
            UserError,
            match=r"sequence 0 of the epoch should be 'seq-1', but the dataset 'B' \(Wrong 'meta_B'\) gives 'seq-0'",
        ):
            dataset.load_seqs(0, 1)


class TestLengths:
    """Orders by length, without a control dataset."""

    def test_from_file(self, hdf: WriteHdf, tmp_path: Path) -> None:
        """Nothing is loaded for the order, nor for the lengths."""
        lens = {f"seq-{i}": {"data": 9 - i, "classes": 3} for i in range(3)}
        (tmp_path / "lens.json").write_text(json.dumps(lens))
        subs = {"A": hdf("a", [0, 1, 2]), "B": hdf("b", [0, 1, 2])}
        dataset = init_dataset(meta(subs, seq_lens_file=str(tmp_path / "lens.json"), seq_ordering="sorted"))
        dataset.init_seq_order(1)
        assert [dataset.get_tag(i) for i in range(3)] == ["seq-2", "seq-1", "seq-0"]
        assert dataset.get_seq_length(1).dict == {"data": 8, "classes": 3}
        assert dataset.get_estimated_seq_length(1) == 8 and dataset.supports_seq_order_sorting()
        assert dataset.datasets["A"].loaded == 0  # type: ignore[attr-defined]  # of this dataset

    def test_from_the_data(self, hdf: WriteHdf) -> None:
        """If nobody knows lengths in advance."""
        subs = {"A": hdf("a", [2, 0, 1]), "B": hdf("b", [0, 1, 2])}
        dataset = init_dataset(meta(subs, seq_ordering="sorted_reverse"))
        assert tags(read_epoch(dataset, 1)) == tags(read_epoch(dataset, 2)) == ["seq-2", "seq-1", "seq-0"]

    @pytest.mark.parametrize(
        "content,message",
        [("{", "must be JSON, tag -> data key"), ("[]", "has \\[\\]"), ('{"x": {"data": 1}}', "no lengths .* 'seq-0'")],
    )
    def test_bad_file(self, hdf: WriteHdf, tmp_path: Path, content: str, message: str) -> None:
        """What is wrong with it."""
        (tmp_path / "lens.json").write_text(content)
        subs = {"A": hdf("a", [0]), "B": hdf("b", [0])}
        with pytest.raises(UserError, match=message):
            init_dataset(meta(subs, seq_lens_file=str(tmp_path / "lens.json"), seq_ordering="sorted")).init_seq_order(1)


class TestOptions:
    """And their mistakes."""

    @pytest.mark.parametrize(
        "options,message",
        [
            (
                {"data_map": {"data": ("X", "data")}},
                "data_map['data'] names the dataset 'X', which is not in datasets.",
            ),
            ({"data_map": {"data": "A"}}, "must be (name of the dataset, data key there), but is 'A'"),
            (
                {"data_map": {"data": ("A", "datta")}},
                """wants the data key 'datta' of dataset 'A', which it does not""",
            ),
            ({"data_map": {"x": ("A", "data")}}, 'must have the key "data", or seq_order_control_dataset'),
            ({"seq_order_control_dataset": "C"}, "seq_order_control_dataset names the dataset 'C'"),
            ({"window": 3}, "window must be 1, but is 3"),
            (
                {"data_dims": {"data": (4, 2)}},
                "data_dims says (dim, ndim) (4, 2) for data key 'data', but it is (1, 2)",
            ),
            ({"seq_lens_file": "/nowhere/x.json"}, "seq_lens_file not found: '/nowhere/x.json'"),
        ],
    )
    def test_mistakes(self, hdf: WriteHdf, options: dict[str, Any], message: str) -> None:
        """All of them before an epoch."""
        subs = {"A": hdf("a", [0]), "B": hdf("b", [0])}
        with pytest.raises(UserError) as exc_info:
            init_dataset({**meta(subs), **options})
        assert message in str(exc_info.value) and "MetaDataset 'meta'" in str(exc_info.value)

    def test_names_and_seeds_of_the_datasets(self, hdf: WriteHdf) -> None:
        """Own name and key; only those in data_map are made."""
        subs = {"A": hdf("a", [0]), "B": hdf("b", [0]), "C": {"class": "HDFDataset", "files": ["nowhere.hdf"]}}
        dataset: Any = init_dataset(meta(subs, random_seed_offset=7))
        assert {name: sub.name for name, sub in dataset.datasets.items()} == {"A": "meta_A", "B": "meta_B"}
        assert dataset.datasets["A"].random_seed_offset == 7
        assert dataset.get_target_list() == ["classes"] and dataset.get_data_keys() == ["data", "classes"]

    def test_dev_of_a_config(self, hdf: WriteHdf) -> None:
        """Defaults of a config do no harm."""
        config = Config({"batching": "random", "window": 1, "chunking": "5:3"})
        options = meta({"A": hdf("a", [0, 1]), "B": hdf("b", [0, 1])}, seq_order_control_dataset="A")
        defaults = Dataset.get_default_kwargs_eval(config)
        Dataset.kwargs_update_from_config(config, defaults)
        with global_config_ctx(config):
            assert tags(read_epoch(init_dataset(options, default_kwargs=defaults), 1)) == ["seq-0", "seq-1"]


def test_shards_cover_all(hdf: WriteHdf) -> None:
    """With or without control dataset; followers read what the order says."""
    subs = {"A": hdf("a", list(range(5)), seq_ordering="random"), "B": hdf("b", [4, 3, 2, 1, 0])}
    for control in ("A", None):
        parts = []
        for shard in range(2):
            options = meta(subs, seq_order_control_dataset=control, _num_shards=2, _shard_index=shard)
            parts.append(tags(read_epoch(init_dataset(options), 1)))
        assert [len(part) for part in parts] == [3, 2]
        assert sorted(parts[0] + parts[1]) == [f"seq-{i}" for i in range(5)]


def test_random_access(tmp_path: Path) -> None:
    """By position in the list of tags, whatever the order in the files."""
    simple_hdf(str(tmp_path / "a.hdf"), [2, 1, 3])
    simple_hdf(str(tmp_path / "b.hdf"), [5, 6, 7, 8], first=-1, seed=30)
    files = {name: {"class": "HDFDataset", "files": [str(tmp_path / f"{name}.hdf")]} for name in "ab"}
    options = meta({"A": files["a"], "B": files["b"]}, seq_ordering="random")
    dataset = init_dataset(options)
    seqs = {seq.tag: seq for seq in read_epoch(dataset, 1)}
    assert dataset.have_get_corpus_seq() and len(seqs) == 3
    for i, n in enumerate([6, 7, 8]):
        seq = dataset.get_corpus_seq(i)
        assert seq.seq_tag == f"seq-{i}" and len(seq.features["classes"]) == n
        assert {key: value.tolist() for key, value in seq.features.items()} == seqs[seq.seq_tag].data


def test_copy(hdf: WriteHdf) -> None:
    """Reads the same."""
    subs = {"A": hdf("a", [0, 1, 2], seq_ordering="random"), "B": hdf("b", [2, 1, 0])}
    dataset = init_dataset(meta(subs, seq_order_control_dataset="A"))
    expected = read_epoch(dataset, 3)
    assert read_epoch(copy.deepcopy(dataset), 3) == read_epoch(dataset, 3) == expected
