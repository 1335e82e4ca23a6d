"""CombinedDataset and ConcatDataset: different sequences from several datasets."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.datasets.basic import Dataset, DatasetSeq, init_dataset
from returnn.datasets.cached2 import CachedDataset2
from returnn.util.errors import ConfigError, UserError
from tests.data_cases.data_files import simple_hdf

from ..reading import Seq, read_epoch, tags


def numbers(values: list[int], lens: list[int] | None = None, **options: Any) -> dict[str, Any]:
    """A dataset whose sequence i repeats value i."""
    data = [{"data": numpy.full(n, x)} for x, n in zip(values, lens or [1] * len(values), strict=True)]
    return {"class": "StaticDataset", "data": data, "output_dim": {"data": (20, 1)}, **options}


def combined(datasets: dict[str, Any], **options: Any) -> dict[str, Any]:
    """All have data; all but A have another key of their own."""
    data_map = {(name, "data"): "data" for name in datasets}
    return {"class": "CombinedDataset", "name": "comb", "datasets": datasets, "data_map": data_map, **options}


a_and_b = {"A": numbers([0, 1, 2, 3]), "B": numbers([10, 11])}


class Unknown(CachedDataset2):
    """Its number of sequences shows at the end."""

    def __init__(self, values: list[int], **kwargs: Any):
        super().__init__(**kwargs)
        self.values = values
        self.num_outputs = {"data": (20, 1)}

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= len(self.values):
            return None
        return DatasetSeq(seq_idx, {"data": numpy.array([self.values[seq_idx]])})


def first(dataset: Dataset, epoch: int, **kwargs: Any) -> list[int]:
    """:return: first value of each sequence"""
    return [seq.data["data"][0] for seq in read_epoch(dataset, epoch, **kwargs)]


class TestOrders:
    """Of all sequences together."""

    @pytest.mark.parametrize(
        "rule,order",
        [
            ("default", [0, 1, 2, 3, 10, 11]),
            ("reverse", [11, 10, 3, 2, 1, 0]),
            ("random", [2, 1, 10, 0, 3, 11]),
            ("random_dataset", [0, 1, 10, 2, 11, 3]),
            ("interleave", [0, 1, 10, 2, 3, 11]),
        ],
    )
    def test_rules(self, rule: str, order: list[int]) -> None:
        """Numbers of the reference."""
        dataset = init_dataset(combined(a_and_b, seq_ordering=rule))
        assert first(dataset, 1) == order
        assert dataset.num_seqs == 6 and dataset.get_total_num_seqs() == 6

    @pytest.mark.parametrize("rule", ["default", "random_dataset", "interleave", "random"])
    def test_parts(self, rule: str) -> None:
        """Both parts together are the whole order."""
        whole = first(init_dataset(combined(a_and_b, seq_ordering=rule)), 1)
        dataset = init_dataset(combined(a_and_b, seq_ordering=rule, partition_epoch=2))
        assert [first(dataset, 1), first(dataset, 2)] == [whole[:3], whole[3:]]
        shards = [combined(a_and_b, seq_ordering=rule, _num_shards=3, _shard_index=i) for i in range(3)]
        assert [first(init_dataset(shard), 1) for shard in shards] == [whole[:2], whole[2:4], whole[4:]]

    def test_by_length(self) -> None:
        """Lengths are those of the corpora, whoever knows them; here they are seen by loading in one case."""
        class_of_b = {"class": Unsure, "values": [10, 11], "lens": [2, 7]}
        dataset = init_dataset(combined({"A": numbers([0, 1], [5, 1]), "B": class_of_b}, seq_ordering="sorted"))
        assert first(dataset, 1) == [1, 10, 0, 11] and first(dataset, 2) == [1, 10, 0, 11]

    def test_by_length_of_hdf(self, tmp_path: Path) -> None:
        """Each dataset in an order of its own before."""
        simple_hdf(str(tmp_path / "a.hdf"), [5, 1, 4], tag="a-%i")
        simple_hdf(str(tmp_path / "b.hdf"), [3, 2], tag="b-%i")
        hdf = {"class": "HDFDataset", "seq_ordering": "random"}
        subs = {name: {**hdf, "files": [str(tmp_path / f"{name}.hdf")]} for name in "ab"}
        dataset = init_dataset(combined(subs, seq_ordering="sorted_reverse"))
        assert tags(read_epoch(dataset, 1)) == ["a-0", "a-2", "b-0", "b-1", "a-1"]

    def test_own_order_first(self) -> None:
        """Partition and repetition of the datasets weight them."""
        subs = {"A": numbers([0, 1, 2, 3], partition_epoch=2), "B": numbers([10], repeat_epoch=2)}
        dataset = init_dataset(combined(subs))
        assert [first(dataset, 1), first(dataset, 2)] == [[0, 1, 10, 10], [2, 3, 10, 10]]

    def test_tag_filter(self, tmp_path: Path) -> None:
        """Tags of the datasets."""
        (tmp_path / "tags").write_text("b-1\na-0\n")
        simple_hdf(str(tmp_path / "a.hdf"), [5, 1, 4], tag="a-%i")
        simple_hdf(str(tmp_path / "b.hdf"), [3, 2], tag="b-%i")
        subs = {name: {"class": "HDFDataset", "files": [str(tmp_path / f"{name}.hdf")]} for name in "ab"}
        options = combined(subs, seq_ordering="reverse", seq_list_filter_file=str(tmp_path / "tags"))
        assert tags(read_epoch(init_dataset(options), 1)) == ["b-1", "a-0"]

    def test_dataset_that_has_only_its_own_order(self) -> None:
        """It can stay in it, but not be shuffled."""
        subs = {"A": {"class": Unsure, "values": [0, 1, 2], "lens": [1, 1, 1], "order": False}, "B": numbers([10, 11])}
        assert first(init_dataset(combined(subs, seq_ordering="interleave")), 1) == [0, 10, 1, 2, 11]
        with pytest.raises(ConfigError, match="Unsure 'comb_A' cannot give its sequences in another order"):
            init_dataset(combined(subs, seq_ordering="random")).init_seq_order(1)


class Unsure(CachedDataset2):
    """Does not tell lengths in advance, and its order only if wanted."""

    def __init__(self, values: list[int], lens: list[int], order: bool = True, **kwargs: Any):
        super().__init__(**kwargs)
        self.values, self.lens, self.order = values, lens, order
        self.num_outputs = {"data": (20, 1)}
        self._order: Any = []

    def init_seq_order(self, epoch: Any = None, seq_list: Any = None, seq_order: Any = None) -> bool:
        """In the order of the corpus, or as given."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._order = self._corpus_order(epoch, seq_list, seq_order, num_seqs=len(self.values))
        self._num_seqs = len(self._order)
        return True

    def get_current_seq_order(self) -> Any:
        """:return: if it tells"""
        return self._order if self.order else super().get_current_seq_order()

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        i = int(self._order[seq_idx])
        return DatasetSeq(seq_idx, {"data": numpy.full(self.lens[i], self.values[i])})


class TestData:
    """Keys, dims, values."""

    def test_missing_keys_are_empty(self) -> None:
        """All axes are 0, but the last one of dense data."""
        arrays = [{"data": numpy.zeros((2, 3), "float32"), "x": numpy.zeros((4, 5, 6), "float32")}]
        subs = {"A": {"class": "StaticDataset", "data": arrays}, "B": numbers([7])}
        data_map = {("A", "data"): "data", ("A", "x"): "more", ("B", "data"): "classes"}
        dataset = init_dataset({"class": "CombinedDataset", "datasets": subs, "data_map": data_map})
        dataset.init_seq_order(1)
        dataset.load_seqs(0, 2)
        shapes = [{key: dataset.get_data(i, key).shape for key in dataset.get_data_keys()} for i in range(2)]
        assert shapes == [
            {"data": (2, 3), "classes": (0,), "more": (4, 5, 6)},
            {"data": (0, 3), "classes": (1,), "more": (0, 0, 6)},
        ]
        assert dataset.get_seq_length(1).dict == {"data": 0, "classes": 1, "more": 0}
        assert dataset.get_target_list() == ["classes", "more"] and dataset.num_inputs == 3

    def test_dims_must_agree(self) -> None:
        """Of dense data; of labels the larger number of classes counts."""
        dense = {"class": "StaticDataset", "data": [{"data": numpy.zeros((2, 3))}]}
        with pytest.raises(
            ConfigError, match="'data' comes from .*'comb_A' .dense, shape of a frame .3.. and .*'comb_B' .sparse"
        ):
            init_dataset(combined({"A": dense, "B": numbers([1])}))
        small = numbers([1], output_dim={"data": (5, 1)})
        for subs in ({"A": small, "B": numbers([2])}, {"B": small, "A": numbers([2])}):
            assert init_dataset(combined(subs)).get_data_dim("data") == 20

    @pytest.mark.parametrize(
        "options,message",
        [
            ({"data_map": {("X", "data"): "data"}}, "names the dataset 'X', which is not in datasets"),
            (
                {"data_map": {"data": ("A", "data")}},
                "must be (name of the dataset, data key there) -> own data key, but",
            ),
            ({"data_map": {("A", "x"): "data"}}, "wants the data key 'x' of dataset 'A', which it does not have"),
            ({"sampling_sizes": {"A": 1}}, "or one for each dataset, but it is None for 'B'"),
            ({"sampling_sizes": {"A": 1, "C": 2}}, "sampling_sizes names the dataset 'C'"),
            ({"sampling_sizes": 2, "partition_epoch": 2}, "partition_epoch and sampling_sizes exclude each other"),
            ({"interleave_gumbel_scale": "x"}, "must be a number, \"remaining\" or None, but is 'x'"),
            ({"window": 3}, "window must be 1"),
        ],
    )
    def test_mistakes(self, options: dict[str, Any], message: str) -> None:
        """All of them before an epoch."""
        with pytest.raises(UserError) as exc_info:
            init_dataset({**combined(a_and_b), **options})
        assert message in str(exc_info.value) and "CombinedDataset 'comb'" in str(exc_info.value)


class TestSampling:
    """So many sequences of each dataset in each epoch."""

    def test_epochs_continue(self) -> None:
        """7 sequences of A in parts of 3, 5 of B in parts of 4."""
        subs = {"A": numbers(list(range(7))), "B": numbers(list(range(10, 15)))}
        dataset = init_dataset(combined(subs, sampling_sizes={"A": 3, "B": 4}))
        assert [first(dataset, epoch) for epoch in (1, 2, 3)] == [
            [0, 1, 2, 10, 11, 12, 13],
            [3, 4, 5, 14, 10, 11, 12],
            [6, 0, 1, 13, 14, 10, 11],
        ]
        assert first(dataset, 2) == [3, 4, 5, 14, 10, 11, 12] and dataset.num_seqs == 7

    @pytest.mark.parametrize("partition_epoch", [1, 2])
    def test_more_than_there_are(self, tmp_path: Path, partition_epoch: int) -> None:
        """12 of 5, 3 of 7. Parts of the datasets change nothing, as they come one behind the other anyway."""
        simple_hdf(str(tmp_path / "a.hdf"), [1] * 5, tag="%i")
        simple_hdf(str(tmp_path / "b.hdf"), [1] * 7, tag="%i", first=10)
        hdf = {"class": "HDFDataset", "partition_epoch": partition_epoch}
        subs = {name: {**hdf, "files": [str(tmp_path / f"{name}.hdf")]} for name in "ab"}
        dataset = init_dataset(combined(subs, sampling_sizes={"a": 12, "b": 3}))
        for epoch in (1, 2, 3):
            a = [(i % 5) for i in range(12 * (epoch - 1), 12 * epoch)]
            b = [10 + i % 7 for i in range(3 * (epoch - 1), 3 * epoch)]
            assert [int(tag) for tag in tags(read_epoch(dataset, epoch))] == a + b

    def test_nothing_twice_before_all_were_there(self) -> None:
        """Random order: 4 epochs of 3 of 6 are two passes, each in another order."""
        subs = {"A": numbers(list(range(6)), seq_ordering="random"), "B": numbers([10])}
        dataset = init_dataset(combined(subs, sampling_sizes={"A": 3, "B": 1}))
        epochs = [first(dataset, epoch)[:3] for epoch in (1, 2, 3, 4)]
        passes = [epochs[0] + epochs[1], epochs[2] + epochs[3]]
        assert [sorted(order) for order in passes] == [[0, 1, 2, 3, 4, 5]] * 2 and passes[0] != passes[1]

    def test_order_and_shards(self) -> None:
        """The order is that of the sampled sequences."""
        options = combined(a_and_b, sampling_sizes=2, seq_ordering="reverse")
        assert first(init_dataset(options), 2) == [11, 10, 3, 2]
        shards = [init_dataset({**options, "_num_shards": 2, "_shard_index": i}) for i in range(2)]
        assert [first(shard, 2) for shard in shards] == [[11, 10], [3, 2]]

    def test_needs_order(self) -> None:
        """Else nobody knows what comes next."""
        subs = {"A": {"class": Unknown, "values": [1, 2]}, "B": numbers([10])}
        with pytest.raises(ConfigError, match="sampling_sizes is not possible for Unknown 'comb_A'"):
            init_dataset(combined(subs, sampling_sizes=1)).init_seq_order(1)


class TestUnknownSizes:
    """The next dataset is chosen while reading."""

    subs = {"A": {"class": Unknown, "values": [0, 1, 2, 3]}, "B": {"class": Unknown, "values": [10, 11]}}

    @pytest.mark.parametrize(
        "rule,order",
        [("default", [0, 1, 2, 3, 10, 11]), ("reversed", [10, 11, 0, 1, 2, 3]), ("interleave", [0, 10, 1, 11, 2, 3])],
    )
    def test_rules(self, rule: str, order: list[int]) -> None:
        """For unknown sizes "interleave" is by turns."""
        dataset = init_dataset(combined(self.subs, seq_ordering=rule))
        assert first(dataset, 1) == first(dataset, 2) == order
        assert dataset.estimated_num_seqs == 6  # known at the end

    def test_estimates(self) -> None:
        """A: 4, B: 2, so A advances twice as fast, as if they were known."""
        subs = {
            "A": {**self.subs["A"], "estimated_num_seqs": 4},
            "B": {**self.subs["B"], "estimated_num_seqs": 2},
        }
        dataset = init_dataset(combined(subs, seq_ordering="interleave"))
        dataset.init_seq_order(1)
        assert dataset.estimated_num_seqs == 6
        with pytest.raises(NotImplementedError):
            dataset.num_seqs  # noqa: B018
        assert first(dataset, 1) == [0, 1, 10, 2, 3, 11]

    @pytest.mark.parametrize("scale", [None, 0.0, 1.0, "remaining"])
    @pytest.mark.parametrize("rule", ["random_dataset", "interleave"])
    def test_by_chance(self, rule: str, scale: Any) -> None:
        """All sequences, each dataset in its order; the same epoch again is the same; fractions grow to 1."""
        dataset = init_dataset(combined(self.subs, seq_ordering=rule, interleave_gumbel_scale=scale))
        orders = [first(dataset, epoch) for epoch in (1, 2, 3, 4, 5, 1)]
        assert orders[0] == orders[-1]
        assert all([x for x in o if x < 10] == [0, 1, 2, 3] and [x for x in o if x >= 10] == [10, 11] for o in orders)
        if rule == "random_dataset" or scale == 1:
            assert len({tuple(order) for order in orders}) > 1
        dataset.init_seq_order(1)
        fractions = []
        while dataset.is_less_than_num_seqs(len(fractions)):
            dataset.load_seqs(len(fractions), len(fractions) + 1)
            fractions.append(dataset.get_complete_frac(len(fractions)))
        assert fractions == sorted(fractions) and 0 < fractions[0] and fractions[-1] <= 1  # type: ignore[type-var]

    def test_impossible(self) -> None:
        """What needs all sizes."""
        with pytest.raises(ConfigError, match="The sorting method 'random' is not implemented for the case"):
            init_dataset(combined(self.subs, seq_ordering="random")).init_seq_order(1)
        for options in ({"partition_epoch": 2}, {"_num_shards": 2}):
            with pytest.raises(ConfigError, match="(partition_epoch|num_shards) is not possible for the case that"):
                init_dataset(combined(self.subs, **options)).init_seq_order(1)

    def test_endless(self) -> None:
        """One dataset has no end."""
        subs = {"A": {"class": "DummyDataset", "input_dim": 1, "output_dim": 3, "num_seqs": float("inf")}}
        subs["B"] = {**subs["A"], "num_seqs": 2}
        dataset = init_dataset(combined(subs, seq_ordering="random_dataset"))
        dataset.init_seq_order(1)
        assert dataset.is_less_than_num_seqs(100) and dataset.num_seqs == float("inf")
        dataset.load_seqs(0, 100)
        assert dataset.get_seq_length(99)["data"] == 2


class TestConcat:
    """ConcatDataset."""

    options = {"class": "ConcatDataset", "name": "conc", "datasets": [numbers([0, 1, 2]), numbers([10, 11])]}

    def test_order(self) -> None:
        """One dataset behind the other, each in its own order; other orders are joint ones."""
        assert first(init_dataset(self.options), 1) == [0, 1, 2, 10, 11]
        own = {**self.options, "datasets": [numbers([0, 1, 2], seq_ordering="reverse"), numbers([10, 11])]}
        assert first(init_dataset(own), 1) == [2, 1, 0, 10, 11]
        assert first(init_dataset({**self.options, "seq_ordering": "reverse"}), 1) == [11, 10, 2, 1, 0]

    def test_given_list(self, tmp_path: Path) -> None:
        """By tag; if two datasets have the same tags, the list is cut by their sizes."""
        dataset = init_dataset(self.options)  # tags seq-0..2, seq-0..1
        given = ["seq-2", "seq-0", "seq-1", "seq-1", "seq-0"]
        assert first(dataset, 1, seq_list=given) == [2, 0, 1, 11, 10]
        with pytest.raises(ConfigError, match="sequences 3 to 5 of a given list must be those of one dataset"):
            dataset.init_seq_order(1, seq_list=["seq-0", "seq-1", "seq-1", "seq-2", "seq-0"])
        simple_hdf(str(tmp_path / "a.hdf"), [1, 2], tag="a-%i")
        simple_hdf(str(tmp_path / "b.hdf"), [3], tag="b-%i")
        files = [{"class": "HDFDataset", "files": [str(tmp_path / f"{name}.hdf")]} for name in "ab"]
        dataset = init_dataset({"class": "ConcatDataset", "datasets": files})
        assert tags(read_epoch(dataset, 1, seq_list=["b-0", "a-1"])) == ["b-0", "a-1"]

    def test_unknown_sizes(self) -> None:
        """One after the other is possible anyway."""
        datasets = [{"class": Unknown, "values": [3, 4]}, numbers([10, 11])]
        assert first(init_dataset({**self.options, "datasets": datasets}), 1) == [3, 4, 10, 11]

    @pytest.mark.parametrize(
        "datasets,message",
        [
            ([], "datasets must be a list of datasets, but is []"),
            (
                [numbers([1]), numbers([1], output_dim={"data": (3, 1)})],
                "the data key 'data' must be the same in all datasets, but there is (dim, sparse, shape of a frame)"
                " (20, True, []) in StaticDataset 'conc_0', (dim, sparse, shape of a frame) (3, True, []) in",
            ),
        ],
    )
    def test_mistakes(self, datasets: Any, message: str) -> None:
        """Before an epoch."""
        with pytest.raises(ConfigError) as exc_info:
            init_dataset({**self.options, "datasets": datasets})
        assert message in str(exc_info.value)


@pytest.mark.parametrize("rule", ["random", "random_dataset", "interleave", "default"])
@pytest.mark.parametrize("scale", [None, 1.0])
def test_corpus_indices(rule: str, scale: float | None) -> None:
    """All corpora one behind the other: the order of the epoch, given again, is the same epoch."""
    subs = {"A": numbers([0, 1, 2, 3], seq_ordering="random", partition_epoch=2), "B": numbers([10, 11, 12])}
    dataset = init_dataset(combined(subs, seq_ordering=rule, interleave_gumbel_scale=scale))
    dataset.init_seq_order(2)
    order = [int(i) for i in dataset.get_current_seq_order()]
    assert [dataset.get_corpus_seq_idx(i) for i in range(5)] == order and dataset.have_corpus_seq_idx()
    values = [0, 1, 2, 3, 10, 11, 12]
    assert first(dataset, 2) == [values[i] for i in order] and len(order) == 5
    assert first(dataset, 2, seq_order=order) == [values[i] for i in order]
    assert [dataset.get_corpus_seq(i).features["data"][0] for i in range(7)] == values
    copied = pickle.loads(pickle.dumps(dataset))
    assert first(copied, 2) == [values[i] for i in order]


def test_many_sequences() -> None:
    """200,000 sequences: an epoch starts in time, for all orders."""
    values = list(range(10))
    subs = {name: {"class": Many, "values": values, "number": n} for name, n in (("A", 150_000), ("B", 50_000))}
    for rule in ("default", "random", "random_dataset", "interleave"):
        dataset = init_dataset(combined(subs, seq_ordering=rule))
        dataset.init_seq_order(1)
        assert dataset.num_seqs == 200_000
        dataset.load_seqs(0, 1)
        assert isinstance(Seq(dataset.get_tag(0), {}), Seq)


class Many(Unsure):
    """Virtual sequences."""

    def __init__(self, values: list[int], number: int, **kwargs: Any):
        super().__init__(values, [1] * len(values), **kwargs)
        self.number = number

    _getnewargs_exclude_attrs = {"lens", "order"}

    def init_seq_order(self, epoch: Any = None, seq_list: Any = None, seq_order: Any = None) -> bool:
        """As all."""
        CachedDataset2.init_seq_order(self, epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._order = self._corpus_order(epoch, seq_list, seq_order, num_seqs=self.number)
        self._num_seqs = len(self._order)
        return True

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        return DatasetSeq(seq_idx, {"data": numpy.array([self._order[seq_idx] % 10])})
