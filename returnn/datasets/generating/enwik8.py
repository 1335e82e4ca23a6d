"""The first 10^8 bytes of a Wikipedia dump, as a benchmark of language models by characters."""

from __future__ import annotations

import os
import shutil
import urllib.request
import zipfile
from collections.abc import Sequence
from typing import Any

import h5py
import numpy

from returnn.log import log
from returnn.util.errors import ConfigError, UserError
from returnn.util.files import atomic_write, rename_durable, temp_path
from returnn.util.suggest import file_not_found

from ..corpus import CorpusDataset
from ..seq import DatasetSeq

_url = "http://mattmahoney.net/dc/enwik8.zip"
_num_heldout = 5_000_000
"""Characters at the end for the test, and as many before them for validation."""

_subsets = ("training", "validation", "test")


class Enwik8Corpus(CorpusDataset):
    """Keys: "data", bytes, and "classes", the bytes behind them, both uint8 [time]: indices of those that occur.

    ``path`` has ``enwik8.hdf5``, or it is made of ``enwik8.zip`` there, which is downloaded if it is missing.
    Tags: ``offset_<start>_<length>``.
    """

    def __init__(
        self,
        path: str,
        subset: str,
        seq_len: int,
        batch_num_seqs: int | None = None,
        subsubset: int | Sequence[int] | None = None,
        **kwargs: Any,
    ):
        """
        :param path: a folder
        :param subset: "training", "validation" or "test"
        :param seq_len: of a sequence; the last one can be shorter
        :param batch_num_seqs: so many sequences one after the other, a batch, are those that follow on the sequences of
            the batch before. ``seq_ordering`` does not count then
        :param subsubset: use only so many characters, or those from, to (exclusive)
        """
        if batch_num_seqs is not None:
            kwargs["seq_ordering"] = f"default_every_n:{batch_num_seqs}"
        super().__init__(**kwargs)
        if subset not in _subsets:
            raise ConfigError(f"{self.describe()}: subset must be one of {', '.join(_subsets)}, but is {subset!r}")
        if seq_len < 1:
            raise ConfigError(f"{self.describe()}: seq_len must be 1 at least, but is {seq_len!r}")
        self.path = path
        self.subset = subset
        self.seq_len = seq_len
        self.batch_num_seqs = batch_num_seqs
        self.subsubset = subsubset
        self._filename = os.path.join(path, "enwik8.hdf5")
        if not os.path.exists(self._filename):
            self._make_hdf()
        with h5py.File(self._filename, "r") as file:
            labels = [chr(i) for i in file.attrs["unique"].tolist()]
        self.labels = {"data": labels, "classes": labels}
        self.num_inputs = len(labels)
        self.num_outputs = {key: [len(labels), 1] for key in self.labels}
        self._data = numpy.zeros(0, dtype="uint8")
        self._tags: list[str] = []

    def _make_hdf(self) -> None:
        if not os.path.isdir(self.path):
            raise UserError(f"{self.describe()}: {file_not_found('folder', self.path)}")
        zip_name = os.path.join(self.path, "enwik8.zip")
        if not os.path.exists(zip_name):
            print(f"{self.describe()}: downloading {_url}", file=log.v3)
            try:
                with urllib.request.urlopen(_url, timeout=60) as source, atomic_write(zip_name, "wb") as target:
                    shutil.copyfileobj(source, target)
            except OSError as exc:
                raise UserError(
                    f"{self.describe()}: cannot download {_url}: {exc}. Get it in another way, to {zip_name!r}."
                ) from exc
        print(f"{self.describe()}: making {self._filename}", file=log.v3)
        try:
            with zipfile.ZipFile(zip_name) as archive:
                content = numpy.frombuffer(archive.read("enwik8"), dtype="uint8")
        except (zipfile.BadZipFile, KeyError) as exc:
            raise UserError(f"{self.describe()}: cannot read {zip_name!r}: {exc}") from exc
        unique, indices = numpy.unique(content, return_inverse=True)
        cuts = numpy.split(indices.astype("uint8"), [-2 * _num_heldout, -_num_heldout])
        temp = temp_path(self._filename)
        try:
            with h5py.File(temp, "w") as file:
                file.attrs["unique"] = unique
                for name, part in zip(_subsets, cuts, strict=True):
                    file.create_dataset(f"split/{name}/default", data=part)
            rename_durable(temp, self._filename)
        finally:
            if os.path.exists(temp):
                os.remove(temp)

    def _open_corpus(self) -> None:
        with h5py.File(self._filename, "r") as file:
            data = file[f"split/{self.subset}/default"][...].reshape(-1)
        if self.subsubset is not None:
            start, end = (0, self.subsubset) if isinstance(self.subsubset, int) else self.subsubset
            data = data[start:end]
        num = len(data) - 1  # the last one has none behind it
        if num < 1:
            raise UserError(f"{self.describe()}: subset and subsubset leave {len(data)} characters")
        self._data = data
        self._tags = [f"offset_{i}_{min(self.seq_len, num - i)}" for i in range(0, num, self.seq_len)]

    def _close_corpus(self) -> None:
        self._data = numpy.zeros(0, dtype="uint8")

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: by corpus seq idx
        """
        self._ensure_open()
        return self._tags

    def _get_len_for_order(self, corpus_seq_idx: int) -> int:
        return min(self.seq_len, len(self._data) - 1 - corpus_seq_idx * self.seq_len)

    def _read_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        start = corpus_seq_idx * self.seq_len
        chars = self._data[start : start + self.seq_len + 1]
        return DatasetSeq(corpus_seq_idx, chars[:-1], targets=chars[1:], seq_tag=self._tags[corpus_seq_idx])

    def get_data_keys(self) -> list[str]:
        """
        :return: known without a sequence
        """
        return ["data", "classes"]

    def get_data_dtype(self, key: str) -> str:
        """
        :return: known without a sequence
        """
        return "uint8"
