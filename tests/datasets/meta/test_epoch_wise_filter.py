"""EpochWiseFilter: the shortest sequences of an epoch, in their order."""

from __future__ import annotations

from typing import Any

import pytest

from returnn.datasets.meta import EpochWiseFilter
from returnn.log import log
from returnn.util.errors import ConfigError

lens = [5, 3, 9, 1, 7, 3, 8, 2, 6, 4]
"""Sorted: 1 2 3 3 4 5 6 7 8 9; means of the first k: 1 1.5 2 2.25 2.6 3 3.43 3.875 4.33 4.8"""


def kept(order: list[int], **opts: Any) -> list[int]:
    """:return: in epoch 1"""
    return [int(i) for i in EpochWiseFilter({(1, 1): opts}).filter(1, order, lens.__getitem__)]


@pytest.mark.parametrize(
    "opts,indices",
    [
        ({"max_mean_len": 3}, [0, 1, 3, 5, 7, 9]),
        ({"max_mean_len": 3, "strict": True}, [0, 1, 3, 5, 7, 9]),
        ({"max_mean_len": 2.7}, [0, 1, 3, 5, 7, 9]),  # 5 have 2.6, 6 have 3
        ({"max_mean_len": 2.7, "strict": True}, [1, 3, 5, 7, 9]),
        ({"max_mean_len": 100}, list(range(10))),
        ({"max_mean_len": 0.5}, [3]),
        ({"max_mean_len": 0.5, "strict": True}, [3]),
        ({"shortest_percent": 35}, [1, 3, 7]),
        ({"shortest_percent": 50, "max_mean_len": 1.5}, [3, 7]),
        ({"shortest_percent": 1}, [3]),
        ({}, list(range(10))),
    ],
)
def test_which_are_kept(opts: dict[str, Any], indices: list[int]) -> None:
    """See the means above."""
    assert kept(list(range(10)), **opts) == indices
    order = [9, 2, 0, 7, 5, 1, 8, 3, 6, 4]
    assert kept(order, **opts) == [i for i in order if i in indices]


def test_epochs() -> None:
    """The first range that has the epoch; None and -1 are open."""
    epoch_filter = EpochWiseFilter(
        {(None, 2): {"max_mean_len": 1}, (4, 4): None, (4, 5): {"max_mean_len": 1}, (7, -1): {"max_mean_len": 1}}
    )
    sizes = [len(epoch_filter.filter(epoch, range(10), lens.__getitem__)) for epoch in range(1, 9)]
    assert sizes == [1, 1, 10, 10, 1, 10, 1, 1]
    assert len(EpochWiseFilter({(3, None): {"max_mean_len": 1}}).filter(30, range(10), lens.__getitem__)) == 1
    assert len(epoch_filter.filter(None, range(3), lens.__getitem__)) == 3
    assert len(epoch_filter.filter(1, [], lens.__getitem__)) == 0


def test_log(monkeypatch: pytest.MonkeyPatch) -> None:
    """Means and numbers, before and after."""
    lines: list[str] = []

    class Stream:
        """Collects."""

        def write(self, text: str) -> None:
            """As a file."""
            lines.append(text)

    monkeypatch.setattr(log, "v4", Stream())
    epoch_filter = EpochWiseFilter({(1, 1): {"max_mean_len": 3}}, debug_msg_prefix="LibriSpeech")
    for epoch in (1, 2):
        epoch_filter.filter(epoch, range(10), lens.__getitem__)
    assert "".join(lines).splitlines() == [
        "LibriSpeech, epoch 1. Old mean seq len is 4.800000, new is 3.000000, requested max is 3.000000."
        " Old num seqs is 10, new num seqs is 6.",
        "LibriSpeech, epoch 2. No filter for this epoch.",
    ]


@pytest.mark.parametrize(
    "opts,message",
    [
        ({(1, 2): {"max_mean": 3}}, "unknown option 'max_mean' of the epochs .1, 2.. Did you mean \"max_mean_len\"?"),
        ({1: {"max_mean_len": 3}}, "a range must be .first epoch, last epoch., but is 1"),
    ],
)
def test_mistakes(opts: Any, message: str) -> None:
    """With what there is instead."""
    with pytest.raises(ConfigError, match=message):
        EpochWiseFilter(opts)
