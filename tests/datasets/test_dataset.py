"""The dataset protocol, creation from configs, copies, and base classes for users."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import Any

import numpy
import pytest

from returnn.config import Config, global_config_ctx
from returnn.datasets.basic import (
    Dataset,
    DatasetSeq,
    convert_data_dims,
    get_dataset_class,
    init_dataset,
    init_dataset_via_str,
    set_config_extern_data_from_dataset,
)
from returnn.datasets.cached2 import CachedDataset2, SingleStreamPipeDataset
from returnn.datasets.generating import DummyDataset, StaticDataset, Task12AXDataset
from returnn.util.errors import ConfigError, UserError

dummy = {"class": "DummyDataset", "input_dim": 2, "output_dim": 3, "num_seqs": 4}


class Lines(CachedDataset2):
    """As a user writes it: the number of sequences shows at the end."""

    def __init__(self, lines: Sequence[str] = ("ab", "c", "def"), **kwargs: Any):
        super().__init__(**kwargs)
        self.lines = lines
        self.num_outputs = {"data": (256, 1), "len": (1, 1)}

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= len(self.lines):
            return None
        line = self.lines[seq_idx]
        data = {"data": numpy.frombuffer(line.encode(), "uint8"), "len": numpy.array([len(line)])}
        return DatasetSeq(seq_idx, data, seq_tag=f"line-{seq_idx}")


class TestInitDataset:
    """From options to a dataset."""

    @pytest.mark.parametrize(
        "options",
        [
            dummy,
            {**dummy, "class": DummyDataset},
            lambda: dummy,
            repr(dummy),
            "config:my_dataset",
            "config:{**my_dataset, 'name': 'x'}",
            "DummyDataset:input_dim=2,output_dim=3,num_seqs=4",
        ],
    )
    def test_forms(self, options: Any) -> None:
        """All of them mean the same."""
        config = Config({"my_dataset": dummy})
        with global_config_ctx(config):
            dataset = init_dataset(options)
        dataset.init_seq_order(1)
        assert isinstance(dataset, DummyDataset) and dataset.num_seqs == 4

    def test_precedence(self) -> None:
        """default_kwargs < options < extra_kwargs."""
        dataset = init_dataset({**dummy, "name": "b"}, {"num_seqs": 9}, {"name": "a", "seq_len": 7})
        assert (dataset.name, dataset.seq_len, dataset.get_total_num_seqs()) == ("b", 7, 9)

    def test_instance_is_initialized_and_returned(self) -> None:
        """The same object."""
        dataset = Lines()
        assert init_dataset(dataset) is dataset and dataset._initialized

    def test_parent_shares_seed_and_shard(self) -> None:
        """What the child does not say itself."""
        parent = init_dataset({**dummy, "random_seed_offset": 5, "_num_shards": 3, "_shard_index": 2})
        child = init_dataset({**dummy, "_shard_index": 1}, parent_dataset=parent)
        assert (child.random_seed_offset, child._num_shards, child._shard_index) == (5, 3, 1)

    @pytest.mark.parametrize(
        "options,message",
        [
            ({"class": "HDFDatset"}, """Dataset class 'HDFDatset' not found. Did you mean "HDFDataset\""""),
            ({"class": "Foo"}, "Dataset class 'Foo' not found. There are: AnythingDataset,"),
            ({"class": int}, "Dataset class 'int' is not derived from"),
            ({"num_seqs": 3}, """needs the option "class", for example "HDFDataset"; here are only 'num_seqs'"""),
            (
                {"class": "HDFDataset", "file": []},
                'dataset class "HDFDataset" has no option "file". Did you mean "files"',
            ),
            ({**dummy, "name": "dev", "x": 1}, """dataset 'dev': dataset class "DummyDataset" has no option "x"."""),
            ({"class": "DummyDataset", "num_seqs": 4}, 'needs the options "input_dim", "output_dim"'),
            (3, "must be given as dict, function or str, but is 3"),
            ("config:nothing", "Cannot evaluate the dataset 'config:nothing': NameError"),
            ("Task12AXDataset:num_seqs=", "Cannot evaluate the options in 'Task12AXDataset:num_seqs='"),
            ("Foo:num_seqs=3", "Dataset class 'Foo' not found"),
            ("nowhere.hdf,x.hdf", "HDF file not found: 'nowhere.hdf'"),
        ],
    )
    def test_mistakes(self, options: Any, message: str) -> None:
        """What is wrong, and what there is instead."""
        with global_config_ctx(Config()), pytest.raises(UserError) as exc_info:
            init_dataset(options)
        assert message in str(exc_info.value)

    def test_options_are_listed(self) -> None:
        """Of the class and of its bases."""
        with pytest.raises(
            UserError, match="Its options: files, use_cache_manager, cache_byte_size, name, seq_ordering"
        ):
            init_dataset({"class": "HDFDataset", "x": 1})

    def test_errors_inside_a_constructor_stay_what_they_are(self) -> None:
        """They are no mistakes of options."""

        class Broken(Lines):
            """Calls a function in a wrong way."""

            def __init__(self, **kwargs: Any):
                super().__init__(**kwargs)
                (lambda a: a)(b=1)  # type: ignore[call-arg]

        with pytest.raises(TypeError, match="unexpected keyword argument 'b'"):
            init_dataset({"class": Broken})

    def test_class_names(self) -> None:
        """Registered ones, and others which are in the same modules."""
        assert get_dataset_class("Task12AXDataset") is Task12AXDataset
        assert get_dataset_class("StaticDataset") is StaticDataset


class TestConfigDefaults:
    """What a config says about all its datasets."""

    def test_missing_options(self) -> None:
        """batching is the order; the options of the dataset win, unless they are None."""
        config = Config({"batching": "random", "chunking": "10:5", "window": 3, "min_chunk_size": 2})
        options = {"chunking": None, "seq_ordering": "reverse"}
        Dataset.kwargs_update_from_config(config, options)
        expected = {"chunking": "10:5", "seq_ordering": "reverse", "window": 3, "min_chunk_size": 2}
        assert options == {**expected, "chunking_variance": 0}
        dataset = DummyDataset.from_config(config, input_dim=2, output_dim=3, num_seqs=4)
        assert (dataset.seq_ordering, dataset.window, dataset.chunk_step) == ("random", 3, 5)

    @pytest.mark.parametrize(
        "opts,chunking",
        [
            ({}, "0"),
            ({"chunking": "50"}, "0"),
            ({"chunking": "1"}, "1"),
            ({"chunking": "50", "chunk_eval": True}, "50"),
            ({"on_size_limit": "chunk", "batch_size": 300}, 300),
        ],
    )
    def test_dev(self, opts: dict[str, Any], chunking: Any) -> None:
        """Sorted, and not chunked unless the config says so."""
        expected = {"chunking": chunking, "seq_ordering": "sorted", "shuffle_frames_of_nseqs": 0}
        assert Dataset.get_default_kwargs_eval(Config(opts)) == expected

    @pytest.mark.parametrize("text", ["Task12AXDataset:num_seqs=3", "config:my_dataset"])
    def test_string(self, text: str) -> None:
        """With a config it gets the defaults, without not."""
        config = Config({"batching": "random", "my_dataset": {"class": "Task12AXDataset", "num_seqs": 3}})
        assert init_dataset_via_str(text, config=config, name="dev").seq_ordering == "random"
        with global_config_ctx(config):
            dataset = init_dataset_via_str(text, name="dev")
        assert (dataset.seq_ordering, dataset.name) == ("default", "dev")

    def test_extern_data(self) -> None:
        """Derived from the dataset, for a config without it."""
        config = Config()
        set_config_extern_data_from_dataset(config, init_dataset(dummy))
        axes = {"batch_dim_axis": 0, "time_dim_axis": 1}
        data = {"shape": [None, 2], "dim": 2, "sparse": False, "dtype": "float32", "available_for_inference": True}
        classes = {"shape": [None], "dim": 3, "sparse": True, "dtype": "int32", "available_for_inference": False}
        assert config.typed_value("extern_data") == {"data": {**axes, **data}, "classes": {**axes, **classes}}

    def test_seed_offset(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """From the environment if there is a config, or from the rank; given ones win."""
        monkeypatch.setenv("RETURNN_RANDOM_SEED_OFFSET", "7")
        monkeypatch.setenv("RANK", "2")
        with global_config_ctx(Config()):
            assert init_dataset(dummy).random_seed_offset == 7
            assert init_dataset({**dummy, "random_seed_offset": 1}).random_seed_offset == 1
        monkeypatch.delenv("RETURNN_RANDOM_SEED_OFFSET")
        with global_config_ctx(Config({"torch_distributed": {}})):
            assert init_dataset(dummy).random_seed_offset == 2 * 16127
        with global_config_ctx(Config()):
            assert init_dataset(dummy).random_seed_offset == 0


class TestProtocol:
    """Members of the base class."""

    def test_complete_frac(self) -> None:
        """(i + 1) / n, or a guess for an unknown n; 1 - 1 / (10 / 100 + 1) = 0.0909."""
        assert Dataset.generic_complete_frac(0, 5) == 0.2 and Dataset.generic_complete_frac(9, 5) == 1
        assert Dataset.generic_complete_frac(0, None) == 1e-10
        assert Dataset.generic_complete_frac(3, None) == pytest.approx(0.016855, rel=1e-4)
        assert Dataset.generic_complete_frac(100, None) == pytest.approx(0.09)

    def test_complete_frac_of_a_dataset(self) -> None:
        """An estimate is good for progress, but not for learning rates."""
        dataset = init_dataset({"class": Lines, "estimated_num_seqs": 30})
        dataset.init_seq_order(1)
        assert dataset.estimated_num_seqs == 30 and dataset.get_complete_frac(2) == 0.1
        assert dataset.get_complete_frac(2, allow_only_lr_suitable=True) is None
        assert not dataset.is_less_than_num_seqs(3) and dataset.get_complete_frac(2) == 1

    def test_num_outputs_must_be_set(self) -> None:
        """Before initialize."""
        with pytest.raises(AssertionError, match="Dataset 'x': num_outputs is not set"):
            Dataset(name="x").initialize()

    def test_kinds_of_data(self) -> None:
        """(dim, ndim), or options; other keys are sparse unless they are "data"."""
        dataset = Dataset()
        dataset.num_inputs = 4
        dataset.num_outputs = {
            "a": (5, 1),
            "b": (6, 3),
            "raw": {"dtype": "string", "shape": ()},
            "c": {"dim": 3, "shape": (None, 3)},
        }
        kinds = {
            key: (
                dataset.get_data_dim(key),
                dataset.is_data_sparse(key),
                dataset.get_data_dtype(key),
                dataset.get_data_shape(key),
            )
            for key in ["a", "b", "c", "raw", "data", "z"]
        }
        assert kinds == {
            "a": (5, True, "int32", []),
            "b": (6, False, "float32", [None, 6]),
            "c": (3, False, "float32", [3]),
            "raw": (1, False, "string", []),
            "data": (4, False, "float32", [4]),
            "z": (1, True, "int32", []),
        }

    def test_convert_data_dims(self) -> None:
        """Short forms."""
        assert convert_data_dims(3) == {"classes": (3, 1)}
        assert convert_data_dims({"data": 3, "x": 4, "y": [5, 2]}) == {"data": (3, 2), "x": (4, 1), "y": (5, 2)}

    def test_old_overrides(self) -> None:
        """get_input_data and get_targets are what get_data gives."""

        class Old(Dataset):
            """As of long ago."""

            def get_input_data(self, sorted_seq_idx: int) -> numpy.ndarray:
                return numpy.zeros(sorted_seq_idx)

            def get_targets(self, target: str, sorted_seq_idx: int) -> numpy.ndarray:
                return numpy.ones(sorted_seq_idx)

        assert Old().get_data(2, "data").tolist() == [0, 0] and Old().get_data(1, "classes").tolist() == [1]
        assert Old().get_data_keys() == ["data", "classes"] and Old().get_tag(3) == "seq-3"
        with pytest.raises(NotImplementedError, match="Dataset does not override get_data"):
            Dataset().get_data(0, "data")

    def test_labels_as_text(self) -> None:
        """Words with blanks, characters without, 256 bytes as UTF-8."""
        dataset = Dataset()
        dataset.labels = {"w": ["the", "cat"], "c": ["a", "b"], "u": [chr(i) for i in range(256)], "one": ["x"]}
        assert dataset.serialize_data("w", numpy.array([0, 1])) == "the cat"
        assert dataset.serialize_data("c", numpy.array([0, 1, 1])) == "abb"
        assert dataset.serialize_data("u", numpy.frombuffer("ä!".encode(), "uint8")) == "ä!"
        assert [dataset.can_serialize_data(key) for key in ("w", "one", "other")] == [True, False, False]

    def test_sharding_must_be_supported(self) -> None:
        """Else each shard would read everything."""
        dataset = init_dataset({"class": Lines, "name": "x"})
        assert not dataset.supports_sharding()
        dataset = Lines(_num_shards=2, name="x")
        with pytest.raises(ConfigError, match="Lines 'x' does not support sharding"):
            dataset.initialize()
        with pytest.raises(ConfigError, match="no shard 2 of 2"):
            Lines(_num_shards=2, _shard_index=2)

    def test_repr(self) -> None:
        """Class, name, epoch."""
        dataset = init_dataset({**dummy, "name": "train"})
        assert repr(dataset) == "<DummyDataset 'train' epoch=None>"
        dataset.init_seq_order(3)
        assert repr(dataset) == "<DummyDataset 'train' epoch=3>"
        assert dataset.len_info() == "DummyDataset, sequences: 4, frames: unknown"

    def test_values_of_a_seq_must_be_arrays(self) -> None:
        """The key is named."""
        with pytest.raises(TypeError, match="the value of data key 'classes' must be a numpy array, but is list"):
            DatasetSeq(0, numpy.zeros(3), targets=[1, 2])  # type: ignore[arg-type]
        seq = DatasetSeq(3, numpy.zeros((3, 2)), targets={"a": numpy.array(5)})
        assert (seq.seq_tag, seq.num_frames.dict, seq.get_data_keys()) == ("seq-3", {"data": 3, "a": 1}, ["data", "a"])


class TestCopies:
    """A dataset is built again by its constructor."""

    @pytest.mark.parametrize("make_copy", [copy.deepcopy, lambda dataset: pickle.loads(pickle.dumps(dataset))])
    @pytest.mark.parametrize(
        "options",
        [
            {**dummy, "seq_ordering": "random", "partition_epoch": 2, "chunking": ({"data": 2}, {"data": 1})},
            {"class": "Task12AXDataset", "num_seqs": 3, "context_window": 3, "window": 3, "random_seed_offset": 4},
            {"class": "TaskNumberBaseConvertDataset", "num_seqs": 3},
            {"class": "CopyTaskDataset", "num_seqs": 3, "nsymbols": 4, "maxlen": 3},
            {"class": "DummyDatasetMultipleDataKeys", "num_seqs": 3, "output_dim": {"data": (2, 2), "classes": (3, 1)}},
            {"class": "StaticDataset", "data": [{"data": numpy.ones((2, 3))}]},
            {"class": Lines, "lines": ["x", "yz"], "min_chunk_size": 3},
        ],
    )
    def test_copy_reads_the_same(self, options: dict[str, Any], make_copy: Any) -> None:
        """Whatever the original has read before."""
        dataset = init_dataset(options)
        dataset.init_seq_order(1)
        dataset.load_seqs(0, 1)
        other = make_copy(dataset)
        assert (other.name, other.epoch, other.chunk_size) == (dataset.name, 1, dataset.chunk_size)
        assert (other.ctx_left, other.window) == (dataset.ctx_left, dataset.window)
        for d in (dataset, other):
            d.init_seq_order(2)
        seq_idx = 0
        while dataset.is_less_than_num_seqs(seq_idx):
            assert other.get_tag(seq_idx) == dataset.get_tag(seq_idx)
            for key in dataset.get_data_keys():
                numpy.testing.assert_array_equal(other.get_data(seq_idx, key), dataset.get_data(seq_idx, key))
            seq_idx += 1
        assert not other.is_less_than_num_seqs(seq_idx)

    def test_lost_argument(self) -> None:
        """The message says how to mend it."""

        class Forgetful(Lines):
            """Does not keep x."""

            def __init__(self, x: int = 3, **kwargs: Any):
                super().__init__(**kwargs)

        with pytest.raises(UserError, match="Forgetful cannot be copied.*argument 'x' is not kept.*Set self.x"):
            copy.deepcopy(Forgetful())


class TestCachedDataset2:
    """Sequences one after another."""

    def test_end_shows_when_it_is_reached(self) -> None:
        """Until then the number of sequences is not known."""
        dataset = init_dataset({"class": Lines})
        assert dataset.num_seqs == 0 and dataset.get_data_keys() == ["data", "len"]
        dataset.init_seq_order(1)
        with pytest.raises(NotImplementedError):
            dataset.num_seqs  # noqa: B018
        assert dataset.is_less_than_num_seqs(2) and not dataset.is_less_than_num_seqs(3) and dataset.num_seqs == 3
        assert dataset.get_tag(1) == "line-1" and dataset.get_seq_length(2)["data"] == 3
        assert (dataset.get_target_list(), dataset.get_data_dtype("data")) == (["len"], "uint8")
        assert dataset.get_data_slice(2, "data", 1, 3).tolist() == [ord("e"), ord("f")]

    def test_old_sequences_are_dropped(self) -> None:
        """After load_seqs went on; going back is a bug of the caller."""
        dataset = init_dataset({"class": Lines})
        dataset.init_seq_order(1)
        dataset.load_seqs(1, 3)
        with pytest.raises(IndexError, match="sequence 0 is over"):
            dataset.get_data(0, "data")
        with pytest.raises(AssertionError, match="0 is wanted after 1"):
            dataset.load_seqs(0, 1)
        with pytest.raises(IndexError, match="sequence 3 does not exist"):
            dataset.get_data(3, "data")

    def test_empty_epoch(self) -> None:
        """Clear, and not an endless wait."""
        dataset = init_dataset({"class": Lines, "lines": ()})
        dataset.init_seq_order(1)
        with pytest.raises(AssertionError, match="Not a single seq was loaded"):
            dataset.is_less_than_num_seqs(0)

    def test_complete_frac_of_a_sequence_wins(self) -> None:
        """If it has one."""

        class WithFrac(Lines):
            """Says one half."""

            def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
                seq = super()._collect_single_seq(seq_idx)
                if seq:
                    seq.complete_frac = 0.5
                return seq

        dataset = init_dataset({"class": WithFrac})
        dataset.init_seq_order(1)
        dataset.load_seqs(0, 1)
        assert dataset.get_complete_frac(0) == 0.5

    def test_pipe(self) -> None:
        """The consumer waits until the producer adds something, or says that it has finished."""
        dataset = init_dataset({"class": SingleStreamPipeDataset, "dim": 2, "ndim": 2})
        dataset.init_seq_order(1)
        assert (dataset.get_data_dim("data"), dataset.get_data_shape("data")) == (2, [2])

        def produce() -> None:
            dataset.producer_add_data(numpy.zeros((3, 2), "float32"), seq_tag="a")
            dataset.producer_add_data(numpy.ones((1, 2), "float32"))
            dataset.producer_set_finished()

        thread = threading.Thread(target=produce)
        thread.start()
        tags = []
        while dataset.is_less_than_num_seqs(len(tags)):
            tags.append(dataset.get_tag(len(tags)))
        thread.join()
        assert tags == ["a", "seq-1"] and dataset.get_data(1, "data").tolist() == [[1, 1]]


class TestStaticDataset:
    """Arrays of a config."""

    def test_kinds(self) -> None:
        """Dims from the first sequence, keys sorted, "data" first."""
        seq = {"z": numpy.zeros(2, "int64"), "data": numpy.zeros((3, 5)), "a": numpy.array(["x", "y"])}
        dataset = init_dataset({"class": "StaticDataset", "data": [seq], "output_dim": {"z": 7}})
        assert dataset.get_data_keys() == ["data", "a", "z"] and dataset.get_target_list() == ["a", "z"]
        assert dataset.num_outputs == {"data": (5, 2), "a": (0, 1), "z": (7, 1)} and dataset.num_inputs == 5
        assert [dataset.get_data_dtype(key) for key in ("data", "a", "z")] == ["float64", "string", "int64"]
        assert dataset.len_info() == "StaticDataset, sequences: 1, frames: 3"

    def test_copy_from_another(self) -> None:
        """From sequence 1 on, two of them."""
        source = init_dataset(dummy)
        dataset = StaticDataset.copy_from_dataset(source, start_seq_idx=1, max_seqs=2)
        dataset.initialize()
        dataset.init_seq_order(1)
        assert dataset.num_seqs == 2 and dataset.num_outputs == source.num_outputs
        source.init_seq_order(1)
        numpy.testing.assert_array_equal(dataset.get_data(0, "data"), source.get_data(1, "data"))

    @pytest.mark.parametrize(
        "data,message", [([], "at least one sequence"), ([{"a": []}, {"b": []}], "sequence 1 has")]
    )
    def test_mistakes(self, data: Any, message: str) -> None:
        """Said before the first epoch."""
        with pytest.raises(ConfigError, match=message):
            init_dataset({"class": "StaticDataset", "data": data})


def test_no_heavy_imports() -> None:
    """h5py and backends come with those who need them."""
    code = "import sys, returnn.datasets.basic; print([m for m in ('h5py', 'tensorflow', 'torch') if m in sys.modules])"
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"
