"""Files shared out over the parts of an epoch (and over processes): contiguous shares of about the same size."""

from __future__ import annotations

from collections.abc import Sequence


def cut_by_size(sizes: Sequence[float], num_bins: int) -> list[list[int]]:
    """
    :param sizes: of the files, at least ``num_bins`` of them
    :param num_bins: number of shares
    :return: per share the indices of its files, in their order; none is empty
    """
    assert 1 <= num_bins <= len(sizes)
    total = sum(sizes)
    target = total / num_bins
    bins: list[list[int]] = [[]]
    taken = seen = 0.0  # size in the last bin; size of all files so far, with the one at hand

    def next_bin() -> None:
        nonlocal target, taken
        bins.append([])
        taken = 0.0
        target = (total - seen) / (num_bins - len(bins) + 1)

    for i, size in enumerate(sizes):
        seen += size
        bins_behind = num_bins - len(bins)
        if bins[-1] and len(sizes) - i <= bins_behind:  # each of them needs a file
            next_bin()
        elif bins_behind and taken + size > target:
            if not bins[-1] or abs(taken + size - target) <= abs(taken - target):
                bins[-1].append(i)
                next_bin()
                continue
            next_bin()  # it is closer to the target without this file
        bins[-1].append(i)
        taken += size
    return bins
