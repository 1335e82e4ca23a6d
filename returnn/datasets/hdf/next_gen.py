"""HDF files with streams, and in each an array a sequence.

Layout: ``seq_names`` [N] strings; ``streams/<stream>`` with the attribute ``parser``, the group ``data`` with a dataset
a sequence, whose name is that of the sequence with ``\\`` for ``/``, and, but for features, ``feature_names``: labels.

Parsers: ``feature_sequence``: [time, dim] float. ``sparse``: [time] labels. ``segment_alignment``: rows [class, number
of frames]; they become [2 * time]: for each frame its class, and whether it is the last one of its segment.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import h5py
import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean, file_not_found

from ..corpus import CorpusDataset
from ..seq import DatasetSeq
from ..util.string_list import StringList
from .file import _strings


class _Stream:
    """What is known of a stream without its data."""

    def __init__(self, name: str, group: h5py.Group, where: str):
        self.name = name
        parser = group.attrs.get("parser")
        self.parser = parser.decode("utf8") if isinstance(parser, bytes) else parser
        if self.parser not in ("feature_sequence", "sparse", "segment_alignment"):
            raise UserError(
                f"{where}: stream {name!r} has the parser {self.parser!r}; there are feature_sequence, sparse,"
                " segment_alignment"
            )
        self.labels = _strings(group["feature_names"][...]) if "feature_names" in group else []
        if self.parser == "feature_sequence":
            first = next(iter(group["data"].values()), None)
            if first is None or first.ndim != 2:
                raise UserError(
                    f"{where}: stream {name!r} must have data of two axes, as its parser is feature_sequence"
                )
            self.dim = int(first.shape[1])
            self.labels = []
        elif not self.labels:
            raise UserError(f"{where}: stream {name!r} has no dataset 'feature_names', the labels")
        else:
            self.dim = len(self.labels)

    @property
    def ndim(self) -> int:
        """:return: axes of a sequence"""
        return 2 if self.parser == "feature_sequence" else 1

    def parse(self, data: numpy.ndarray) -> numpy.ndarray:
        """
        :param data: as in the file
        :return: as the dataset gives it
        """
        if self.parser != "segment_alignment":
            return data.astype("float32") if self.parser == "feature_sequence" else data.astype("int32")
        classes, durations = data[:, 0], data[:, 1]
        result = numpy.zeros((int(durations.sum()), 2), dtype="int32")
        result[:, 0] = numpy.repeat(classes, durations)
        ends = numpy.cumsum(durations) - 1
        result[ends[durations > 0], 1] = 1
        return result.reshape(-1)


class NextGenHDFDataset(CorpusDataset):
    """Keys: all streams, and "data", which is the input stream. float32 [time, dim], or int32 [time].
    Tags: as in the files. Length for orders: frames of the input stream.
    """

    def __init__(self, input_stream_name: str, files: Sequence[str] | None = None, **kwargs: Any):
        """
        :param input_stream_name: is also "data"
        :param files: names; all with the same streams
        """
        super().__init__(**kwargs)
        if isinstance(files, str):
            raise ConfigError(f"{self.describe()}: files must be a list of names, but is the str {files!r}")
        self.input_stream_name = input_stream_name
        self.files = list(files or ())
        self._streams: dict[str, _Stream] = {}
        self._opened: list[h5py.File] = []
        self._file_of_seq = numpy.zeros(0, dtype="int32")
        self._tags = StringList()

    def add_file(self, filename: str) -> None:
        """Adds a file, before ``initialize()``."""
        assert not self._streams, f"{self!r}: add_file must come before initialize"
        self.files.append(filename)

    def initialize(self) -> None:
        """Reads what streams there are."""
        if not self._streams:
            if not self.files:
                raise ConfigError(f"{self.describe()}: there is no file; set the option files")
            with self._open(self.files[0]) as file:
                self._streams = self._read_streams(file)
            if self.input_stream_name not in self._streams:
                raise ConfigError(
                    f"{self.describe()}: there is no stream {self.input_stream_name!r} in {self.files[0]!r}."
                    f"{did_you_mean(self.input_stream_name, self._streams)} There are: {', '.join(self._streams)}"
                )
            self._set_kinds()
        super().initialize()

    def _open(self, filename: str) -> h5py.File:
        if not os.path.exists(filename):
            raise UserError(f"{self.describe()}: {file_not_found('HDF file', filename)}")
        try:
            return h5py.File(filename, "r")
        except OSError as exc:
            raise UserError(f"{self.describe()}: cannot read HDF file {filename!r}: {exc}") from exc

    def _read_streams(self, file: h5py.File) -> dict[str, _Stream]:
        if "streams" not in file or "seq_names" not in file:
            raise UserError(f"{self.describe()}: HDF file {file.filename!r} has no 'streams' or no 'seq_names'")
        where = f"{self.describe()}: HDF file {file.filename!r}"
        return {name: _Stream(name, group, where) for name, group in file["streams"].items()}

    def _set_kinds(self) -> None:
        self.num_outputs = {name: [stream.dim, stream.ndim] for name, stream in self._streams.items()}
        self.labels = {name: stream.labels for name, stream in self._streams.items() if stream.labels}
        self._add_data_key(self.input_stream_name)

    def _add_data_key(self, like: str) -> None:
        assert self.num_outputs is not None
        self.num_outputs["data"] = self.num_outputs[like]
        self.num_inputs = self.num_outputs[like][0]
        if like in self.labels:
            self.labels["data"] = self.labels[like]

    def _open_corpus(self) -> None:
        self._opened = [self._open(name) for name in self.files]
        self._tags, file_of_seq = StringList(), []
        for i, file in enumerate(self._opened):
            streams = self._read_streams(file) if i else self._streams
            for name, stream in self._streams.items():
                if name not in streams or streams[name].parser != stream.parser or streams[name].dim != stream.dim:
                    raise UserError(
                        f"{self.describe()}: stream {name!r} of {self.files[i]!r} is not there, or has another"
                        f" parser or dim than in {self.files[0]!r}"
                    )
            names = _strings(file["seq_names"][...])
            for name in names:
                self._tags.append(name)
            file_of_seq += [i] * len(names)
        self._file_of_seq = numpy.array(file_of_seq, dtype="int32")
        if not file_of_seq:
            raise UserError(f"{self.describe()}: there is no sequence in {', '.join(self.files)}")

    def _close_corpus(self) -> None:
        for file in self._opened:
            file.close()
        self._opened = []

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: by corpus seq idx
        """
        self._ensure_open()
        return self._tags

    def _data_of(self, corpus_seq_idx: int, stream: str) -> h5py.Dataset:
        file, tag = self._opened[self._file_of_seq[corpus_seq_idx]], self._tags[corpus_seq_idx]
        try:
            return file["streams"][stream]["data"][tag.replace("/", "\\")]
        except KeyError:
            raise UserError(
                f"{self.describe()}: stream {stream!r} of {file.filename!r} has no data for sequence {tag!r}"
            ) from None

    def _get_len_for_order(self, corpus_seq_idx: int) -> int:
        data = self._data_of(corpus_seq_idx, self.input_stream_name)
        if self._streams[self.input_stream_name].parser == "segment_alignment":
            return 2 * int(data[:, 1].sum())
        return data.shape[0]

    def _read(self, corpus_seq_idx: int, stream: str) -> numpy.ndarray:
        try:
            return self._streams[stream].parse(self._data_of(corpus_seq_idx, stream)[...])
        except OSError as exc:
            raise UserError(f"{self.describe()}: cannot read {self._tags[corpus_seq_idx]!r}: {exc}") from exc

    def _read_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        features = {name: self._read(corpus_seq_idx, name) for name in self._streams}
        features["data"] = features[self.input_stream_name]
        return DatasetSeq(corpus_seq_idx, features, seq_tag=self._tags[corpus_seq_idx])

    def get_data_keys(self) -> list[str]:
        """
        :return: "data" and the streams
        """
        return sorted(self.num_outputs or (), key=lambda key: (key != "data", key))

    def get_data_dtype(self, key: str) -> str:
        """
        :return: known without a sequence
        """
        return "int32" if self.is_data_sparse(key) else "float32"


class SiameseHDFDataset(NextGenHDFDataset):
    """Triplets: a sequence, another one of the same class, and one of another class. The class of a sequence is the
    first label of a stream.

    Keys: ``<stream>_0``, ``<stream>_1``, ``<stream>_2`` for all other streams, ``<label stream>_all``: their
    classes [3]; and "data", which is ``<input stream>_0``. What is chosen depends on epoch and sequence alone.
    """

    def __init__(
        self,
        input_stream_name: str,
        seq_label_stream: str = "words",
        class_distribution: Any = None,
        files: Sequence[str] | None = None,
        **kwargs: Any,
    ):
        """
        :param input_stream_name: see NextGenHDFDataset
        :param seq_label_stream: gives the class of a sequence
        :param class_distribution: label -> {label of another class: weight}. None: all sequences of other classes alike
        :param files: see NextGenHDFDataset
        """
        super().__init__(input_stream_name=input_stream_name, files=files, **kwargs)
        self.seq_label_stream = seq_label_stream
        self.class_distribution = class_distribution
        self._classes = numpy.zeros(0, dtype="int64")

    def _set_kinds(self) -> None:
        if self.seq_label_stream not in self._streams or self.seq_label_stream == self.input_stream_name:
            raise ConfigError(
                f"{self.describe()}: seq_label_stream {self.seq_label_stream!r} must be one of the streams"
                f" {', '.join(self._streams)}, and not the input"
            )
        self.num_outputs = {}
        for name, stream in self._streams.items():
            label = name == self.seq_label_stream
            for key in [f"{name}_all"] if label else [f"{name}_{i}" for i in range(3)]:
                self.num_outputs[key] = [stream.dim, stream.ndim]
                if stream.labels:
                    self.labels[key] = stream.labels
        self._add_data_key(f"{self.input_stream_name}_0")

    def _open_corpus(self) -> None:
        super()._open_corpus()
        seqs = range(len(self._tags))
        self._classes = numpy.array([self._read(i, self.seq_label_stream)[0] for i in seqs], dtype="int64")
        if len(numpy.unique(self._classes)) < 2:
            raise UserError(f"{self.describe()}: all sequences are of one class, so there are no triplets")

    def _triplet(self, corpus_seq_idx: int) -> list[int]:
        rng = numpy.random.RandomState((self._get_random_seed_for_epoch(self.epoch), corpus_seq_idx))
        same = self._classes == self._classes[corpus_seq_idx]
        others = numpy.flatnonzero(same)
        others = others[others != corpus_seq_idx]
        positive = rng.choice(others) if len(others) else corpus_seq_idx  # the only one of its class
        weights = numpy.where(same, 0.0, 1.0)
        if self.class_distribution is not None:
            names = self._streams[self.seq_label_stream].labels
            of_class = self.class_distribution.get(names[self._classes[corpus_seq_idx]], {})
            counts = numpy.bincount(self._classes, minlength=len(names))
            per_seq = numpy.array([of_class.get(name, 0.0) / max(n, 1) for name, n in zip(names, counts, strict=True)])
            weights = weights * per_seq[self._classes]
            if not weights.sum() > 0:
                raise ConfigError(
                    f"{self.describe()}: class_distribution has no other class for"
                    f" {names[self._classes[corpus_seq_idx]]!r}"
                )
        return [corpus_seq_idx, int(positive), int(rng.choice(len(weights), p=weights / weights.sum()))]

    def _read_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        triplet = self._triplet(corpus_seq_idx)
        features = {}
        for name in self._streams:
            if name == self.seq_label_stream:
                features[f"{name}_all"] = self._classes[triplet].astype("int32")
            else:
                features.update({f"{name}_{i}": self._read(idx, name) for i, idx in enumerate(triplet)})
        features["data"] = features[f"{self.input_stream_name}_0"]
        return DatasetSeq(corpus_seq_idx, features, seq_tag=self._tags[corpus_seq_idx])
