"""Writing sequences to an HDF file, batch by batch."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any

import h5py
import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.files import remove_file, rename_durable, temp_path

from .file import open_hdf

_flush_num_bytes = 2**24
_chunk_num_bytes = 2**16


class SimpleHDFWriter:
    """Writes a file that HDFDataset can read.

    All goes to a temporary file beside the target, which appears under its name, whole, with :meth:`close`.
    As a context manager: closed at the end of the block; if the block raises, nothing is left.
    Memory: up to 16 MiB for what waits to be written.
    """

    def __init__(
        self,
        filename: str,
        dim: int | None,
        labels: Sequence[str] | None = None,
        ndim: int | None = None,
        extra_type: Mapping[str, tuple[int | None, int, str]] | None = None,
        swmr: bool = False,
        extend_existing_file: bool = False,
        extra_labels: Mapping[str, Sequence[str]] | None = None,
        overwrite: bool = False,
    ):
        """
        :param filename: must not exist, unless it is to be extended or overwritten
        :param dim: number of features, or of classes if ``ndim`` is 1. None: there is no feature axis
        :param labels: of the classes
        :param ndim: axes of a sequence, with time and features. None: 2, or 1 without ``dim``
        :param extra_type: data key -> (dim, ndim, dtype) of further keys. None: as in the first batch.
            The dtype can be "string"
        :param swmr: not supported
        :param extend_existing_file: add to the file, which must exist
        :param extra_labels: data key -> labels
        :param overwrite: the file may exist; it is replaced by :meth:`close`, and stays as it is until then
        :raises UserError: wrong options, or the file cannot be written; then nothing is left of it
        """
        if swmr:
            raise UserError("SimpleHDFWriter: swmr=True is not supported")
        if overwrite and extend_existing_file:
            raise UserError(f"SimpleHDFWriter {filename!r}: extend_existing_file and overwrite exclude each other")
        if labels is not None and len(labels) and len(labels) != dim:
            raise UserError(f"SimpleHDFWriter {filename!r}: {len(labels)} labels, but dim is {dim}")
        self.filename = filename
        self.dim = dim
        self.ndim = ndim if ndim is not None else (1 if dim is None else 2)
        self._labels = list(labels or ())
        self._extra_labels = dict(extra_labels or {})
        self._extra_type = dict(extra_type) if extra_type is not None else None
        self._extend = extend_existing_file
        self._overwrite = overwrite
        self._check_target()
        self._columns: dict[str, _Column] = {}
        self._tags = _Column("seqTags", dtype=h5py.string_dtype())
        self._seq_lens: list[list[int]] = []
        self._num_seqs = self._num_timesteps = 0
        self._temp_filename: str | None = temp_path(filename)
        with self._explained_errors():
            self._disk, self._file = self._open()

    def _check_target(self) -> None:
        if os.path.isdir(self.filename):
            raise UserError(f"SimpleHDFWriter: {self.filename!r} is a folder")
        if os.path.exists(self.filename) != self._extend and not self._overwrite:
            what = "does not exist, it cannot be extended" if self._extend else "exists already"
            raise ConfigError(f"SimpleHDFWriter: file {self.filename!r} {what}")
        folder = os.path.dirname(os.path.abspath(self.filename))
        if not os.path.isdir(folder):
            raise UserError(f"SimpleHDFWriter: the folder of {self.filename!r} does not exist")

    def _open(self) -> tuple[_Disk, h5py.File]:
        assert self._temp_filename is not None
        if not self._extend:
            disk = _Disk(self._temp_filename, "xb+")
            return disk, h5py.File(disk, "w")
        open_hdf(self.filename).close()  # for its messages
        shutil.copyfile(self.filename, self._temp_filename)
        disk = _Disk(self._temp_filename, "rb+")
        file = h5py.File(disk, "r+")
        self._num_seqs = len(file["seqTags"])
        self._num_timesteps = int(file.attrs["numTimesteps"])
        return disk, file

    @contextlib.contextmanager
    def _explained_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            raise UserError(f"Cannot write HDF file {self.filename!r}: {exc.strerror or exc}") from exc

    def __enter__(self) -> SimpleHDFWriter:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if exc_type is None:
            self.close()
        else:
            self.discard()

    def insert_batch(
        self,
        inputs: numpy.ndarray,
        seq_len: Sequence[int] | Mapping[int, Sequence[int]],
        seq_tag: Sequence[str | bytes],
        extra: Mapping[str, numpy.ndarray] | None = None,
    ) -> None:
        """
        :param inputs: [B, ...]
        :param seq_len: per sequence the length of the first axis after the batch; or axis (0 is the first after the
            batch) -> lengths. The longest must be the size of that axis. With several axes, a sequence is stored
            flat, and the data key "sizes" holds its lengths.
        :param seq_tag: per sequence
        :param extra: further data key -> [B, ...], stored as it is (not cut to ``seq_len``); [B] counts as length 1
        """
        assert self._temp_filename is not None, f"{self!r} is closed"
        inputs = numpy.asarray(inputs)
        lens = self._check_seq_lens(inputs, seq_len, len(seq_tag))
        extra = {key: numpy.asarray(value) for key, value in (extra or {}).items()}
        if len(lens) > 1:
            extra["sizes"] = numpy.array(list(lens.values()), dtype="int32").T
        extra = {key: value[:, None] if value.ndim == 1 else value for key, value in extra.items()}
        keys = self._check_extra(extra, len(seq_tag))
        frames = _real_frames(inputs, list(lens.values()))
        self._column("inputs").add(frames)
        for key in keys:
            self._column("targets/data/" + key).add(extra[key].reshape((-1, *extra[key].shape[2:])))
        num_frames = numpy.prod(list(lens.values()), axis=0, dtype=int)
        extra_lens = [extra[key].shape[1] for key in keys] or [0]
        self._seq_lens += [[int(n), *extra_lens] for n in num_frames]
        self._tags.add(numpy.array([_to_str(tag) for tag in seq_tag], dtype=object))
        self._num_seqs += len(seq_tag)
        self._num_timesteps += len(frames)
        if sum(column.num_bytes for column in self._columns.values()) > _flush_num_bytes:
            with self._explained_errors():
                self._flush()

    def _check_seq_lens(
        self, inputs: numpy.ndarray, seq_len: Sequence[int] | Mapping[int, Sequence[int]], batch_size: int
    ) -> dict[int, numpy.ndarray]:
        """:return: axis -> lengths, of all axes from the first to the last with lengths"""
        if inputs.ndim != self.ndim + 1 or len(inputs) != batch_size:
            raise UserError(
                f"{self!r}: inputs have the shape {inputs.shape},"
                f" expected [{batch_size}, ...] with {self.ndim} more axes"
            )
        given = seq_len if isinstance(seq_len, Mapping) else {0: seq_len}
        lens = {}
        for axis in range(max(given) + 1):
            size = inputs.shape[axis + 1]
            lens[axis] = numpy.asarray(given.get(axis, [size] * batch_size))
            if lens[axis].shape != (batch_size,) or (batch_size and lens[axis].max() != size):
                raise UserError(
                    f"{self!r}: axis {axis + 1} of the inputs has the size {size} for {batch_size} sequences,"
                    f" but the lengths are {lens[axis].tolist()}"
                )
        if len(lens) < self.ndim and self.dim is not None and inputs.shape[-1] != self.dim:
            raise UserError(f"{self!r}: the last axis of the inputs has the size {inputs.shape[-1]}, not {self.dim}")
        return lens

    def _check_extra(self, extra: dict[str, numpy.ndarray], batch_size: int) -> list[str]:
        """:return: the keys, sorted"""
        if self._extra_type is None:
            self._extra_type = {key: _guess_type(value) for key, value in extra.items()}
        known = self._extra_type.keys() | ({"sizes"} if "sizes" in extra else set())
        if extra.keys() != known:
            raise UserError(
                f"{self!r}: further data keys are {sorted(extra)}, expected {sorted(known)}, as in the first batch,"
                " or as declared by extra_type"
            )
        for key, value in extra.items():
            if len(value) != batch_size:
                raise UserError(f"{self!r}: {key!r} has the shape {value.shape}, expected [{batch_size}, ...]")
        return sorted(extra)

    def _column(self, name: str) -> _Column:
        if name not in self._columns:
            dtype = None
            key = name.rpartition("/")[2]
            if name != "inputs" and self._extra_type and key in self._extra_type:
                dtype = self._extra_type[key][2]
            self._columns[name] = _Column(name, dtype=h5py.string_dtype() if dtype == "string" else dtype)
        return self._columns[name]

    def _flush(self) -> None:
        for column in self._columns.values():
            column.write(self._file)
        self._tags.write(self._file)
        num_columns = max((len(lens) for lens in self._seq_lens), default=2)
        column = _Column("seqLengths", dtype="int32")
        column.add(numpy.array(self._seq_lens, dtype="int32").reshape(-1, num_columns))
        column.write(self._file)
        self._seq_lens = []
        self._disk.check()

    def close(self) -> None:
        """Writes what is left, and gives the file its name. Later calls do nothing."""
        if self._temp_filename is None:
            return
        try:
            with self._explained_errors():
                self._write_rest()
        except BaseException:
            self.discard()
            raise
        if not self._extend:
            self._check_target()  # somebody else may have written it in the meantime
        with self._explained_errors():
            rename_durable(self._temp_filename, self.filename)
        self._temp_filename = None

    def _write_rest(self) -> None:
        if not self._file:
            return  # closed already, by a call that found another file of this name
        if "inputs" not in self._columns and "inputs" not in self._file:
            self._add_nothing()
        self._flush()
        self._write_attributes()
        self._file.close()
        self._disk.close()
        self._disk.check()

    def _add_nothing(self) -> None:
        """No batch came. So that all datasets are there nevertheless."""
        frame_shape = [0] * (self.ndim - 1)
        if self.dim is not None and frame_shape:
            frame_shape[-1] = self.dim
        self._column("inputs").add(numpy.zeros((0, *frame_shape), dtype="float32"))
        self._tags.add(numpy.zeros(0, dtype=object))

    def discard(self) -> None:
        """Leaves nothing of what was written. A file that was to be extended stays as it was."""
        if self._temp_filename is None:
            return
        try:
            self._file.close()
        finally:
            self._disk.close()
            remove_file(self._temp_filename)
            self._temp_filename = None

    def _write_attributes(self) -> None:
        dim = self.dim or 1
        attrs = {"numTimesteps": self._num_timesteps, "inputPattSize": dim, "numDims": 1, "numLabels": dim}
        for key, value in {**attrs, "numSeqs": self._num_seqs}.items():
            self._file.attrs[key] = value
        if "labels" not in self._file:
            _write_labels(self._file, "labels", self._labels)
        types = dict(self._extra_type or {})
        if "targets/data/sizes" in self._columns:
            types.setdefault("sizes", (1, 1, "int32"))
        for key, (key_dim, key_ndim, _) in sorted(types.items()):
            self._file.require_group("targets/size").attrs[key] = [key_dim or 1, key_ndim]
            if f"targets/labels/{key}" not in self._file:
                _write_labels(self._file, f"targets/labels/{key}", self._extra_labels.get(key) or ["dummy-label"])

    def __repr__(self) -> str:
        return f"<SimpleHDFWriter {self.filename!r}>"


class _Disk:
    """What HDF5 writes into. It never sees an error: after one it could not close its file, and would crash the process
    at the end. The first error is kept instead, and from then on nothing is written.
    """

    def __init__(self, filename: str, mode: str):
        self._file = io.FileIO(filename, mode)
        self._error: OSError | None = None
        self.seek, self.tell = self._file.seek, self._file.tell
        self.read, self.readinto = self._file.read, self._file.readinto

    def write(self, data: Any) -> int:
        """
        :param data: buffer of bytes
        """
        rest = memoryview(data)
        with self._kept_errors():
            while self._error is None and rest:
                rest = rest[self._file.write(rest) :]
        return len(data)

    def truncate(self, size: int) -> int:
        """
        :param size: in bytes
        """
        with self._kept_errors():
            self._file.truncate(size)
        return size

    def flush(self) -> None:
        """There is no buffer."""

    def close(self) -> None:
        """The HDF5 file has been closed before."""
        with self._kept_errors():
            self._file.close()

    @contextlib.contextmanager
    def _kept_errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as exc:
            self._error = self._error or exc

    def check(self) -> None:
        """:raises OSError: the first error there was"""
        if self._error is not None:
            raise self._error


class _Column:
    """Rows of a dataset of the file, which wait to be written."""

    def __init__(self, name: str, dtype: Any = None):
        """
        :param dtype: None: that of the first rows
        """
        self.name = name
        self._dtype = dtype
        self._rows: list[numpy.ndarray] = []
        self.num_bytes = 0

    def add(self, rows: numpy.ndarray) -> None:
        """
        :param rows: [n, ...]
        """
        if self._rows and self._rows[0].shape[1:] != rows.shape[1:]:
            raise self._shape_error(self._rows[0].shape[1:], rows.shape[1:])
        self._rows.append(rows)
        self.num_bytes += rows.nbytes

    def write(self, file: h5py.File) -> None:
        """Appends the rows to the dataset."""
        if not self._rows:
            return
        rows = numpy.concatenate(self._rows)
        if rows.dtype.kind in "OSU":
            rows = numpy.vectorize(_to_str, otypes=[object])(rows) if rows.size else rows.astype(object)
            self._dtype = h5py.string_dtype()
        if self.name not in file:
            row_bytes = max(rows.dtype.itemsize * int(numpy.prod(rows.shape[1:])), 1)
            file.create_dataset(
                self.name,
                shape=(0, *rows.shape[1:]),
                maxshape=(None, *[None if self.name == "seqLengths" else n for n in rows.shape[1:]]),
                dtype=self._dtype or rows.dtype,
                chunks=(max(_chunk_num_bytes // row_bytes, 1), *[max(n, 1) for n in rows.shape[1:]]),
            )
        dataset = file[self.name]
        if dataset.shape[1:] != rows.shape[1:]:
            raise self._shape_error(dataset.shape[1:], rows.shape[1:])
        num_old = len(dataset)
        dataset.resize(num_old + len(rows), axis=0)
        dataset[num_old:] = rows
        self._rows = []
        self.num_bytes = 0

    def _shape_error(self, old: tuple[int, ...], new: tuple[int, ...]) -> UserError:
        return UserError(
            f"SimpleHDFWriter, {self.name!r}: only the first axis of a sequence may vary; the others were {old} and are"
            f" now {new}"
        )


def _real_frames(inputs: numpy.ndarray, lens: Sequence[numpy.ndarray]) -> numpy.ndarray:
    """
    :param inputs: [B, T1, ..., Tn, ...]
    :param lens: n times [B]
    :return: [frames of all sequences, ...], row-major
    """
    mask = numpy.ones((len(inputs), *[1] * len(lens)), dtype=bool)
    for i, axis_lens in enumerate(lens):
        size = inputs.shape[i + 1]
        shape = [-1 if j == i else 1 for j in range(len(lens))]
        mask = mask & (numpy.arange(size).reshape(1, *shape) < axis_lens.reshape(-1, *[1] * len(lens)))
    return inputs[mask]


def _guess_type(value: numpy.ndarray) -> tuple[int, int, str]:
    """
    :param value: [B, time, ...]
    :return: dim, ndim, dtype
    """
    dtype = "string" if value.dtype.kind in "OSU" else value.dtype.name
    return value.shape[-1] if value.ndim > 2 else 1, value.ndim - 1, dtype


def _write_labels(file: h5py.File, name: str, labels: Sequence[str]) -> None:
    if all(label.isascii() for label in labels):
        dtype = f"S{max(1, *map(len, labels))}" if labels else "S5"
        file.create_dataset(name, data=numpy.array([label.encode("ascii") for label in labels], dtype=dtype))
    else:
        file.create_dataset(name, data=list(labels), dtype=h5py.string_dtype())


def _to_str(value: str | bytes) -> str:
    return value.decode("utf8") if isinstance(value, bytes) else str(value)
