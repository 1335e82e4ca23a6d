"""What a search found, sequence by sequence: hypotheses, their text, and the file that ``search_output_file`` names.

Contract: values of a step in, as they were fetched; a value for each sequence out. That of a layer without a beam is
its text, or an array if it is dense; with a beam, a list of (score, text or array), the best first.
"""

from __future__ import annotations

import gzip
import re
import sys
from collections.abc import Callable, Sequence
from typing import IO, Any

import numpy

from returnn.datasets.basic import Dataset
from returnn.datasets.labels import serialize_labels
from returnn.tensor import Tensor
from returnn.tf.eval_per_seq import plain_numbers
from returnn.util.better_repr import better_repr
from returnn.util.errors import ConfigError
from returnn.util.files import atomic_write

TextFunc = Callable[[numpy.ndarray], str]
"""[time] labels -> text."""

Hypotheses = list[tuple[float, numpy.ndarray]]
"""Of one sequence: score, value; the best first."""

_num_bytes = 256


# Hypotheses


def split_beams(rows: Sequence[numpy.ndarray], scores: numpy.ndarray) -> list[Hypotheses]:
    """
    :param rows: hypothesis k of sequence b is row ``b * beam + k``
    :param scores: [batch, beam]
    :return: per sequence. Equal scores stay in the order of the beam.
    """
    num_seqs, beam_size = scores.shape
    assert len(rows) == num_seqs * beam_size, "%i rows are not %i sequences * beam %i" % (
        *(len(rows), num_seqs),
        beam_size,
    )
    seqs = []
    for i, seq_scores in enumerate(plain_numbers(scores[i]) for i in range(num_seqs)):
        hyps = zip(seq_scores, rows[i * beam_size : (i + 1) * beam_size], strict=True)
        seqs.append(sorted(hyps, key=lambda hyp: -hyp[0]))
    return seqs


# Text


def text_func_of_data(data: Tensor, key: str, dataset: Dataset) -> TextFunc | None:
    """
    :param data: of the data key, a template is enough
    :param key: data key
    :param dataset: may know the labels
    :return: None if nobody knows names for the classes
    """
    if not data.sparse:
        return None
    if data.vocab is not None:
        return _text_func_of_vocab(data.vocab)
    if dataset.can_serialize_data(key):
        return lambda labels: dataset.serialize_data(key, labels)
    return _bytes_as_text if data.dim == _num_bytes else None


def text_func_of_output(output: Tensor, target: Tensor | None, key: str | None, dataset: Dataset) -> TextFunc | None:
    """
    :param output: sparse
    :param target: what the output is compared with, if anything
    :param key: data key of ``target``
    :param dataset: may know the labels
    :return: None if nobody knows names for all classes
    """
    if output.vocab is not None:
        return _text_func_of_vocab(output.vocab)
    if target is not None and key is not None and _num_names(target, key, dataset) >= (output.dim or 0):
        return text_func_of_data(target, key, dataset)
    return _bytes_as_text if output.dim == _num_bytes else None


def _num_names(target: Tensor, key: str, dataset: Dataset) -> int:
    """
    :return: so many classes of the data key have names
    """
    if not target.sparse:
        return 0
    if target.vocab is not None:
        return target.vocab.num_labels
    if dataset.can_serialize_data(key):
        return len(dataset.labels.get(key, ())) or target.dim or 0
    return _num_bytes if target.dim == _num_bytes else 0


def _text_func_of_vocab(vocab: Any) -> TextFunc:
    return lambda labels: vocab.get_seq_labels(labels.reshape(-1))


def _bytes_as_text(labels: numpy.ndarray) -> str:
    return serialize_labels([chr(i) for i in range(_num_bytes)], labels)


# Files


class SearchOutputs:
    """Collects what is to be written, and writes it in the order of the corpus."""

    def __init__(self) -> None:
        self._records: dict[int, tuple[str, Any]] = {}
        """Position in the corpus -> tag, value."""

    def add(self, position: int, tag: str, value: Any) -> None:
        """
        :param position: in the corpus
        :param tag: of the sequence
        :param value: of the output layer; with several layers a dict by their names
        :raises ConfigError: a sequence comes for the second time
        """
        if position in self._records:
            raise ConfigError(
                f"search: sequence {tag!r} comes twice, whole or in pieces. In the options of the dataset, set"
                ' chunking = "0" and no repeat_epoch.'
            )
        self._records[position] = (tag, value)

    def write(self, filename: str, file_format: str) -> None:
        """
        :param filename: appears when all is in it; packed if it ends in ``.gz``
        :param file_format: one of :data:`~returnn.engine.search_options.FILE_FORMATS`
        """
        records = [self._records[position] for position in sorted(self._records)]
        with numpy.printoptions(threshold=sys.maxsize):
            if file_format == "txt":
                lines = [_line(value) + "\n" for _, value in records]
            else:
                lines = ["{\n", *(f"{tag!r}: {_expression(value)},\n" for tag, value in records), "}\n"]
        content = "".join(lines).encode("utf8")
        with atomic_write(filename, "wb") as f:
            if filename.endswith(".gz"):
                _write_packed(f, content)
            else:
                f.write(content)


def _write_packed(f: IO[bytes], content: bytes) -> None:
    with gzip.GzipFile(filename="", mode="wb", fileobj=f, mtime=0) as packed:  # the same bytes for the same content
        packed.write(content)


def _expression(value: Any) -> str:
    """
    :return: an expression; an item a line in lists, and in the dict of several layers
    """
    if isinstance(value, dict):
        return "{\n%s}" % "".join(f"{name!r}: {_expression(x)},\n" for name, x in value.items())
    return better_repr(value)


def _line(value: Any) -> str:
    """
    :return: text as it is, lists as an expression, arrays as numpy prints them; all without line breaks
    """
    if isinstance(value, list):
        value = "[%s]" % ", ".join(map(better_repr, value))
    return re.sub(r"\s*[\r\n]\s*", " ", str(value))
