"""Sequences in text files, as written by ``numpy.savetxt``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import file_not_found

from .corpus import CorpusDataset
from .data_dims import convert_data_dims
from .seq import DatasetSeq


class NumpyDumpDataset(CorpusDataset):
    """Sequence i is ``<prefix><i>.data<postfix>``, and for each target ``<prefix><i>.targets.<key><postfix>``, or, for
    "classes", also ``<prefix><i>.targets<postfix>``.

    Keys: "data" float32 [time, dim]; the targets int32 [time] if sparse, else float32 [time, dim].
    Tags: ``seq-<number in the corpus>``.
    """

    sorted_needs_lengths = False

    def __init__(
        self,
        prefix: str,
        postfix: str = ".txt.gz",
        start_seq: int = 0,
        end_seq: int | None = None,
        num_inputs: int | None = None,
        num_outputs: Any = None,
        **kwargs: Any,
    ):
        """
        :param prefix: of the file names
        :param postfix: of the file names; ``.gz`` at its end: packed
        :param start_seq: first number
        :param end_seq: last number + 1. None: up to the first one that is not there
        :param num_inputs: dim of "data"
        :param num_outputs: of the targets, see :func:`~returnn.datasets.data_dims.convert_data_dims`
        """
        super().__init__(**kwargs)
        if num_inputs is None or num_outputs is None:
            raise ConfigError(f"{self.describe()}: the options num_inputs and num_outputs are needed")
        self.prefix = prefix
        self.postfix = postfix
        self.start_seq = start_seq
        self.end_seq = end_seq
        self.num_inputs = num_inputs
        self.num_outputs = {"data": (num_inputs, 2), **convert_data_dims(num_outputs)}
        self._tags: Sequence[str] = []

    def _file_name(self, corpus_seq_idx: int, what: str) -> str:
        return f"{self.prefix}{self.start_seq + corpus_seq_idx}.{what}{self.postfix}"

    def _open_corpus(self) -> None:
        if self.end_seq is not None:
            num = self.end_seq - self.start_seq
        else:
            num = 0
            while os.path.exists(self._file_name(num, "data")):
                num += 1
        if num <= 0:
            what = "start_seq and end_seq leave no sequence"
            raise UserError(
                f"{self.describe()}: "
                + (what if self.end_seq is not None else file_not_found("file", self._file_name(0, "data")))
            )
        self._tags = [f"seq-{i}" for i in range(num)]

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: by corpus seq idx
        """
        self._ensure_open()
        return self._tags

    def _read_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        features = {}
        for key in self.get_data_keys():
            names = [self._file_name(corpus_seq_idx, "data" if key == "data" else "targets." + key)]
            if key == "classes":
                names.append(self._file_name(corpus_seq_idx, "targets"))
            features[key] = self._load(next((name for name in names if os.path.exists(name)), names[-1]), key)
        return DatasetSeq(corpus_seq_idx, features, seq_tag=self._tags[corpus_seq_idx])

    def _load(self, filename: str, key: str) -> numpy.ndarray:
        sparse, dim = self.is_data_sparse(key), self.get_data_dim(key)
        try:
            value = numpy.loadtxt(filename, dtype="float32", ndmin=1 if sparse else 2)  # unpacks, too
        except FileNotFoundError:
            raise UserError(f"{self.describe()}: {file_not_found('file', filename)}") from None
        except (ValueError, EOFError, OSError) as exc:
            raise UserError(f"{self.describe()}: cannot read {filename!r}: {exc}") from exc
        if value.shape[1:] != (() if sparse else (dim,)):
            raise UserError(
                f"{self.describe()}: {filename!r} has the shape {value.shape}, but the dim of {key!r} is {dim}"
            )
        return value.astype("int32") if sparse else value

    def get_data_keys(self) -> list[str]:
        """
        :return: known without a sequence
        """
        return list(self.num_outputs or ())

    def get_data_dtype(self, key: str) -> str:
        """
        :return: known without a sequence
        """
        return "int32" if self.is_data_sparse(key) else "float32"
