"""returnn.engine.model_cleanup: which epochs are kept."""

from __future__ import annotations

import pytest

from returnn.engine import model_cleanup
from returnn.engine.model_cleanup import CleanupOptions, default_epochs_to_keep, epochs_to_keep
from tests.engine.common import capture_log, falling


@pytest.mark.parametrize(
    "last, kept",
    [
        (5, [2, 3, 4, 5]),
        (8, [4, 5, 6, 7, 8]),
        (10, [4, 5, 7, 8, 9, 10]),
        (12, [5, 9, 10, 11, 12]),
        (50, [5, 10, 20, 40, 47, 48, 49, 50]),
        (100, [10, 20, 40, 80, 97, 98, 99, 100]),
        (250, [20, 40, 80, 160, 247, 248, 249, 250]),
        (500, [20, 40, 80, 160, 320, 497, 498, 499, 500]),
    ],
)
def test_epochs_kept_by_default(last: int, kept: list[int]) -> None:
    epochs = range(1, last + 1)
    assert sorted(epochs_to_keep(list(epochs), falling(epochs), CleanupOptions())) == kept


@pytest.mark.parametrize(
    "last, kept",
    [
        (10, {4, 5, 8, 10}),
        (20, {20, 5, 10}),
        (100, {40, 80, 10, 20}),
        (240, {160, 20, 40, 80}),  # 80 * 2: 1 + 240 // 240 is 2
        (239, {80, 160, 20, 40}),  # 80 * 1
        (720, {320, 640, 20, 40, 80, 160}),  # 80 * 4: 1 + 720 // 240 is 4
    ],
)
def test_default_epochs_to_keep(last: int, kept: set[int]) -> None:
    assert default_epochs_to_keep(last) == kept


@pytest.mark.parametrize(
    "options, kept",
    [
        (CleanupOptions(), [5, 10, 18, 19, 20, 21, 23, 24, 25, 26, 37, 38, 39, 40]),
        (CleanupOptions(keep_best_n=1, keep_last_n=1), [5, 10, 20, 25, 40]),
        (CleanupOptions(keep_best_n=0, keep_last_n=1, keep=[]), [40]),
        (CleanupOptions(keep_best_n=0, keep_last_n=1, keep={3, 7, 77}), [3, 7, 40]),
    ],
)
def test_epochs_kept_are_the_best_of_each_score(options: CleanupOptions, kept: list[int]) -> None:
    """dev_score is best around 20, dev_error around 25, train_score at the end; of equals the earlier epoch."""
    epochs = list(range(1, 41))
    scores = {
        e: {"dev_score": abs(e - 20) / 10 + 1, "dev_error": abs(e - 25) / 10 + 1, "train_score": 1 / e} for e in epochs
    }
    assert sorted(epochs_to_keep(epochs, scores, options)) == kept


def test_epoch_without_score_or_with_nan_is_as_bad_as_the_worst() -> None:
    """Best two of 1: nan, 2: missing, 3: 5, 4: 4, 5: 3, 6: 9 are 5 and 4."""
    nan = float("nan")
    scores = {1: {"dev_score": nan}, 3: {"dev_score": 5.0}, 4: {"dev_score": 4.0}, 5: {"dev_score": 3.0}}
    scores[6] = {"dev_score": 9.0}
    options = CleanupOptions(keep_best_n=2, keep_last_n=1, keep=[])
    assert epochs_to_keep([1, 2, 3, 4, 5, 6], scores, options) == {4, 5, 6}


def test_score_that_says_nothing_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal in all epochs; only in an epoch that is not stored; only NaN."""
    log_lines = capture_log(monkeypatch, model_cleanup)
    scores = {e: {"dev_score": 1.0, "nan": float("nan")} for e in range(1, 5)} | {7: {"foo": 1.0}}
    options = CleanupOptions(keep_best_n=1, keep_last_n=1, keep=[])
    assert epochs_to_keep([1, 2, 3, 4], scores, options) == {4}
    assert log_lines.getvalue() == (
        "3 Ignoring score key 'dev_score' because all epochs have the same value 1.0.\n"
        "3 Ignoring score key 'foo' because all saved epochs dont have the score.\n"
        "3 Ignoring score key 'nan' because all epochs have the same value nan.\n"
    )
