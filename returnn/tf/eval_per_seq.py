"""One loss, sequence by sequence, for the file that the config key ``eval_output_file_per_seq`` names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy

from returnn.datasets.basic import Dataset
from returnn.network import LossHolder
from returnn.tensor import Tensor
from returnn.tf.network import TFNetwork
from returnn.util.better_repr import better_repr
from returnn.util.errors import ConfigError
from returnn.util.files import atomic_write
from returnn.util.suggest import did_you_mean

FIELDS = ("seq_tag", "seq_len", "score", "error", "pos_score", "pos_error")
FILE_FORMATS = ("txt", "py")


class PerSeqScores:
    """Collects the values of a pass over a dataset, and writes them in the order of the corpus."""

    def __init__(
        self,
        network: TFNetwork,
        dataset: Dataset,
        *,
        loss_name: str | None,
        fields: Collection[str],
        file_format: str = "txt",
    ):
        """
        :param network: built, with losses
        :param dataset: of the pass
        :param loss_name: which loss. Default: the only one
        :param fields: what to write of each sequence, of ``FIELDS``, in this order
        :param file_format: one of ``FILE_FORMATS``
        :raises ConfigError: no such loss, field or format; or the loss does not have this field
        """
        _check_choices("output_per_seq_format", fields, FIELDS)
        _check_choices("output_per_seq_file_format", [file_format], FILE_FORMATS)
        self._dataset = dataset
        self._fields = list(fields)
        self._file_format = file_format
        self._records: dict[int, tuple[int, str, dict[str, Any]]] = {}
        """Index in the epoch -> position in the corpus, tag, values."""
        holder = _get_loss(network, loss_name)
        with network.run_ctx():
            self.fetches = {field: _fetch_of(field, holder) for field in self._fields if field != "seq_tag"}
        """Field -> what a :class:`Runner` is to fetch."""

    def add(self, meta: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """
        :param meta: ``seq_idx`` and ``seq_tag`` of a step
        :param values: field -> values of a step, one a sequence
        :raises ConfigError: a sequence comes for the second time
        """
        for row, (seq_idx, tag) in enumerate(zip(meta["seq_idx"], meta["seq_tag"], strict=True)):
            if seq_idx in self._records:
                raise ConfigError(
                    f"eval_output_file_per_seq: sequence {tag!r} comes in pieces. Evaluate whole sequences:"
                    f' chunking = "0" in the options of {self._dataset.describe()}.'
                )
            record = {field: tag if field == "seq_tag" else plain_numbers(values[field][row]) for field in self._fields}
            self._records[seq_idx] = (corpus_position(self._dataset, seq_idx), tag, record)

    def write(self, filename: str) -> None:
        """
        :param filename: appears when all is in it
        """
        records = sorted(self._records.values(), key=lambda entry: entry[0])
        with atomic_write(filename) as f:
            if self._file_format == "txt":
                f.writelines(";".join(map(_text, record.values())) + "\n" for _, _, record in records)
            else:
                lines = (f"{tag!r}: {_expression(record)},\n" for _, tag, record in records)
                f.writelines(["{\n", *lines, "}\n"])


def corpus_position(dataset: Dataset, seq_idx: int) -> int:
    """
    :param dataset: its epoch has been started
    :param seq_idx: in this epoch
    :return: by which to sort, for the order of the corpus, or of the dataset if it does not know that
    """
    return dataset.get_corpus_seq_idx(seq_idx) if dataset.have_corpus_seq_idx() else seq_idx


def _check_choices(key: str, chosen: Collection[str], choices: Sequence[str]) -> None:
    for name in chosen:
        if name not in choices:
            raise ConfigError(
                f"{key}: {name!r} is unknown.{did_you_mean(name, choices)} There are: {', '.join(choices)}"
            )


def _get_loss(network: TFNetwork, name: str | None) -> LossHolder:
    holders = {holder.name: holder for holder in network.get_losses()}
    if name is None and len(holders) == 1:
        return next(iter(holders.values()))
    if name not in holders:
        raise ConfigError(
            "Unknown loss defined. Got %r. Possible losses are %r.%s Set loss_name to one of them."
            % (name, sorted(holders), did_you_mean(name or "", holders))
        )
    return holders[name]


def _fetch_of(field: str, holder: LossHolder) -> Any:
    """
    :return: Tensor whose rows are cut to their lengths, or a raw value [B]
    """
    if field == "seq_len":
        return _lengths(holder.get_layer().output)
    values = {
        "score": holder.get_normalized_loss_value_per_seq,
        "error": holder.get_normalized_error_value_per_seq,
        "pos_score": holder.get_loss_value_per_pos,
        "pos_error": holder.get_error_value_per_pos,
    }[field]()
    if values is None:
        raise ConfigError("output_per_seq_format: the loss %r has no %s." % (holder.name, field))
    return values


def _lengths(output: Tensor) -> Any:
    if not output.have_time_axis():
        raise ConfigError("output_per_seq_format: no seq_len without a time axis, but the output is %s" % output)
    return output.get_sequence_lengths()


def plain_numbers(value: Any) -> Any:
    """
    :return: Python numbers; of single precision the shortest ones that are the same
    """
    value = numpy.asarray(value)
    if value.ndim > 0:
        return [plain_numbers(x) for x in value.ravel()]
    return float(str(value[()])) if value.dtype.kind == "f" else value.item()


def _text(value: Any) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)


def _expression(value: Any) -> str:
    """
    :return: as :func:`better_repr`, in one line
    """
    if isinstance(value, dict):
        return "{%s}" % ", ".join(f"{key!r}: {_expression(x)}" for key, x in value.items())
    if isinstance(value, list):
        return "[%s]" % ", ".join(map(_expression, value))
    return better_repr(value)
