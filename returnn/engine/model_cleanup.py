"""Which models of finished epochs to keep: the last ones, the best ones of each score, and some of all times."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields

from returnn.config import Config
from returnn.log import log
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean


@dataclass(frozen=True, kw_only=True)
class CleanupOptions:
    """Of the config option ``cleanup_old_models``."""

    keep_last_n: int = 2
    """At least 1."""
    keep_best_n: int = 4
    """For each score."""
    keep: Collection[int] | None = None
    """Epochs. None: :func:`default_epochs_to_keep`."""

    @classmethod
    def from_config(cls, config: Config) -> CleanupOptions:
        """
        :raises ConfigError: neither a bool nor a dict, or wrong entries
        """
        key = "cleanup_old_models"
        value = config.typed_value(key)
        if isinstance(value, dict):
            names = [field.name for field in fields(cls)]
            for name in value:
                if name not in names:
                    raise ConfigError(
                        f"{key}: unknown option {name!r}.{did_you_mean(str(name), names)} Known: {', '.join(names)}."
                    )
            return cls(**value)
        if not isinstance(value, int | None):
            hint = " Is there a comma too much?" if isinstance(value, tuple) else ""
            raise ConfigError(f"{key} must be True, False or a dict of options, but is {value!r}.{hint}")
        return cls()

    def __post_init__(self) -> None:
        for name, minimum in (("keep_last_n", 1), ("keep_best_n", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or value < minimum:
                raise ConfigError(f"cleanup_old_models: {name} must be an int of at least {minimum}, but is {value!r}.")
        if self.keep is not None and not (
            isinstance(self.keep, Collection) and all(isinstance(epoch, int) for epoch in self.keep)
        ):
            raise ConfigError(f"cleanup_old_models: keep must be a list of epochs, but is {self.keep!r}.")


def default_epochs_to_keep(last_epoch: int) -> set[int]:
    """
    :param last_epoch: highest that is stored
    :return: some epochs of all times, the fewer the longer the training: multiples of a number, and another one doubled
    """
    if last_epoch <= 10:
        every, first = 4, 5
    elif last_epoch <= 50:
        every, first = 20, 5
    elif last_epoch <= 100:
        every, first = 40, 10
    else:
        every, first = 80 * _next_power_of_two(1 + last_epoch // 240), 20
    epochs = set(range(every, last_epoch + 1, every))
    while first <= last_epoch:
        epochs.add(first)
        first *= 2
    return epochs


def _next_power_of_two(n: int) -> int:
    """The smallest one that is at least ``n``."""
    return 1 << (n - 1).bit_length()


def epochs_to_keep(
    stored: Sequence[int], scores: Mapping[int, Mapping[str, float]], options: CleanupOptions
) -> set[int]:
    """
    :param stored: epochs with a model, ascending, not empty
    :param scores: epoch -> score key -> value, lower is better; also of epochs that are not stored
    :param options: what to keep
    """
    keep = set(default_epochs_to_keep(stored[-1]) if options.keep is None else options.keep)
    keep.update(stored[-options.keep_last_n :])
    for key in sorted({key for epoch_scores in scores.values() for key in epoch_scores}):
        keep.update(_best_epochs(stored, scores, key, options.keep_best_n))
    return keep.intersection(stored)


def _best_epochs(
    stored: Iterable[int], scores: Mapping[int, Mapping[str, float]], key: str, num_best: int
) -> list[int]:
    """By one score. An epoch without it, or with NaN, counts as bad as the worst."""
    values = {epoch: scores.get(epoch, {}).get(key, math.nan) for epoch in stored}
    if not any(key in scores.get(epoch, {}) for epoch in values):
        print(f"Ignoring score key {key!r} because all saved epochs dont have the score.", file=log.v3)
        return []
    worst = max((value for value in values.values() if not math.isnan(value)), default=math.nan)
    if all(math.isnan(value) or value == worst for value in values.values()):
        print(f"Ignoring score key {key!r} because all epochs have the same value {worst!r}.", file=log.v3)
        return []
    known = {epoch: worst if math.isnan(value) else value for epoch, value in values.items()}
    return sorted(known, key=lambda epoch: (known[epoch], epoch))[:num_best]
