"""The order of the sequences in an epoch: rules, seeds, parts and shards.

Contract: number of sequences, epoch and options in; corpus indices out. Nothing here knows a dataset.
Laws: every rule but ``random_sample`` and ``default_every_n`` is a permutation; the parts of P epochs times all shards
hold every position exactly once, because the seed stays the same over one full pass.
All randomness is ``numpy.random.RandomState(seed)``, whose stream is fixed for all numpy versions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean
from returnn.util.user_functions import call_with_spare_kwarg

Order = Any
"""Corpus indices, a ``Sequence[int]``: a range, or an integer array [num_seqs], which mypy does not know as such."""

LENGTH_BASED_RULES = ("sorted", "sorted_reverse", "laplace", "sort_bin_shuffle", "sort_bin_shuffle_x2")
RULES = ("default", "reverse", "default_every_n", "random", "random_sample", *LENGTH_BASED_RULES)


class SeqOrderingError(UserError, ValueError):
    """A ``seq_ordering`` that does not exist. Also a ``ValueError``, which is what callers around datasets catch."""


def epoch_seed(epoch: int | None, *, partition_epoch: int = 1, keep_for_n_epochs: int = 1, offset: int = 0) -> int:
    """
    :param epoch: starts at 1; None counts as 1
    :param partition_epoch: that many epochs are one full pass over the data and share a seed
    :param keep_for_n_epochs: that many full passes share a seed
    :param offset: added last
    """
    seed = epoch or 1
    for share in (partition_epoch, keep_for_n_epochs):
        if share > 1:
            seed = (seed - 1) // share + 1
    return seed + offset


def order_by_rule(
    rule: str,
    *,
    num_seqs: int,
    seed: Callable[[int], int],
    get_seq_len: Callable[[int], float] | None,
    owner: str,
) -> Order:
    """
    :param rule: a ``seq_ordering``, for example ``"laplace:.1000"``
    :param num_seqs: size of the corpus
    :param seed: gets the number of full passes that share an order (1: none), returns the seed
    :param get_seq_len: corpus index -> length; None if this dataset does not know lengths
    :param owner: names the dataset, for messages
    :return: corpus indices
    :raises SeqOrderingError: there is no such rule, or its arguments are wrong
    :raises ConfigError: the rule needs lengths
    """
    name, *args = rule.split(":")
    if name not in RULES or len(args) > _max_args(name):
        raise _invalid(rule, owner)
    if name in LENGTH_BASED_RULES and get_seq_len is None:
        raise ConfigError(
            f"{owner}: seq_ordering {rule!r} needs the lengths of the sequences, which this dataset does not know in"
            " advance. Use one of default, reverse, default_every_n:N, random, random:N, random_sample,"
            " or give the lengths via seq_order_seq_lens_file."
        )
    try:
        if name == "default":
            return range(num_seqs)
        if name == "reverse":
            return range(num_seqs - 1, -1, -1)
        if name == "default_every_n":
            return _every_n(num_seqs, n=int(args[0]))
        if name in ("random", "random_sample"):
            rng = numpy.random.RandomState(seed(int(args[0]) if args else 1))
            if name == "random":
                return rng.permutation(num_seqs)
            return rng.randint(0, num_seqs, size=num_seqs) if num_seqs else range(0)
        assert get_seq_len is not None  # checked above
        lens = numpy.array([get_seq_len(i) for i in range(num_seqs)])
        if lens.dtype.kind != "i":
            lens = lens.astype("float64")  # so that -lens is what it says
        if name == "sorted":
            return numpy.argsort(lens, kind="stable")
        if name == "sorted_reverse":
            return numpy.argsort(-lens, kind="stable")
        rng = numpy.random.RandomState(seed(int(args[1]) if len(args) > 1 else 1))
        num_bins = _num_bins(args[0] if args else "2", num_seqs)
    except (ValueError, IndexError) as exc:
        if isinstance(exc, UserError):
            raise
        raise _invalid(rule, owner) from exc
    if name == "laplace":
        return _laplace(lens, rng, num_bins)
    return _sort_bin_shuffle(lens, rng, num_bins, shuffle_inside=name.endswith("_x2"))


def _max_args(name: str) -> int:
    if name in ("default", "reverse", "sorted", "sorted_reverse"):
        return 0
    return 1 if name in ("default_every_n", "random", "random_sample") else 2


def _invalid(rule: str, owner: str) -> SeqOrderingError:
    name = rule.split(":")[0]
    hint = did_you_mean(name, RULES) if name not in RULES else ""
    return SeqOrderingError(
        f"{owner}: invalid seq_ordering {rule!r}.{hint} There are: default, reverse, default_every_n:N, sorted,"
        " sorted_reverse, random[:EPOCHS], random_sample[:EPOCHS], and laplace, sort_bin_shuffle, sort_bin_shuffle_x2,"
        " each with [:BINS or :.SEQS_PER_BIN[:EPOCHS]]."
    )


def _num_bins(arg: str, num_seqs: int) -> int:
    """:return: from ``"10"``: ten bins; from ``".10"``: bins of about ten sequences"""
    if arg.startswith("."):
        return max(num_seqs // int(arg[1:]), 2)
    num_bins = int(arg)
    if num_bins < 1:
        raise ValueError(f"{num_bins} bins")
    return num_bins


def _every_n(num_seqs: int, n: int) -> Order:
    """:return: n interleaved streams, each a contiguous part of the corpus; the rest of the division is left out"""
    if n < 1:
        raise ValueError(f"every {n}")
    per_stream = num_seqs // n
    return numpy.arange(per_stream * n).reshape(n, per_stream).T.reshape(-1)


def _bins(indices: numpy.ndarray, num_bins: int) -> list[numpy.ndarray]:
    n = len(indices)
    return [indices[i * n // num_bins : (i + 1) * n // num_bins] for i in range(num_bins)]


def _laplace(lens: numpy.ndarray, rng: numpy.random.RandomState, num_bins: int) -> Order:
    """:return: random bins, their sequences by turns from short to long and from long to short"""
    bins = _bins(rng.permutation(len(lens)), num_bins)
    sorted_bins = [b[numpy.argsort(lens[b] if i % 2 == 0 else -lens[b], kind="stable")] for i, b in enumerate(bins)]
    return numpy.concatenate(sorted_bins)


def _sort_bin_shuffle(
    lens: numpy.ndarray, rng: numpy.random.RandomState, num_bins: int, *, shuffle_inside: bool
) -> Order:
    """:return: bins of about equally long sequences, in random order; their inside sorted, or shuffled as well"""
    perm = rng.permutation(len(lens))
    bins = _bins(perm[numpy.argsort(lens[perm], kind="stable")], num_bins)
    res: list[int] = []
    for i in rng.permutation(num_bins):
        seqs = bins[i].tolist()
        if shuffle_inside:
            rng.shuffle(seqs)
        res += seqs
    return numpy.array(res, dtype=perm.dtype)


def part_of_epoch(
    order: Order, epoch: int, *, partition_epoch: int = 1, num_shards: int = 1, shard_index: int = 0
) -> Order:
    """
    :return: the contiguous part of ``order`` for this epoch and shard. The first parts are longer by one if the
        division has a rest.
    """
    num_parts = partition_epoch * num_shards
    part = ((epoch - 1) % partition_epoch) * num_shards + shard_index
    size, rest = divmod(len(order), num_parts)
    start = part * size + min(part, rest)
    return order[start : start + size + (1 if part < rest else 0)]


def repeat(order: Order, times: int) -> Order:
    """
    :return: ``order``, that many times in a row
    """
    return order if times == 1 else numpy.tile(numpy.asarray(order, dtype=int), times)


def first_of_each_tag(order: Order, tags: Sequence[str]) -> Order:
    """
    :param order: corpus indices
    :param tags: of the whole corpus
    :return: ``order`` without sequences whose tag came before
    """
    seen: set[str] = set()
    return _filter(order, lambda i: not (tags[i] in seen or seen.add(tags[i])))  # type: ignore[func-returns-value]


def only_tags(order: Order, tags: Sequence[str], allowed: frozenset[str]) -> Order:
    """
    :param order: corpus indices
    :param tags: of the whole corpus
    :param allowed: the tags to keep
    """
    return _filter(order, lambda i: tags[i] in allowed)


def _filter(order: Order, keep: Callable[[int], bool]) -> Order:
    return numpy.array([i for i in order if keep(i)], dtype=int)


def call_ordering_function(func: Callable[..., Any], epoch: int, owner: str) -> str:
    """
    :param func: a ``seq_ordering`` function of a config, ``(epoch, **kwargs) -> str``
    :raises TypeError: it does not return a str
    """
    rule = call_with_spare_kwarg(func, what=f"{owner}: the function given as seq_ordering", epoch=epoch)
    if not isinstance(rule, str):
        raise TypeError(f"{owner}: the function given as seq_ordering returned {rule!r}, expected a str")
    return rule
