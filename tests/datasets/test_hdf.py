"""HDF files: reading, writing, and what is wrong with them."""

from __future__ import annotations

import copy
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from returnn.datasets.basic import Dataset, init_dataset
from returnn.datasets.hdf import HDFDataset, HDFDatasetWriter, SimpleHDFWriter
from returnn.util.errors import ConfigError, UserError
from tests.program import run_python


def write(filename: Path, seq_lens: tuple[int, ...] = (2, 3), dim: int = 3, first: int = 0, **opts: Any) -> str:
    """:return: the name of a file with inputs 0, 1, 2, ... and classes"""
    with SimpleHDFWriter(str(filename), dim=dim, extra_type={"classes": (5, 1, "int32")}, **opts) as writer:
        for i, n in enumerate(seq_lens):
            inputs = numpy.arange(n * dim, dtype="float32").reshape(1, n, dim) + 100 * i
            classes = numpy.arange(n, dtype="int32")[None] % 5
            writer.insert_batch(inputs, [n], [f"seq-{first + i}"], extra={"classes": classes})
    return str(filename)


def read(*files: str, **opts: Any) -> HDFDataset:
    """:return: dataset in epoch 1"""
    dataset = init_dataset({"class": "HDFDataset", "files": list(files), **opts})
    dataset.init_seq_order(1)
    assert isinstance(dataset, HDFDataset)
    return dataset


def files_in(folder: Path) -> list[str]:
    """:return: names"""
    return sorted(path.name for path in folder.iterdir())


class TestWriter:
    """SimpleHDFWriter."""

    def test_layout(self, tmp_path: Path) -> None:
        """Sequences of 2 and 3 frames: rows 0 and 1 of the first, all three of the second."""
        filename = str(tmp_path / "a.hdf")
        data = numpy.arange(18, dtype="float32").reshape(2, 3, 3)
        with SimpleHDFWriter(filename, dim=3) as writer:
            writer.insert_batch(data, [2, 3], ["a", b"b"])
        with h5py.File(filename) as file:
            assert file["inputs"].shape == (5, 3)
            numpy.testing.assert_array_equal(file["inputs"][:], numpy.concatenate([data[0, :2], data[1]]))
            assert file["seqLengths"][:].tolist() == [[2, 0], [3, 0]]
            assert (file.attrs["numSeqs"], file.attrs["numTimesteps"], file.attrs["inputPattSize"]) == (2, 5, 3)
        dataset = read(filename)
        assert (dataset.get_data_keys(), dataset.get_target_list(), dataset.get_tag(1)) == (["data"], [], "b")
        assert dataset.get_seq_length(0).dict == {"data": 2, "classes": 0}

    def test_two_dynamic_axes(self, tmp_path: Path) -> None:
        """3 x 4 numbers are stored flat, with their sizes."""
        filename = str(tmp_path / "a.hdf")
        with SimpleHDFWriter(filename, dim=None, ndim=2) as writer:
            writer.insert_batch(numpy.ones((1, 3, 4), "float32"), {0: [3], 1: [4]}, ["a"])
        with h5py.File(filename) as file:
            assert file["inputs"].shape == (12,) and file["seqLengths"][:].tolist() == [[12, 2]]
            assert file["targets/data/sizes"][:].tolist() == [3, 4]

    def test_two_dynamic_axes_with_padding_and_features(self, tmp_path: Path) -> None:
        """Only real frames, row-major: for 1 x 2 of 2 x 2 the entries (0, 0), (0, 1)."""
        filename = str(tmp_path / "a.hdf")
        data = numpy.arange(16, dtype="float32").reshape(2, 2, 2, 2)
        with SimpleHDFWriter(filename, dim=2, ndim=3) as writer:
            writer.insert_batch(data, {0: [2, 1], 1: [1, 2]}, ["a", "b"])
        dataset = read(filename)
        assert dataset.get_data(0, "data").tolist() == data[0, :, :1].reshape(-1, 2).tolist()
        assert dataset.get_data(1, "data").tolist() == data[1, :1].reshape(-1, 2).tolist()

    def test_extras(self, tmp_path: Path) -> None:
        """Stored as they are: not cut; a number counts as length 1; text as str."""
        filename = str(tmp_path / "a.hdf")
        extra = {
            "x": numpy.zeros((2, 4, 5), "float32"),
            "score": numpy.array([0.5, 1.5]),
            "text": numpy.array([["a", "ö"], ["c", ""]], dtype=object),
        }
        with SimpleHDFWriter(filename, dim=1, extra_labels={"score": ["s"]}) as writer:
            writer.insert_batch(numpy.zeros((2, 3, 1)), [2, 3], ["a", "b"], extra=extra)
        dataset = read(filename)
        assert dataset.get_seq_length(0).dict == {"data": 2, "score": 1, "text": 2, "x": 4}
        assert dataset.num_outputs == {"data": [1, 2], "score": (1, 1), "text": (1, 1), "x": (5, 2)}
        assert dataset.get_data(1, "score").tolist() == [1.5] and dataset.labels["score"] == ["s"]
        assert dataset.get_data(0, "text").tolist() == ["a", "ö"] and dataset.get_data_dtype("text") == "string"

    def test_nothing_before_close(self, tmp_path: Path) -> None:
        """The target appears whole; a block that raises leaves nothing."""
        filename = tmp_path / "a.hdf"
        writer = SimpleHDFWriter(str(filename), dim=1)
        writer.insert_batch(numpy.zeros((1, 2, 1)), [2], ["a"])
        assert not filename.exists()
        writer.close()
        writer.close()
        assert files_in(tmp_path) == ["a.hdf"]
        with pytest.raises(KeyError), SimpleHDFWriter(str(tmp_path / "b.hdf"), dim=1):
            raise KeyError
        assert files_in(tmp_path) == ["a.hdf"]

    def test_killed(self, tmp_path: Path) -> None:
        """The target does not exist then, and nothing is outside of its folder."""
        code = (
            "import numpy, os, signal, sys\n"
            "from returnn.datasets.hdf import SimpleHDFWriter\n"
            "writer = SimpleHDFWriter(sys.argv[1], dim=1)\n"
            "writer.insert_batch(numpy.zeros((1, 2, 1)), [2], ['a'])\n"
            "os.kill(os.getpid(), signal.SIGKILL)\n"
        )
        (tmp_path / "out").mkdir()
        (tmp_path / "tmp").mkdir()
        env = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
        proc = subprocess.run([sys.executable, "-c", code, str(tmp_path / "out" / "a.hdf")], env=env)
        assert proc.returncode == -signal.SIGKILL
        assert files_in(tmp_path / "tmp") == [] and "a.hdf" not in files_in(tmp_path / "out")

    def test_extend(self, tmp_path: Path) -> None:
        """New sequences behind the old ones; a failure leaves the old file."""
        filename = write(tmp_path / "a.hdf", (2, 3))
        write(tmp_path / "a.hdf", (4,), first=2, extend_existing_file=True)
        dataset = read(filename)
        assert dataset.get_all_tags() == ["seq-0", "seq-1", "seq-2"] and dataset.get_num_timesteps() == 9
        assert [dataset.get_seq_length(i)["classes"] for i in range(3)] == [2, 3, 4]
        with pytest.raises(UserError), SimpleHDFWriter(filename, dim=3, extend_existing_file=True) as writer:
            writer.insert_batch(numpy.zeros((1, 2, 7)), [2], ["x"])
        assert read(filename).num_seqs == 3 and files_in(tmp_path) == ["a.hdf"]

    def test_no_sequences(self, tmp_path: Path) -> None:
        """A valid file nevertheless."""
        SimpleHDFWriter(str(tmp_path / "a.hdf"), dim=3).close()
        dataset = read(str(tmp_path / "a.hdf"))
        assert dataset.num_seqs == 0 and not dataset.have_seqs() and dataset.get_data_dim("data") == 3

    @pytest.mark.parametrize(
        "opts,batch,message",
        [
            ({"dim": 3, "labels": ["a"]}, None, "1 labels, but dim is 3"),
            ({"dim": 3, "swmr": True}, None, "swmr=True is not supported"),
            ({"dim": 3, "extend_existing_file": True}, None, "does not exist, it cannot be extended"),
            ({"dim": 3}, ((2, 4, 3), [2, 3]), r"axis 1 of the inputs has the size 4 .* the lengths are \[2, 3\]"),
            ({"dim": 3}, ((2, 3, 4), [2, 3]), "last axis of the inputs has the size 4, not 3"),
            ({"dim": 3}, ((2, 3), [2, 3]), r"inputs have the shape \(2, 3\), expected \[2, ...\] with 2 more axes"),
            (
                {"dim": 3, "extra_type": {"x": (1, 1, "int32")}},
                ((2, 3, 3), [2, 3]),
                r"data keys are \[\], expected \['x'\]",
            ),
        ],
    )
    def test_mistakes(self, tmp_path: Path, opts: dict[str, Any], batch: Any, message: str) -> None:
        """Said at once, and nothing is left."""
        with pytest.raises(UserError, match=message), SimpleHDFWriter(str(tmp_path / "a.hdf"), **opts) as writer:
            writer.insert_batch(numpy.zeros(batch[0]), batch[1], ["a", "b"])
        assert files_in(tmp_path) == []

    def test_existing_file_is_kept(self, tmp_path: Path) -> None:
        """Also if it appears while we write."""
        filename = tmp_path / "a.hdf"
        writer = SimpleHDFWriter(str(filename), dim=3)
        filename.write_text("mine")
        for attempt in (writer.close, lambda: SimpleHDFWriter(str(filename), dim=3)):
            with pytest.raises(AssertionError, match="exists already"):
                attempt()
        assert filename.read_text() == "mine"

    def test_overwrite(self, tmp_path: Path) -> None:
        """The old file stays until the new one is whole."""
        filename = tmp_path / "a.hdf"
        filename.write_text("old")
        with pytest.raises(KeyError), SimpleHDFWriter(str(filename), dim=3, overwrite=True):
            raise KeyError
        assert filename.read_text() == "old" and files_in(tmp_path) == ["a.hdf"]
        with SimpleHDFWriter(str(filename), dim=3, overwrite=True) as writer:
            writer.insert_batch(numpy.zeros((1, 2, 3), "float32"), [2], ["seq"])
            assert filename.read_text() == "old"
        with h5py.File(filename) as f:
            assert f["inputs"].shape == (2, 3)
        assert files_in(tmp_path) == ["a.hdf"]

    @pytest.mark.parametrize("num_batches", [1, 6])
    def test_full_disk(self, tmp_path: Path, num_batches: int) -> None:
        """One that takes 1 MB in a file; batches of 4 MB, written at the end, or when there are more than 16 MB."""
        code = (
            "import resource, numpy\n"
            "from returnn.datasets.hdf import SimpleHDFWriter\n"
            "from returnn.util.errors import UserError\n"
            "resource.setrlimit(resource.RLIMIT_FSIZE, (10**6, 10**6))\n"
            "try:\n"
            "    with SimpleHDFWriter('a.hdf', dim=1000) as writer:\n"
            f"        for i in range({num_batches}):\n"
            "            writer.insert_batch(numpy.ones((1, 1000, 1000), 'float32'), [1000], [f'seq-{i}'])\n"
            "except UserError as exc:\n"
            "    print(exc)\n"
        )
        result = run_python("-c", code, cwd=tmp_path)
        assert result.stdout == "Cannot write HDF file 'a.hdf': File too large\n"
        assert result.returncode == 0 and result.stderr == ""
        assert files_in(tmp_path) == []

    @settings(max_examples=30, deadline=None)
    @given(
        st.lists(st.lists(st.integers(0, 6), min_size=1, max_size=4), min_size=1, max_size=4),
        st.sampled_from(["float32", "float64", "int32", "uint8"]),
        st.sampled_from([(3, 2), (4, 1), (2, 3), (None, 1)]),
    )
    def test_what_is_written_is_read(
        self,
        tmp_path_factory: pytest.TempPathFactory,
        batches: list[list[int]],
        dtype: str,
        dims: tuple[int | None, int],
    ) -> None:
        """Whatever the lengths, the batches, the type and the axes."""
        dim, ndim = dims
        filename = str(tmp_path_factory.mktemp("hdf") / "a.hdf")
        rng = numpy.random.RandomState(1)
        expected = []
        with SimpleHDFWriter(filename, dim=dim, ndim=ndim) as writer:
            for lens in batches:
                frame_shape = [5] * (ndim - 2) + ([dim] if ndim > 1 else [])
                inputs = rng.randint(0, 4, (len(lens), max(lens), *frame_shape)).astype(dtype)
                expected += [inputs[i, :n] for i, n in enumerate(lens)]
                writer.insert_batch(inputs, lens, [f"{len(expected)}-{i}" for i in range(len(lens))])
        dataset = read(filename)
        assert dataset.num_seqs == len(expected)
        for i, value in enumerate(expected):
            assert dataset.get_seq_length(i)["data"] == len(value)
            numpy.testing.assert_array_equal(dataset.get_data(i, "data"), value)
            assert dataset.get_data(i, "data").dtype == dtype


class TestDump:
    """HDFDatasetWriter."""

    def test_layout(self, tmp_path: Path) -> None:
        """Labels are made up from the key; strings have one byte more than the longest."""
        filename = str(tmp_path / "a.hdf")
        writer = HDFDatasetWriter(filename)
        dataset = init_dataset({"class": "DummyDataset", "input_dim": 2, "output_dim": 3, "num_seqs": 2})
        writer.dump_from_dataset(dataset)
        assert not os.path.exists(filename)
        writer.close()
        with h5py.File(filename) as file:
            labels = file["targets/labels/classes"]
            assert labels.dtype == "S16" and labels[:].tolist() == [b"classes-class-%i" % i for i in range(3)]
            assert file["seqTags"].dtype == "S6" and file["seqLengths"][:].tolist() == [[2, 2], [2, 2]]
            assert file["targets/size"].attrs["classes"].tolist() == [3, 1] and file.attrs["inputPattSize"] == 2
        again = read(filename)
        dataset.init_seq_order(1)
        for i in range(2):
            for key in ("data", "classes"):
                numpy.testing.assert_array_equal(again.get_data(i, key), dataset.get_data(i, key))
        assert again.num_outputs == {"data": [2, 2], "classes": (3, 1)}

    def test_part(self, tmp_path: Path) -> None:
        """end_seq is inclusive."""
        writer = HDFDatasetWriter(str(tmp_path / "a.hdf"))
        dataset = init_dataset({"class": "DummyDataset", "input_dim": 2, "output_dim": 3, "num_seqs": 5})
        writer.dump_from_dataset(dataset, start_seq=1, end_seq=2, use_progress_bar=False)
        writer.close()
        assert read(str(tmp_path / "a.hdf")).get_all_tags() == ["seq-1", "seq-2"]

    def test_target_named_data(self, tmp_path: Path) -> None:
        """It is renamed, since "data" is the input."""
        writer = HDFDatasetWriter(str(tmp_path / "a.hdf"))
        data = [{"data": numpy.array([1, 2]), "delayed": numpy.array([0, 1]), "raw": numpy.array(["x"])}]
        opts = {"target_list": ["data"], "output_dim": {"data": (3, 1), "delayed": (3, 1)}}
        writer.dump_from_dataset(init_dataset({"class": "StaticDataset", "data": data, **opts}))
        writer.close()
        dataset = read(str(tmp_path / "a.hdf"))
        assert dataset.get_data_keys() == ["data", "classes"] and dataset.get_data(0, "classes").tolist() == [1, 2]

    def test_mistakes(self, tmp_path: Path) -> None:
        """Several inputs, none of them "data"; a file that exists."""
        writer = HDFDatasetWriter(str(tmp_path / "a.hdf"))
        dataset = init_dataset(
            {"class": "StaticDataset", "data": [{"a": numpy.zeros(2), "b": numpy.zeros(2)}], "target_list": []}
        )
        with pytest.raises(UserError, match="expected one data key that is not a target"):
            writer.dump_from_dataset(dataset)
        writer.discard()
        assert files_in(tmp_path) == []
        with pytest.raises(ConfigError, match="exists already"):
            HDFDatasetWriter(write(tmp_path / "b.hdf"))


class TestReader:
    """HDFDataset."""

    def test_random_access(self, tmp_path: Path) -> None:
        """By corpus index and by tag, over several files."""
        files = [write(tmp_path / "a.hdf", (2, 3)), write(tmp_path / "b.hdf", (4, 1), first=2)]
        dataset = read(*files, seq_ordering="sorted_reverse")
        assert [dataset.get_corpus_seq_idx(i) for i in range(4)] == [2, 1, 0, 3]
        assert dataset.get_corpus_seq(2).num_frames["data"] == 4 and dataset.get_corpus_seq(2).seq_tag == "seq-2"
        assert dataset.get_data_by_seq_tag("seq-3", "classes").tolist() == [0]
        with pytest.raises(UserError, match="there is no sequence 'x', but for example"):
            dataset.get_data_by_seq_tag("x", "data")
        assert dataset.get_data_slice(0, "data", 1, 3).tolist() == dataset.get_data(0, "data")[1:3].tolist()
        assert dataset.len_info() == "HDFDataset, sequences: 4, frames: 10"

    def test_order_that_stays_is_told(self, tmp_path: Path) -> None:
        """So that an engine can use the batches again."""
        dataset = init_dataset({"class": "HDFDataset", "files": [write(tmp_path / "a.hdf", (2, 3, 4))]})
        assert [dataset.init_seq_order(epoch) for epoch in (1, 2, 3)] == [True, False, False]
        dataset.seq_ordering = "random"
        assert dataset.init_seq_order(4)

    @pytest.mark.parametrize("cache_byte_size", [0, 30, 100, -1])
    def test_cache_changes_nothing(self, tmp_path: Path, cache_byte_size: int) -> None:
        """Small ones drop what was used long ago; files can be closed in between."""
        filename = write(tmp_path / "a.hdf", (2, 3, 1, 4))
        plain, cached = read(filename), read(filename, cache_byte_size=cache_byte_size, partition_epoch=1)
        for i in (0, 1, 0, 3, 2, 3, 0):
            for key in ("data", "classes"):
                numpy.testing.assert_array_equal(cached.get_data(i, key), plain.get_data(i, key))
        cached.finish_epoch(free_resources=True)
        cached.init_seq_order(2)
        assert cached.get_data(1, "classes").tolist() == [0, 1, 2]

    def test_many_files(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """Only some are open at once."""
        monkeypatch.setattr("returnn.datasets.hdf.dataset._max_open_files", 2)
        files = [write(tmp_path / f"{i}.hdf", (i + 1,), first=i) for i in range(5)]
        dataset = read(*files)
        assert [len(dataset.get_data(i, "data")) for i in (4, 0, 3, 1, 2)] == [5, 1, 4, 2, 3]
        assert sum(file._open_file is not None for file in dataset._hdf_files) == 2

    def test_copy(self, tmp_path: Path) -> None:
        """It opens the files again."""
        dataset = read(write(tmp_path / "a.hdf", (2, 3)), seq_ordering="reverse")
        other = copy.deepcopy(dataset)
        other.init_seq_order(1)
        assert other.get_tag(0) == "seq-1" and other.get_data(0, "classes").tolist() == [0, 1, 2]

    def test_times(self, tmp_path: Path) -> None:
        """Time stamps of the frames of a sequence."""
        filename = write(tmp_path / "a.hdf", (2, 3))
        with pytest.raises(UserError, match="has no dataset 'times'"):
            read(filename).get_times(1)
        with h5py.File(filename, "r+") as file:
            file["times"] = numpy.arange(5)
        assert read(filename).get_times(1).tolist() == [2, 3, 4]

    def test_more_targets_in_a_later_file(self, tmp_path: Path) -> None:
        """They are ignored; fewer are an error."""
        a = write(tmp_path / "a.hdf", (2, 3))
        b = shutil.copy(a, tmp_path / "b.hdf")
        with h5py.File(b, "r+") as file:
            file["targets/data/aaa"] = numpy.zeros(2, "int32")
            file["targets/size"].attrs["aaa"] = 5
            del file["seqLengths"]
            file["seqLengths"] = [[2, 1, 2], [3, 1, 3]]
        dataset = read(a, str(b))
        assert dataset.get_target_list() == ["classes"] and dataset.get_seq_length(3).dict == {"data": 3, "classes": 3}
        assert dataset.get_data(3, "classes").tolist() == [0, 1, 2]
        with pytest.raises(AssertionError, match=r"wrong dimensions in file .*a.hdf: no target \['aaa'\]"):
            read(str(b), a)

    def test_shuffled_frames(self, tmp_path: Path) -> None:
        """Within two sequences, data and classes alike."""
        filename = write(tmp_path / "a.hdf", (3, 3, 4), dim=1)
        dataset = read(filename, shuffle_frames_of_nseqs=2)
        data = [dataset.get_data(i, "data")[:, 0].tolist() for i in range(3)]
        classes = [dataset.get_data(i, "classes").tolist() for i in range(3)]
        assert sorted(data[0] + data[1]) == [0, 1, 2, 100, 101, 102] and sorted(data[2]) == [200, 201, 202, 203]
        assert [x % 100 for x in data[0] + data[1] + data[2]] == classes[0] + classes[1] + classes[2]
        assert data[0] + data[1] != [0, 1, 2, 100, 101, 102]
        with pytest.raises(ConfigError, match="does not support shuffle_frames_of_nseqs"):
            other = init_dataset({"class": "Task12AXDataset", "num_seqs": 3, "shuffle_frames_of_nseqs": 2})
            other.init_seq_order(1)
            other.load_seqs(0, 1)


def _set(name: str, value: Any) -> Any:
    """:return: function that replaces a dataset of a file"""

    def modify(file: h5py.File) -> None:
        if name in file:
            del file[name]
        if value is not None:
            file[name] = value

    return modify


class TestBadFiles:
    """The message names the file and what is wrong."""

    def check(self, filename: Path | str, message: str, **opts: Any) -> None:
        """Asserts that reading fails."""
        with pytest.raises(UserError, match=message) as exc_info:
            read(str(filename), **opts)
        assert str(filename) in str(exc_info.value)

    def test_missing(self, tmp_path: Path) -> None:
        """Also a folder is no file."""
        self.check(tmp_path / "a.hdf", "HDF file not found")
        self.check(tmp_path, "is a folder, expected an HDF file")

    def test_not_hdf(self, tmp_path: Path) -> None:
        """Text, or nothing."""
        (tmp_path / "a.hdf").write_text("hello")
        self.check(tmp_path / "a.hdf", "is not an HDF file")
        (tmp_path / "a.hdf").write_text("")
        self.check(tmp_path / "a.hdf", "HDF file")

    def test_truncated(self, tmp_path: Path) -> None:
        """Half of it is there."""
        write(tmp_path / "a.hdf")
        size = (tmp_path / "a.hdf").stat().st_size
        os.truncate(tmp_path / "a.hdf", size // 2)
        self.check(tmp_path / "a.hdf", f"is truncated: it has {size // 2} bytes and should have {size}")

    @pytest.mark.parametrize(
        "modify,message",
        [
            (_set("seqTags", None), "has no dataset 'seqTags'. There are: .*inputs"),
            (_set("seqLengths", None), "has no dataset 'seqLengths'"),
            (_set("seqLengths", [[2, 2], [4, 3]]), "has only 5 frames in '/inputs', but the lengths .* make 6"),
            (_set("seqLengths", [[2, 2]]), r"has 'seqLengths' of shape \(1, 2\), but 2 entries in 'seqTags'"),
            (_set("seqLengths", [[2], [3]]), "and 2 data keys: data, classes"),
            (_set("seqLengths", [[2, 2], [-1, 3]]), "has negative numbers"),
            (_set("targets/data/classes", None), "has no dataset 'targets/data/classes'"),
            (_set("targets/size", None), "has no attribute 'classes' of 'targets/size'"),
            (_set("targets/data/data", [1]), "both have the data key 'data'"),
            (_set("inputs", [0.0] * 5), None),
        ],
    )
    def test_wrong_layout(self, tmp_path: Path, modify: Any, message: str | None) -> None:
        """Each of the things that must be there."""
        write(tmp_path / "a.hdf", (2, 3))
        with h5py.File(tmp_path / "a.hdf", "r+") as file:
            modify(file)
            if message is None:
                message = "has 'inputs' with one axis, but no attribute 'inputPattSize'"
                del file.attrs["inputPattSize"]
        self.check(tmp_path / "a.hdf", message)

    def test_no_data(self, tmp_path: Path) -> None:
        """Neither inputs nor targets."""
        with h5py.File(tmp_path / "a.hdf", "w") as file:
            file["seqTags"], file["seqLengths"] = [b"a"], [[1]]
        self.check(tmp_path / "a.hdf", "has neither a dataset 'inputs' nor datasets in 'targets/data'")

    def test_files_that_disagree(self, tmp_path: Path) -> None:
        """The later one is named, with both dims. Also an AssertionError."""
        a, b = write(tmp_path / "a.hdf", dim=3), write(tmp_path / "b.hdf", dim=4)
        with pytest.raises(
            AssertionError, match=r"wrong input dimension in file .*b.hdf: .* is \(4, 2\), but \(3, 2\)"
        ):
            read(a, b)

    def test_files_must_be_a_list(self) -> None:
        """A str would be taken letter by letter."""
        with pytest.raises(ConfigError, match="files must be a list of names, but is the str 'a.hdf'"):
            init_dataset({"class": "HDFDataset", "files": "a.hdf"})
        with pytest.raises(ConfigError, match="there is no file; set the option files"):
            init_dataset({"class": "HDFDataset"})

    def test_damaged_inside(self, tmp_path: Path) -> None:
        """Found when it is read."""
        filename = tmp_path / "a.hdf"
        with h5py.File(write(filename, (200, 300)), "r+") as file:
            data = file["inputs"][:]
            del file["inputs"]
            file.create_dataset("inputs", data=data, compression="gzip", chunks=(100, 3))
            info = file["inputs"].id.get_chunk_info(1)
        with open(filename, "r+b") as f:
            f.seek(info.byte_offset)
            f.write(b"x" * info.size)
        dataset = read(str(filename))
        with pytest.raises(UserError, match=r"Cannot read '/inputs' of HDF file '.*a.hdf'"):
            dataset.get_data(0, "data")


def test_add_file(tmp_path: Path) -> None:
    """The way of scripts."""
    dataset: Dataset = HDFDataset()
    dataset.add_file(write(tmp_path / "a.hdf"))
    dataset.initialize()
    dataset.init_seq_order(1)
    assert dataset.num_seqs == 2 and dataset.num_inputs == 3
