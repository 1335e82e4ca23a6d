"""Only short sequences in some epochs, for a curriculum."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from returnn.log import log
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean


class EpochWiseFilter:
    """Keeps the shortest sequences of an epoch, in the order they had. Options of a range of epochs:

    - ``max_mean_len``: as many of the shortest as have this mean length; if none has it exactly, one more than that
    - ``strict`` (False): never exceed ``max_mean_len`` (unless a single sequence does)
    - ``shortest_percent``: so many percent of the sequences, at least one
    """

    valid_options: tuple[str, ...] = ("max_mean_len", "strict", "shortest_percent")

    def __init__(
        self,
        epochs_opts: Mapping[tuple[int | None, int | None], Mapping[str, Any] | None],
        debug_msg_prefix: str = "EpochWiseFilter",
    ):
        """
        :param epochs_opts: (first epoch, last epoch) -> options. None as first epoch is 1; None or -1 as last one: all
            further epochs. The first range with the epoch counts
        :param debug_msg_prefix: of lines in the log
        """
        self.debug_msg_prefix = debug_msg_prefix
        self.epochs_opts: dict[tuple[int | None, int | None], dict[str, Any]] = {}
        for epochs, opts in epochs_opts.items():
            if not isinstance(epochs, tuple) or len(epochs) != 2:
                raise ConfigError(f"{debug_msg_prefix}: a range must be (first epoch, last epoch), but is {epochs!r}")
            for name in opts or ():
                if name not in self.valid_options:
                    hint = did_you_mean(name, self.valid_options)
                    raise ConfigError(
                        f"{debug_msg_prefix}: unknown option {name!r} of the epochs {epochs}.{hint}"
                        f" There are: {', '.join(self.valid_options)}"
                    )
            self.epochs_opts[epochs] = dict(opts or {})

    @classmethod
    def from_option(cls, option: Any, prefix: str) -> EpochWiseFilter | None:
        """
        :param option: None, a filter, or the dict for one
        :param prefix: of lines in the log
        """
        return cls(option, debug_msg_prefix=prefix) if isinstance(option, Mapping) else option

    def get_opts(self, epoch: int) -> dict[str, Any]:
        """
        :return: options of this epoch, empty if it is not filtered
        """
        for (first, last), opts in self.epochs_opts.items():
            if (first or 1) <= epoch and (last in (None, -1) or epoch <= last):
                return opts
        return {}

    def filter(self, epoch: int | None, seq_order: Sequence[int], get_seq_len: Callable[[int], float]) -> Sequence[int]:
        """
        :param epoch: None: nothing is filtered
        :param seq_order: corpus indices
        :param get_seq_len: corpus index -> length
        :return: those that are kept
        """
        opts = self.get_opts(epoch) if epoch is not None else {}
        if not opts or not len(seq_order):
            print(f"{self.debug_msg_prefix}, epoch {epoch}. No filter for this epoch.", file=log.v4)
            return seq_order
        order = numpy.asarray(seq_order)
        lens = numpy.array([get_seq_len(int(i)) for i in order], dtype="float64")
        shortest = numpy.lexsort((order, lens))
        num = len(order)
        if opts.get("shortest_percent") is not None:
            num = max(int(len(order) * opts["shortest_percent"] / 100), 1)
        max_mean_len = opts.get("max_mean_len")
        if max_mean_len is not None:
            num = min(num, _num_up_to_mean(lens[shortest], max_mean_len, strict=opts.get("strict", False)))
        kept = numpy.sort(shortest[:num])
        args = (epoch, lens.mean(), lens[kept].mean(), max_mean_len or numpy.inf, len(order), num)
        print(
            f"{self.debug_msg_prefix}, epoch %i. Old mean seq len is %f, new is %f, requested max is %f."
            " Old num seqs is %i, new num seqs is %i." % args,
            file=log.v4,
        )
        return order[kept]  # type: ignore[return-value]  # an array is a sequence


def _num_up_to_mean(sorted_lens: numpy.ndarray, max_mean_len: float, *, strict: bool) -> int:
    """:return: number of shortest sequences"""
    means = numpy.cumsum(sorted_lens) / numpy.arange(1, len(sorted_lens) + 1)  # they only grow
    num_below = int(numpy.searchsorted(means, max_mean_len, side="right"))
    exact = num_below > 0 and means[num_below - 1] == max_mean_len
    return max(num_below if strict or exact else min(num_below + 1, len(means)), 1)
