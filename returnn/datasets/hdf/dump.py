"""A whole dataset, written as HDF file."""

from __future__ import annotations

import math
import os
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import h5py
import numpy

from returnn.log import log
from returnn.util.errors import ConfigError, UserError
from returnn.util.files import remove_file, rename_durable, temp_path

from ..dataset import Dataset

_skipped_keys = ("orth", "raw")


@dataclass
class _Stats:
    """What has to be known before the file can be laid out."""

    tags: list[bytes] = field(default_factory=list)
    lens: dict[str, list[int]] = field(default_factory=dict)
    frame_shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    dtypes: dict[str, numpy.dtype[Any]] = field(default_factory=dict)


class HDFDatasetWriter:
    """Writes a file that HDFDataset can read. It appears, whole, with :meth:`close`."""

    def __init__(self, filename: str):
        """
        :param filename: must not exist
        """
        if os.path.exists(filename):
            raise ConfigError(f"HDFDatasetWriter: file {filename!r} exists already")
        if not os.path.isdir(os.path.dirname(os.path.abspath(filename))):
            raise UserError(f"HDFDatasetWriter: the folder of {filename!r} does not exist")
        print(f"Creating HDF dataset file {filename}", file=log.v3)
        self.filename = filename
        self._temp_filename = temp_path(filename)
        self.file = h5py.File(self._temp_filename, "x")

    def close(self) -> None:
        """Gives the file its name. Later calls do nothing."""
        if self.file:
            self.file.close()
            rename_durable(self._temp_filename, self.filename)

    def discard(self) -> None:
        """Leaves nothing of what was written."""
        self.file.close()
        remove_file(self._temp_filename)

    def dump_from_dataset(
        self,
        dataset: Dataset,
        epoch: int = 1,
        start_seq: int = 0,
        end_seq: float = math.inf,
        use_progress_bar: bool = True,
    ) -> None:
        """Reads the epoch twice: first for lengths, dims and dtypes, then for the data. "orth" and "raw" are left out.

        :param epoch: which epoch of the dataset
        :param start_seq: first seq idx
        :param end_seq: last seq idx, inclusive
        :param use_progress_bar: on a terminal
        """
        dataset.init_seq_order(epoch)
        keys = [key for key in dataset.get_data_keys() if key not in _skipped_keys]
        names = _names_in_file(keys, dataset.get_target_list())
        print(f"Data keys: {keys}", file=log.v3)
        stats = _Stats(lens={key: [] for key in keys})
        for seq_idx in _seqs(dataset, start_seq, end_seq, use_progress_bar):
            stats.tags.append(dataset.get_tag(seq_idx).encode("utf8"))
            for key in keys:
                data = dataset.get_data(seq_idx, key)
                data = data[None] if data.ndim == 0 else data
                stats.lens[key].append(len(data))
                stats.frame_shapes.setdefault(key, data.shape[1:])
                stats.dtypes.setdefault(key, data.dtype)
        if not stats.tags:
            raise UserError(f"{dataset!r}: there is no sequence to dump in epoch {epoch}, from {start_seq} on")
        self._write_meta(dataset, names, stats)
        for key in keys:
            print(f"Total len of {key!r} is {sum(stats.lens[key])}", file=log.v3)
        offsets = dict.fromkeys(keys, 0)
        dataset.init_seq_order(epoch)
        for seq_idx in _seqs(dataset, start_seq, end_seq, use_progress_bar):
            for key in keys:
                data = dataset.get_data(seq_idx, key)
                end = offsets[key] + (len(data) if data.ndim else 1)
                self.file[names[key]][offsets[key] : end] = data
                offsets[key] = end
        print("All done.", file=log.v3)

    def _write_meta(self, dataset: Dataset, names: dict[str, str], stats: _Stats) -> None:
        file = self.file
        file.create_dataset("seqTags", data=numpy.array(stats.tags, dtype=f"S{max(map(len, stats.tags)) + 1}"))
        lens = [stats.lens[key] for key in names]
        file.create_dataset("seqLengths", data=numpy.array(lens, dtype="int32").T)
        file.attrs["numSeqs"] = len(stats.tags)
        for key, name in names.items():
            dtype = h5py.string_dtype() if stats.dtypes[key].kind in "OSU" else stats.dtypes[key]
            file.create_dataset(name, shape=(sum(stats.lens[key]), *stats.frame_shapes[key]), dtype=dtype)
            dim, ndim = dataset.get_data_dim(key), len(stats.frame_shapes[key]) + 1
            labels = dataset.labels.get(key)
            if name == "inputs":
                file.attrs["inputPattSize"] = dim
                file.attrs["numTimesteps"] = sum(stats.lens[key])
                if labels:
                    _write_labels(file, "labels", labels)
                continue
            short_name = name.rpartition("/")[2]
            file.require_group("targets/size").attrs[short_name] = (dim, ndim)
            if labels or dataset.is_data_sparse(key):
                labels = labels or [f"{short_name}-class-{i}" for i in range(dim)]
                _write_labels(file, f"targets/labels/{short_name}", labels)


def _names_in_file(keys: list[str], target_keys: list[str]) -> dict[str, str]:
    """:return: data key -> name of the dataset in the file, in the order of the columns of the lengths"""
    inputs = [key for key in keys if key not in target_keys]
    if not inputs or (len(inputs) > 1 and "data" not in inputs):
        raise UserError(
            f"HDFDatasetWriter: expected one data key that is not a target, or the key 'data', but the data keys are"
            f" {keys}, and the targets {target_keys}"
        )
    input_key = inputs[0] if len(inputs) == 1 else "data"
    targets = {"classes" if key == "data" else key: key for key in keys if key != input_key}
    if len(targets) != len(keys) - 1:
        raise UserError("HDFDatasetWriter: the target 'data' would be named 'classes', but there is one already")
    return {input_key: "inputs", **{targets[name]: "targets/data/" + name for name in sorted(targets)}}


def _write_labels(file: h5py.File, name: str, labels: list[str]) -> None:
    encoded = [label.encode("utf8") for label in labels]
    file.create_dataset(name, data=numpy.array(encoded, dtype=f"S{max(map(len, encoded)) + 1}"))


def _seqs(dataset: Dataset, start: int, end: float, use_progress_bar: bool) -> Iterator[int]:
    """:return: indices start to end (inclusive) of loaded sequences"""
    show = use_progress_bar and sys.stdout.isatty()
    last_shown = 0.0
    seq_idx = start
    while seq_idx <= end and dataset.is_less_than_num_seqs(seq_idx):
        dataset.load_seqs(seq_idx, seq_idx + 1)
        yield seq_idx
        if show and time.monotonic() - last_shown > 0.5:
            last_shown = time.monotonic()
            frac = dataset.get_complete_frac(seq_idx) or 0
            print(f"\r{seq_idx + 1} seqs, {frac:.1%}", end="", flush=True)
        seq_idx += 1
    if show:
        print("\r\033[K", end="", flush=True)
