"""Rows of HDF datasets in any layout, read in any order: what h5py gives for the same slice."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from returnn.datasets.basic import init_dataset
from returnn.datasets.hdf.rows import RowReader
from returnn.util.errors import UserError

NUM_ROWS = 300
LAYOUTS = {  # name -> whether the bytes are read directly
    "contiguous": True,
    "chunks": True,
    "grown": True,
    "big_endian": True,
    "half": True,
    "one_axis": True,
    "parts_of_rows": False,
    "compressed": False,
    "gaps": False,
    "text": False,
    "bool": False,
}


@pytest.fixture(scope="module")
def filename(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file with one dataset a layout."""
    filename = str(tmp_path_factory.mktemp("rows") / "a.hdf")
    values = numpy.random.RandomState(1).normal(size=(NUM_ROWS, 3)).astype("float32")
    with h5py.File(filename, "w") as file:
        file["contiguous"] = values
        file.create_dataset("chunks", data=values, chunks=(7, 3))
        file.create_dataset("grown", shape=(0, 3), maxshape=(None, 3), chunks=(16, 3), dtype="float32")
        for start in range(0, NUM_ROWS, 50):  # with something else between the chunks
            file["grown"].resize(start + 50, axis=0)
            file["grown"][start:] = values[start : start + 50]
            file[f"other_{start}"] = values
        file["big_endian"] = values.astype(">f4")
        file["half"] = values.astype("float16")
        file["one_axis"] = (values[:, 0] * 10).astype("int8")
        file.create_dataset("parts_of_rows", data=values, chunks=(7, 2))
        file.create_dataset("compressed", data=values, chunks=(7, 3), compression="gzip")
        file.create_dataset("gaps", shape=(NUM_ROWS, 3), chunks=(16, 3), dtype="float32")
        file["gaps"][100:200] = values[100:200]
        file["text"] = [f"row {i}" for i in range(NUM_ROWS)]
        file["bool"] = values > 0
    return filename


@pytest.mark.parametrize("layout", LAYOUTS)
@given(slices=st.lists(st.tuples(st.integers(0, NUM_ROWS), st.integers(0, NUM_ROWS)).map(sorted), min_size=1))
@settings(deadline=None, max_examples=30)
def test_any_order(filename: str, layout: str, slices: list[list[int]]) -> None:
    """As ``dataset[start:end]``; the arrays are nobody else's."""
    with h5py.File(filename) as file:
        reader = RowReader(file[layout])
        for start, end in slices:
            check_slice(reader, file[layout], start, end)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_order(filename: str, layout: str) -> None:
    """Short pieces one behind the other, for which it reads ahead; then from the start again."""
    with h5py.File(filename) as file:
        reader = RowReader(file[layout])
        for start in [*range(0, NUM_ROWS - 4, 4), 0, 4, 8]:
            check_slice(reader, file[layout], start, start + 4)


def check_slice(reader: RowReader, dataset: h5py.Dataset, start: int, end: int) -> None:
    """Reads rows twice, and spoils them between."""
    for _ in range(2):
        rows, expected = reader.read(start, end), dataset[start:end]
        assert rows.dtype == expected.dtype and rows.shape == expected.shape
        numpy.testing.assert_array_equal(rows, expected)
        rows[...] = rows.dtype.type(0) if rows.dtype.kind != "O" else b""


@pytest.mark.parametrize("layout,directly", LAYOUTS.items())
def test_reads_directly_where_possible(
    filename: str, layout: str, directly: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """h5py is asked for no data then. Five pieces of a grown dataset, or chunks side by side, make no difference."""
    with h5py.File(filename) as file:
        reader = RowReader(file[layout])
        asked = []
        get_item = h5py.Dataset.__getitem__
        monkeypatch.setattr(h5py.Dataset, "__getitem__", lambda self, args: asked.append(args) or get_item(self, args))
        reader.read(40, 110)
        assert asked == ([] if directly else [slice(40, 110, None)])


def test_file_that_became_shorter(tmp_path: Path) -> None:
    """A clear error, and no garbage."""
    filename = str(tmp_path / "a.hdf")
    with h5py.File(filename, "w") as file:
        file["seqTags"] = ["a"]
        file["seqLengths"] = numpy.array([[5000]], dtype="int32")
        file["inputs"] = numpy.ones((5000, 3), "float32")
    dataset = init_dataset({"class": "HDFDataset", "files": [filename]})
    dataset.init_seq_order(1)
    with open(filename, "rb+") as raw:
        raw.truncate(20000)
    with pytest.raises(UserError, match=r"Cannot read '/inputs' of HDF file '.*a.hdf': the file ends before byte \d+"):
        dataset.get_data(0, "data")
