"""Sequences from HDF files."""

from __future__ import annotations

import bisect
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy

from returnn.log import log
from returnn.util.cache_manager import cf
from returnn.util.errors import ConfigError, UserError

from ..cached import CachedDataset
from ..data_dims import sliding_window
from .file import HdfFile

_max_open_files = 100
"""At once, of a dataset. Processes can have about 1000 files open."""


class HDFDataset(CachedDataset):
    """Sequences of one or several HDF files, one file behind the other. For their layout see :mod:`.file`.

    Keys: "data", if there are inputs, and the targets in sorted order; dims, dtypes, labels as in the first file.
    Tags: as in the file. Memory: about 100 bytes a sequence and its tag, and ``cache_byte_size``.
    """

    def __init__(
        self,
        files: Sequence[str] | None = None,
        use_cache_manager: bool = False,
        cache_byte_size: int = 0,
        **kwargs: Any,
    ):
        """
        :param files: names
        :param use_cache_manager: get each file by the external command ``cf``, if there is one
        :param cache_byte_size: see CachedDataset
        """
        super().__init__(cache_byte_size=cache_byte_size, **kwargs)
        if isinstance(files, str):
            raise ConfigError(f"{self.describe()}: files must be a list of names, but is the str {files!r}")
        self.files = list(files or ())
        self.use_cache_manager = use_cache_manager
        self._target_keys: list[str] = []
        self._dtypes: dict[str, str] = {}
        self._hdf_files: list[HdfFile] = []
        self._recent_files: OrderedDict[int, HdfFile] = OrderedDict()
        self._first_seq_of_file: list[int] = []
        self._length_keys: list[str] = []
        self._lens = numpy.zeros((0, 0), dtype="int64")
        self._lens_of_key: dict[str, memoryview[int]] = {}  # the same; single numbers are read much faster from these
        self._tags: list[str] | None = None
        self._index_by_tag: dict[str, int] | None = None

    def add_file(self, filename: str) -> None:
        """Adds a file, before ``initialize()``."""
        assert not self._hdf_files, f"{self!r}: add_file must come before initialize"
        self.files.append(filename)

    def initialize(self) -> None:
        """Opens the files and reads all lengths."""
        if not self._hdf_files:
            if not self.files:
                raise ConfigError(f"{self.describe()}: there is no file; set the option files")
            self._open(self.files)
        super().initialize()

    def _open(self, filenames: Sequence[str]) -> None:
        lens: list[numpy.ndarray] = []
        for filename in filenames:
            print(f"parsing file {filename}", file=log.v5)
            file = HdfFile(cf(filename) if self.use_cache_manager else filename)
            if not self._hdf_files:
                self._take_layout(file)
            else:
                self._check_layout(file)
            self._first_seq_of_file.append(sum(len(n) for n in lens))
            self._hdf_files.append(file)
            self._touch(len(self._hdf_files) - 1)
            lens.append(file.get_lengths(self._length_keys))
        self._lens = numpy.asfortranarray(numpy.concatenate(lens), dtype="int64")
        self._lens_of_key = {key: self._lens[:, i].data for i, key in enumerate(self._length_keys)}

    def _touch(self, file_idx: int) -> HdfFile:
        """:return: the file; those that were not used for long are closed"""
        file = self._hdf_files[file_idx]
        self._recent_files[file_idx] = file
        self._recent_files.move_to_end(file_idx)
        while len(self._recent_files) > _max_open_files:
            self._recent_files.popitem(last=False)[1].close()
        return file

    def _take_layout(self, file: HdfFile) -> None:
        self._target_keys = file.target_keys
        self.num_inputs = file.dims["data"][0] if file.has_inputs else 0
        self.num_outputs = {key: list(dim) if key == "data" else dim for key, dim in file.dims.items()}
        self._length_keys = file.length_keys
        self._dtypes = file.dtypes
        self.labels = {key: labels for key in file.data_keys if (labels := file.read_labels(key))}

    def _check_layout(self, file: HdfFile) -> None:
        """:raises ConfigError: the file does not go with the first one"""
        first, name = self._hdf_files[0], file.filename
        if first.has_inputs != file.has_inputs or first.dims.get("data") != file.dims.get("data"):
            dims = [f.dims["data"] if f.has_inputs else "no inputs" for f in (file, first)]
            raise ConfigError(
                f"wrong input dimension in file {name}: (dim, ndim) is {dims[0]}, but {dims[1]} in {first.filename}"
            )
        missing = sorted(set(first.target_keys) - set(file.target_keys))
        if missing:
            raise ConfigError(f"wrong dimensions in file {name}: no target {missing}, as there is in {first.filename}")
        extra = sorted(set(file.target_keys) - set(first.target_keys))
        if extra:
            print(
                f"Warning: file {name}: targets {extra} are ignored, {first.filename} does not have them", file=log.v2
            )
        for key in first.data_keys:
            if first.dims[key] != file.dims[key] or _kind(first.dtypes[key]) != _kind(file.dtypes[key]):
                raise ConfigError(
                    f"wrong dimensions in file {name}: data key {key!r} has (dim, ndim) {file.dims[key]} and dtype"
                    f" {file.dtypes[key]}, but {first.dims[key]} and {first.dtypes[key]} in {first.filename}"
                )

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch."""
        super().finish_epoch(free_resources=free_resources)
        if free_resources:
            for file in self._hdf_files:
                file.close()
            self._recent_files.clear()

    def _locate(self, corpus_seq_idx: int) -> tuple[HdfFile, int]:
        """:return: file, position there"""
        if len(self._hdf_files) == 1:
            return self._touch(0) if not self._recent_files else self._hdf_files[0], corpus_seq_idx
        i = bisect.bisect_right(self._first_seq_of_file, corpus_seq_idx) - 1
        return self._touch(i), corpus_seq_idx - self._first_seq_of_file[i]

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: number of sequences of all files
        """
        return len(self._lens)

    def get_num_timesteps(self) -> int:
        """
        :return: frames of "data", or of the first target
        """
        return int(self._lens[:, 0].sum())

    def get_corpus_seq_lens(self, corpus_seq_idx: int) -> dict[str, int]:
        """
        :return: length per data key; with "classes" (without data) for files that have no targets
        """
        return {key: lens[corpus_seq_idx] for key, lens in self._lens_of_key.items()}

    def _get_corpus_len(self, corpus_seq_idx: int, key: str) -> int:
        return self._lens_of_key[key][corpus_seq_idx]

    def _get_len_for_order(self, corpus_seq_idx: int) -> int:
        return next(iter(self._lens_of_key.values()))[corpus_seq_idx]

    def read_corpus_data(self, corpus_seq_idx: int, key: str, start: int, end: int) -> numpy.ndarray:
        """
        :return: frames start to end (exclusive) of the sequence
        """
        file, seq_idx = self._locate(corpus_seq_idx)
        data = file.read(key, seq_idx, start, end)
        return sliding_window(data, self.window) if self._has_window(key) else data

    def _has_window(self, key: str) -> bool:
        return self.window > 1 and key == "data" and self.num_outputs is not None and self.num_outputs[key][1] == 2

    def get_times(self, seq_idx: int) -> numpy.ndarray:
        """
        :return: [time, ...], time stamps of the input frames
        """
        file, idx = self._locate(self.get_corpus_seq_idx(seq_idx))
        return file.read_times(idx)

    def get_all_tags(self) -> list[str]:
        """
        :return: tags of all files
        """
        if self._tags is None:
            self._tags = [tag for i in range(len(self._hdf_files)) for tag in self._touch(i).read_tags()]
        return self._tags

    def get_data_by_seq_tag(self, seq_tag: str, key: str) -> numpy.ndarray:
        """
        :return: [time, ...] of the sequence of that name
        """
        tags = self.get_all_tags()
        if self._index_by_tag is None:
            self._index_by_tag = {tag: i for i, tag in enumerate(tags)}
        if seq_tag not in self._index_by_tag:
            raise UserError(f"{self.describe()}: there is no sequence {seq_tag!r}, but for example {tags[:3]}")
        return self.get_corpus_data(self._index_by_tag[seq_tag], key)

    def get_data_keys(self) -> list[str]:
        """
        :return: "data", if there are inputs, and the targets
        """
        return list(self._dtypes)

    def get_target_list(self) -> list[str]:
        """
        :return: keys of the targets, sorted
        """
        return list(self._target_keys)

    def get_data_dim(self, key: str) -> int:
        """
        :return: number of classes if sparse, else of features, of all frames of the window
        """
        return super().get_data_dim(key) * (self.window if self._has_window(key) else 1)

    def is_data_sparse(self, key: str) -> bool:
        """
        :return: whether there are integers without further axes
        """
        if key not in self._dtypes or self.num_outputs is None:
            return super().is_data_sparse(key)
        return "int" in self._dtypes[key] and self.num_outputs[key][1] <= 1

    def get_data_dtype(self, key: str) -> str:
        """
        :return: that of the file
        """
        return self._dtypes[key] if key in self._dtypes else super().get_data_dtype(key)


def _kind(dtype: str) -> str:
    return "string" if dtype == "string" else numpy.dtype(dtype).kind.replace("u", "i")
