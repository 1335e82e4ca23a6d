"""NumpyDumpDataset, StereoHdfDataset, RawWavDataset, and what is around them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from returnn.datasets.basic import init_dataset
from returnn.datasets.bundle_file import BundleFile
from returnn.datasets.normalization_data import NormalizationData
from returnn.util.errors import UserError
from tests.data_cases.data_files import wav_bytes, write_text
from tests.datasets.reading import read_epoch


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


dump = {"class": "NumpyDumpDataset", "prefix": "d.", "num_inputs": 2, "num_outputs": {"classes": (9, 1)}}


@pytest.mark.parametrize("target", ["targets", "targets.classes"])
def test_dumped_arrays_of_all_sequences(target: str) -> None:
    """Up to the first number that is not there, or to ``end_seq``; targets also as dump-dataset writes them."""
    for i in range(3):
        numpy.savetxt(f"d.{i}.data.txt.gz", numpy.full((4, 2), i))
        numpy.savetxt(f"d.{i}.{target}.txt.gz", numpy.arange(i, i + 4))
    seqs = read_epoch(init_dataset({**dump, "seq_ordering": "sorted"}), 1)
    assert [seq.tag for seq in seqs] == ["seq-0", "seq-1", "seq-2"]
    assert seqs[2].data == {"data": [[2.0, 2.0]] * 4, "classes": [2, 3, 4, 5]}
    dataset = init_dataset({**dump, "start_seq": 1, "end_seq": 2})
    assert [seq.data["classes"] for seq in read_epoch(dataset, 1)] == [[1, 2, 3, 4]]
    with pytest.raises(UserError, match=r"'d.0.data.txt.gz' has the shape \(4, 2\), but the dim of 'data' is 3"):
        read_epoch(init_dataset({**dump, "num_inputs": 3}), 1)
    with pytest.raises(UserError, match=r"file not found: 'd.3.data.txt.gz'"):
        read_epoch(init_dataset({**dump, "end_seq": 4}), 1)


def test_dump_that_is_not_there() -> None:
    with pytest.raises(UserError, match=r"file not found: 'x0.data.txt.gz'"):
        read_epoch(init_dataset({**dump, "prefix": "x"}), 1)
    with pytest.raises(UserError, match=r"num_inputs and num_outputs are needed"):
        init_dataset({"class": "NumpyDumpDataset", "prefix": "d."})


def write_stereo(name: str, inputs: list[Any], outputs: list[Any]) -> None:
    """An array a sequence."""
    with h5py.File(name, "w") as file:
        for group, values in (("inputs", inputs), ("outputs", outputs)):
            for i, value in enumerate(values):
                file[f"{group}/{i}"] = numpy.array(value)


def test_normalization() -> None:
    """Inputs 1, 3 and 2: mean 2, variance 2 / 3. Outputs 0 0 and 4 2: means 2 and 1, variances 4 and 1."""
    write_stereo("a.hdf", [[[1.0], [3.0]]], [[[0.0, 0.0], [4.0, 2.0]]])
    write_stereo("b.hdf", [[[2.0]]], [])
    write_text("a.bundle", "a.hdf\n\nb.hdf\n")
    assert BundleFile("a.bundle").dataset_file_paths == ["a.hdf", "b.hdf"]
    NormalizationData.create_normalization_file("a.bundle", "n.hdf")
    norm = NormalizationData("n.hdf")
    assert norm.inputMean is not None and norm.inputMean.tolist() == [2.0]
    numpy.testing.assert_allclose(norm.inputVariance, [2 / 3])
    assert norm.outputVariance is not None and norm.outputVariance.tolist() == [4.0, 1.0]
    dataset = init_dataset({"class": "StereoHdfDataset", "hdfFile": "a.hdf", "normalizationFile": "n.hdf"})
    (seq,) = read_epoch(dataset, 1)
    assert seq.data["classes"] == [[-1.0, -1.0], [1.0, 1.0]]
    numpy.testing.assert_allclose(seq.data["data"], [[-((3 / 2) ** 0.5)], [(3 / 2) ** 0.5]], rtol=1e-6)
    NormalizationData.create_normalization_file("a.bundle", "i.hdf", flag_include_outputs=False)
    assert NormalizationData("i.hdf").outputMean is None


def test_context_frames() -> None:
    write_stereo("a.hdf", [[[1.0, 2.0], [3.0, 4.0]]], [[[0.0, 0.0]] * 2])
    dataset = init_dataset({"class": "DatasetWithTimeContext", "hdfFile": "a.hdf", "tau": 1})
    assert dataset.get_data_dim("data") == 6
    assert read_epoch(dataset, 1)[0].data["data"] == [[0, 0, 1, 2, 3, 4], [1, 2, 3, 4, 0, 0]]


def test_partitions_of_stereo_files_lose_nothing() -> None:
    write_stereo("a.hdf", [[[float(i)]] for i in range(11)], [])
    dataset = init_dataset({"class": "StereoHdfDataset", "hdfFile": "a.hdf", "partition_epoch": 2})
    values = [[seq.data["data"][0][0] for seq in read_epoch(dataset, epoch)] for epoch in (1, 2)]
    assert values == [[0, 1, 2, 3, 4, 5], [6, 7, 8, 9, 10]]  # by number, not 0, 1, 10, 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hdfFile": "b.hdf"}, r"HDF file not found: 'b.hdf'"),
        ({"hdfFile": "b.bundle"}, r"^bundle file not found: 'b.bundle'"),
        ({"hdfFile": "a.hdf"}, r"outputs of 'a.hdf' are classes .*; set num_outputs"),
        ({"hdfFile": "empty.hdf"}, r"HDF file 'empty.hdf' has no group 'inputs' with sequences"),
        ({"hdfFile": "text.hdf"}, r"cannot read HDF file 'text.hdf'"),
        ({"hdfFile": "a.hdf", "normalizationFile": "n.hdf"}, r"^normalization file not found: 'n.hdf'"),
        ({"class": "DatasetWithTimeContext", "hdfFile": "a.hdf", "tau": 0}, r"tau must be 1 at least, but is 0"),
    ],
)
def test_mistakes_around_stereo_files(options: dict[str, Any], message: str) -> None:
    write_stereo("a.hdf", [[[1.0]]], [[[1]]])
    write_stereo("empty.hdf", [], [])
    write_text("text.hdf", "x")
    with pytest.raises(UserError, match=message):
        init_dataset({"class": "StereoHdfDataset", **options})


def test_frames_of_samples() -> None:
    """5 samples, 3 a frame, 2 further each: 0 1 2, 2 3 4; with a shift of 3, 0 1 2 and 3 4 0."""
    Path("w.wav").write_bytes(wav_bytes(numpy.arange(5) / 32767))
    write_text("list", "w.wav\n")
    wav = {"class": "RawWavDataset", "listFile": "list", "frameLength": 3}
    assert read_epoch(init_dataset({**wav, "frameShift": 2}), 1)[0].data["data"] == [[0, 1, 2], [2, 3, 4]]
    assert read_epoch(init_dataset({**wav, "frameShift": 3}), 1)[0].data["data"] == [[0, 1, 2], [3, 4, 0]]
    Path("w.wav").write_bytes(wav_bytes(numpy.zeros((5, 2))))
    with pytest.raises(UserError, match=r"'w.wav' has 2 channel\(s\) of 16 bits, expected one"):
        read_epoch(init_dataset({**wav, "frameShift": 2}), 1)
    Path("w.wav").write_bytes(wav_bytes(numpy.zeros(50))[:-20])
    with pytest.raises(UserError, match=r"'w.wav' is truncated: 40 of 50 samples"):
        read_epoch(init_dataset({**wav, "frameShift": 2}), 1)
    write_text("list", "v.wav\n")
    with pytest.raises(UserError, match=r"wav file not found: 'v.wav'.*\"w.wav\""):
        read_epoch(init_dataset({**wav, "frameShift": 2}), 1)
