"""Calls the user's function, in this process or in a worker, and checks what it returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import numpy

from returnn.tensor import Tensor, TensorDict
from returnn.util.errors import ConfigError
from returnn.util.user_functions import call_with_spare_kwarg, failures_in_users_code

from ..data_templates import as_declared, check_array
from ..seq import DatasetSeq
from ..worker_server import Handler

_more_templates = {
    "complete_frac": Tensor("complete_frac", dims=(), dtype="float32"),
    "seq_idx": Tensor("seq_idx", dims=(), dtype="int32"),
    "seq_tag": Tensor("seq_tag", dims=(), dtype="string"),
}
"""What a sequence has besides its data."""


@dataclasses.dataclass
class Randomness:
    """Where the ``rng`` of a pass comes from."""

    seed: int
    """of the epoch"""
    per_seq: bool
    """a new one for each sequence, from seed and corpus index"""

    def of_worker(self, worker: int, num_workers: int) -> Randomness:
        """
        :return: for one of several workers
        """
        if self.per_seq:
            return self
        return Randomness((self.seed * 683859 * num_workers + 30411 * worker) % (2**32 - 1), per_seq=False)


@dataclasses.dataclass
class UsersFunction:
    """A function of the config, and all that is needed to call it. Can be sent to a worker."""

    owner: str
    """names the dataset, for messages"""
    map_seq: Callable[..., TensorDict] | None
    map_seq_stream: Callable[..., Iterator[TensorDict]] | None
    inputs: dict[str, Tensor]
    """data key -> template"""
    outputs: dict[str, Tensor]

    @property
    def what(self) -> str:
        """:return: names the function, for messages"""
        return f"{self.owner}: {'map_seq' if self.map_seq else 'map_seq_stream'}"

    def apply(self, seqs: Iterator[tuple[DatasetSeq, int]], epoch: int, random: Randomness) -> Iterator[DatasetSeq]:
        """
        :param seqs: each with its corpus index
        :param epoch: starts at 1
        :param random: for the function
        :return: what the function makes of them
        """
        rng = numpy.random.RandomState(random.seed)
        results = self._each(seqs, epoch, rng, random) if self.map_seq else self._stream(seqs, epoch, rng)
        last_frac = 0.0
        for seq_idx, result in enumerate(results):
            seq = self._seq_of(result, seq_idx)
            assert seq.complete_frac is not None
            if not last_frac <= seq.complete_frac <= 1.0:
                raise ConfigError(
                    f"{self.what}: complete_frac must only grow, within 0 and 1, but is {seq.complete_frac:.6g}"
                    f" for sequence {seq.seq_tag!r}, behind {last_frac:.6g}"
                )
            last_frac = seq.complete_frac
            yield seq

    def _each(
        self, seqs: Iterator[tuple[DatasetSeq, int]], epoch: int, rng: numpy.random.RandomState, random: Randomness
    ) -> Iterator[TensorDict]:
        assert self.map_seq is not None
        for seq, corpus_seq_idx in seqs:
            if random.per_seq:
                rng.seed((random.seed, corpus_seq_idx))
            data = self._tensor_dict(seq)
            with failures_in_users_code(f"{self.what}, sequence {seq.seq_tag!r}"):
                yield call_with_spare_kwarg(
                    self.map_seq, data, what=self.what, epoch=epoch, seq_idx=seq.seq_idx, rng=rng
                )

    def _stream(
        self, seqs: Iterator[tuple[DatasetSeq, int]], epoch: int, rng: numpy.random.RandomState
    ) -> Iterator[TensorDict]:
        assert self.map_seq_stream is not None
        stream = (self._tensor_dict(seq) for seq, _ in seqs)
        with failures_in_users_code(self.what):
            yield from call_with_spare_kwarg(self.map_seq_stream, stream, what=self.what, epoch=epoch, rng=rng)

    def _tensor_dict(self, seq: DatasetSeq) -> TensorDict:
        res = TensorDict()
        for key, template in self.inputs.items():
            value = as_declared(template, seq.features[key])
            res.data[key] = template.like(
                check_array(template, value, f"{self.owner}: sequence {seq.seq_tag!r}: {key!r} of the dataset inside")
            )
        more = {
            "complete_frac": numpy.array(seq.complete_frac, dtype="float32"),
            "seq_idx": numpy.array(seq.seq_idx, dtype="int32"),
            "seq_tag": numpy.array(seq.seq_tag),
        }
        for key, array in more.items():
            res.data[key] = _more_templates[key].like(array)
        return res

    def _seq_of(self, result: Any, seq_idx: int) -> DatasetSeq:
        if not isinstance(result, TensorDict):
            raise ConfigError(f"{self.what} must give a TensorDict, but gave {type(result).__name__}")
        missing = [key for key in (*self.outputs, "complete_frac", "seq_tag") if key not in result]
        further = [key for key in result.data if key not in self.outputs and key not in _more_templates]
        for keys, what in ((missing, "lacks"), (further, "has also")):
            if keys:
                raise ConfigError(
                    f"{self.what}: the result {what} {', '.join(map(repr, keys))}. It must have the data keys"
                    f" {', '.join(map(repr, self.outputs))}, and complete_frac and seq_tag as they were."
                    " Other data keys need map_outputs."
                )
        tag = str(result["seq_tag"].raw_tensor)
        what = f"{self.what}: the result for sequence {tag!r}:"
        features = {
            key: check_array(template, result[key].raw_tensor, f"{what} {key!r}")
            for key, template in self.outputs.items()
        }
        return DatasetSeq(seq_idx, features, seq_tag=tag, complete_frac=float(result["complete_frac"].raw_tensor))


class FunctionWorker(Handler):
    """Runs the function over the sequences that this worker gets."""

    def __init__(self, function: UsersFunction):
        """
        :param function: with its templates
        """
        self._function = function

    def start_epoch(
        self, inputs: Iterator[DatasetSeq], epoch: int, random: Randomness
    ) -> tuple[None, Iterator[DatasetSeq]]:
        """
        :param inputs: with the corpus index as one more data key, see :func:`with_corpus_seq_idx`
        :param epoch: starts at 1
        :param random: of this worker
        :return: the results
        """
        return None, self._function.apply(map(_split_corpus_seq_idx, inputs), epoch, random)


_corpus_seq_idx_key = "corpus_seq_idx of the sub dataset"


def with_corpus_seq_idx(seq: DatasetSeq, corpus_seq_idx: int) -> DatasetSeq:
    """
    :return: the sequence, for a worker
    """
    seq.features[_corpus_seq_idx_key] = numpy.array(corpus_seq_idx)
    return seq


def _split_corpus_seq_idx(seq: DatasetSeq) -> tuple[DatasetSeq, int]:
    return seq, int(seq.features.pop(_corpus_seq_idx_key))
