"""One HDF file that holds sequences: its layout, checked when it is opened, and reading from it.

Layout: ``seqTags`` [N] strings; ``seqLengths`` [N, K] int; ``inputs`` [T, ...], data key "data"; for each target key
``targets/data/<key>`` [T_key, ...], attribute ``<key>`` of ``targets/size``: dim or (dim, ndim), and
``targets/labels/<key>`` [dim] strings; ``labels`` [dim] strings of "data"; ``times`` [T, ...] time stamps of "data";
attribute ``inputPattSize``: dim of ``inputs`` if they have one axis.
Sequences stand one behind the other. Columns of ``seqLengths``: inputs, if there, then the targets in sorted order.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from typing import Any

import h5py
import numpy

from returnn.util.errors import UserError
from returnn.util.suggest import file_not_found

from .rows import RowReader


def open_hdf(filename: str) -> h5py.File:
    """
    :return: open for reading
    :raises UserError: what is wrong with it
    """
    try:
        return h5py.File(filename, "r")
    except FileNotFoundError:
        raise UserError(file_not_found("HDF file", filename)) from None
    except OSError as exc:
        raise UserError(_explain_open_error(filename, exc)) from exc


def _explain_open_error(filename: str, exc: OSError) -> str:
    if os.path.isdir(filename):
        return f"{filename!r} is a folder, expected an HDF file"
    truncated = re.search(r"truncated file: eof = (\d+).*stored_eof = (\d+)", str(exc))
    if truncated:
        return f"HDF file {filename!r} is truncated: it has {truncated[1]} bytes and should have {truncated[2]}"
    if "signature not found" in str(exc):
        return f"{filename!r} is not an HDF file"
    return f"Cannot open HDF file {filename!r}: {exc}"


class HdfFile:
    """A file with sequences. It is open while it is read, until :meth:`close`, and opened again if needed."""

    def __init__(self, filename: str):
        """
        :raises UserError: the layout is not as it should be
        """
        self.filename = filename
        self._open_file: h5py.File | None = None
        self._open_datasets: dict[str, h5py.Dataset] = {}
        self._readers: dict[str, RowReader] = {}
        try:
            self._read_layout()
        except BaseException:
            self.close()
            raise

    @property
    def _file(self) -> h5py.File:
        if self._open_file is None:
            self._open_file = open_hdf(self.filename)
        return self._open_file

    def close(self) -> None:
        """Closes the file, until the next reading."""
        self._readers = {}
        if self._open_file is not None:
            self._open_file.close()
        self._open_file = None
        self._open_datasets = {}

    def _read_layout(self) -> None:
        for name in ("seqTags", "seqLengths"):
            if not isinstance(self._file.get(name), h5py.Dataset):
                raise self._error(f"has no dataset {name!r}")
        self.has_inputs = "inputs" in self._file
        self.target_keys = self._find_target_keys()
        if not self.has_inputs and not self.target_keys:
            raise self._error("has neither a dataset 'inputs' nor datasets in 'targets/data'")
        if self.has_inputs and "data" in self.target_keys:
            raise self._error("has 'inputs' and also 'targets/data/data'; both have the data key 'data'")
        self.data_keys = (["data"] if self.has_inputs else []) + self.target_keys
        self.dims = {key: self._find_dim(key) for key in self.data_keys}
        self.dtypes = {key: _dtype_name(self._dataset(key).dtype) for key in self.data_keys}
        self._read_lengths()

    def _error(self, what: str) -> UserError:
        names: list[str] = []
        self._file.visit(names.append)
        return UserError(f"HDF file {self.filename!r} {what}. There are: {', '.join(names[:30]) or 'no entries'}.")

    def _find_target_keys(self) -> list[str]:
        keys: set[str] = set()
        if isinstance(self._file.get("targets/data"), h5py.Group):
            keys |= set(self._file["targets/data"])
        if "targets/size" in self._file:
            keys |= set(self._file["targets/size"].attrs)
        return sorted(keys)

    def _dataset(self, key: str) -> h5py.Dataset:
        dataset = self._open_datasets.get(key)
        if dataset is None:
            name = "inputs" if key == "data" and self.has_inputs else "targets/data/" + key
            dataset = self._file.get(name)
            if not isinstance(dataset, h5py.Dataset):
                raise self._error(f"has no dataset {name!r}")
            self._open_datasets[key] = dataset
        return dataset

    def _find_dim(self, key: str) -> tuple[int, int]:
        """:return: dim, ndim (with time)"""
        dataset = self._dataset(key)
        if key == "data" and self.has_inputs:
            if dataset.ndim > 1:
                return int(dataset.shape[1]), dataset.ndim
            if "inputPattSize" not in self._file.attrs:
                raise self._error("has 'inputs' with one axis, but no attribute 'inputPattSize' with their dim")
            return int(self._file.attrs["inputPattSize"]), dataset.ndim
        size = self._file["targets/size"].attrs.get(key) if "targets/size" in self._file else None
        if size is None:
            if dataset.ndim > 1:
                return int(dataset.shape[-1]), dataset.ndim
            raise self._error(f"has no attribute {key!r} of 'targets/size' with the dim of that data key")
        numbers = [int(n) for n in numpy.atleast_1d(size)]
        if len(numbers) > 2:
            raise self._error(f"has {numbers} as attribute {key!r} of 'targets/size', expected dim or (dim, ndim)")
        return numbers[0], numbers[1] if len(numbers) == 2 else dataset.ndim

    def _read_lengths(self) -> None:
        lens = self.read_dataset(self._file["seqLengths"])
        if lens.ndim == 1:
            lens = lens[:, None]
        num_tags = len(self._file["seqTags"])
        num_columns = len(self.data_keys)
        if lens.ndim != 2 or len(lens) != num_tags or lens.shape[1] < num_columns:
            raise self._error(
                f"has 'seqLengths' of shape {lens.shape}, but {num_tags} entries in 'seqTags'"
                f" and {num_columns} data keys: {', '.join(self.data_keys)}"
            )
        self.num_seqs = num_tags
        self.length_keys = list(self.data_keys)
        if not self.target_keys and lens.shape[1] > num_columns:
            self.length_keys.append("classes")  # there is no such data, but its lengths are there by convention
        lens = lens[:, : len(self.length_keys)]
        if (lens < 0).any():
            raise self._error("has negative numbers in 'seqLengths'")
        self._offsets = numpy.zeros((num_tags + 1, len(self.length_keys)), dtype="int64")
        numpy.cumsum(lens, axis=0, out=self._offsets[1:])
        self._column = {key: i for i, key in enumerate(self.length_keys)}
        for key in self.data_keys:
            dataset, num_frames = self._dataset(key), self._offsets[-1, self._column[key]]
            if num_frames > dataset.shape[0]:
                raise self._error(
                    f"has only {dataset.shape[0]} frames in {dataset.name!r},"
                    f" but the lengths of its sequences make {num_frames}"
                )

    def get_lengths(self, keys: Sequence[str]) -> numpy.ndarray:
        """
        :param keys: of ``length_keys``
        :return: [num_seqs, number of keys] int64
        """
        return numpy.diff(self._offsets[:, [self._column[key] for key in keys]], axis=0)

    def read_dataset(self, dataset: h5py.Dataset, start: int = 0, end: int | None = None) -> numpy.ndarray:
        """
        :return: rows start to end (exclusive)
        :raises UserError: the file is damaged there
        """
        try:
            return dataset[start:end]
        except OSError as exc:
            raise self._read_error(dataset, exc) from exc

    def _read_error(self, dataset: h5py.Dataset, exc: OSError) -> UserError:
        return UserError(f"Cannot read {dataset.name!r} of HDF file {self.filename!r}: {exc}")

    def read(self, key: str, seq_idx: int, start: int, end: int) -> numpy.ndarray:
        """
        :param key: data key
        :param seq_idx: position in this file
        :param start: first frame
        :param end: exclusive
        """
        offset = int(self._offsets[seq_idx, self._column[key]])
        reader = self._readers.get(key)
        if reader is None:
            reader = self._readers[key] = RowReader(self._dataset(key))
        try:
            data = reader.read(offset + start, offset + end)
        except OSError as exc:
            raise self._read_error(self._dataset(key), exc) from exc
        return data if data.dtype.kind not in "OS" else _decoded(data)

    def read_times(self, seq_idx: int) -> numpy.ndarray:
        """
        :return: [time, ...], time stamps of the input frames
        """
        if "times" not in self._file:
            raise self._error("has no dataset 'times'")
        start, end = self._offsets[seq_idx : seq_idx + 2, self._column["data"]].tolist()
        return self.read_dataset(self._file["times"], start, end)

    def read_tags(self) -> list[str]:
        """
        :return: tags of all sequences
        """
        return _strings(self.read_dataset(self._file["seqTags"]))

    def read_labels(self, key: str) -> list[str]:
        """
        :return: labels of the classes, maybe none
        """
        name = "labels" if key == "data" and self.has_inputs else "targets/labels/" + key
        dataset = self._file.get(name)
        return _strings(self.read_dataset(dataset)) if isinstance(dataset, h5py.Dataset) else []


def _dtype_name(dtype: numpy.dtype[Any]) -> str:
    return "string" if dtype.kind in "OSU" else dtype.name


def _strings(values: Iterable[Any]) -> list[str]:
    """:return: as str, cut at the first NUL"""
    texts = [v.decode("utf8") if isinstance(v, bytes) else str(v) for v in values]
    return [text.partition("\0")[0] for text in texts]


def _decoded(values: numpy.ndarray) -> numpy.ndarray:
    res = numpy.empty(values.shape, dtype=object)
    res.reshape(-1)[:] = _strings(values.reshape(-1))
    return res
