"""The learning rate of each epoch, from the scores of the epochs before, with a history file.

Contract: the engine asks :meth:`LearningRateControl.get_learning_rate_for_epoch`, trains, reports scores by
:meth:`~LearningRateControl.set_epoch_error`, and calls :meth:`~LearningRateControl.save`.
Law: an epoch that has a learning rate, from the file or from the option ``learning_rates``, keeps it. So an epoch which
is trained again, because the process died before its model was saved, gets the rate it had.
Scores are errors: lower is better.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar

from returnn.config import Config
from returnn.learning_rate_file import OLD_FORMAT_KEY, EpochData, format_epoch_data, read_learning_rate_file, to_float
from returnn.log import log
from returnn.util.errors import ConfigError, UserError
from returnn.util.files import atomic_write, retry_on_disk_full
from returnn.util.suggest import did_you_mean

Factor = float | Callable[[float], float]
"""How a learning rate changes: by this factor, or through this function."""


class LearningRateControl:
    """Common part of all types; a type says in :meth:`calc_learning_rate_for_epoch` how the rate goes on."""

    def __init__(
        self,
        *,
        default_learning_rate: float = 1.0,
        default_learning_rates: Mapping[int, float] | None = None,
        min_learning_rate: float = 0.0,
        error_measures: Sequence[str] = (),
        relative_error_also_relative_to_learning_rate: bool = False,
        relative_error_div_by_old: bool = False,
        min_num_epochs_per_new_learning_rate: int = 0,
        learning_rate_decay: Factor = 0.5,
        learning_rate_growth: Factor = 1.0,
        filename: str | None = None,
    ):
        """
        :param default_learning_rate: of the first epoch
        :param default_learning_rates: epoch -> rate, for epochs that have none yet
        :param min_learning_rate: a decay stops here
        :param error_measures: score keys, the first that an epoch has counts
        :param relative_error_also_relative_to_learning_rate: a relative error is divided by (rate / default rate)
        :param relative_error_div_by_old: a relative error is relative to the old score, not to the new one
        :param min_num_epochs_per_new_learning_rate: no change before so many epochs had the same rate
        :param learning_rate_decay: when scores do not improve enough
        :param learning_rate_growth: when they do
        :param filename: of the history; read now if it exists. None: nothing is read or saved
        """
        self.default_learning_rate = to_float(default_learning_rate, "learning_rate")
        self.min_learning_rate = min_learning_rate
        self.error_measures = list(error_measures)
        self.relative_error_also_relative_to_learning_rate = relative_error_also_relative_to_learning_rate
        self.relative_error_div_by_old = relative_error_div_by_old
        self.min_num_epochs_per_new_learning_rate = min_num_epochs_per_new_learning_rate
        self.learning_rate_decay = learning_rate_decay
        self.learning_rate_growth = learning_rate_growth
        self.filename = filename
        self.epoch_data: dict[int, EpochData] = {}
        if not filename:
            self._log("no file specified, not saving history (no proper restart possible)")
        elif os.path.exists(filename):
            self._log(f"loading file {filename}")
            self.load()
        else:
            self._log(f"file {filename} does not exist yet")
        for epoch, learning_rate in (default_learning_rates or {}).items():
            self.epoch_data.setdefault(epoch, EpochData(learning_rate))

    @classmethod
    def from_config(cls, config: Config) -> LearningRateControl:
        """With the options of this type from the config."""
        return cls(**cls.kwargs_from_config(config))

    @classmethod
    def kwargs_from_config(cls, config: Config) -> dict[str, Any]:
        """
        :return: arguments of the constructor
        """
        return {
            "default_learning_rate": _float_option(config, "learning_rate", 1.0),
            "default_learning_rates": _learning_rates_option(config),
            "min_learning_rate": _float_option(config, "min_learning_rate", 0.0),
            "error_measures": config.list("learning_rate_control_error_measure", []),
            "relative_error_also_relative_to_learning_rate": config.is_true(
                "learning_rate_control_relative_error_relative_lr"
            ),
            "relative_error_div_by_old": config.is_true("newbob_relative_error_div_by_old")
            or config.is_true("relative_error_div_by_old"),
            "min_num_epochs_per_new_learning_rate": config.int("learning_rate_control_min_num_epochs_per_new_lr", 0),
            "learning_rate_decay": _factor_option(config, "learning_rate_decay", 0.5),
            "learning_rate_growth": _factor_option(config, "learning_rate_growth", 1.0),
            "filename": config.value("learning_rate_file", None),
        }

    def _options_str(self) -> str:
        """Options of the type, for :meth:`__repr__`."""
        return f"default_learning_rate={self.default_learning_rate!r}"

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._options_str()})"

    def __str__(self) -> str:
        data = ", ".join(f"{epoch}: {self.epoch_data[epoch]!r}" for epoch in sorted(self.epoch_data))
        return f"{self!r}, epoch data: {data}, error key: {', '.join(self.error_measures) or None}"

    @staticmethod
    def _log(text: str) -> None:
        print("Learning-rate-control:", text, file=log.v4)

    # Learning rates

    def get_learning_rate_for_epoch(self, epoch: int) -> float:
        """
        :return: the rate this epoch has, or the one that follows from the epochs before; it is stored
        """
        if epoch not in self.epoch_data:
            self.epoch_data[epoch] = EpochData(self._next_learning_rate(epoch))
        return self.epoch_data[epoch].learning_rate

    def set_epoch_learning_rate(self, epoch: int, learning_rate: float) -> None:
        """Takes this rate for the epoch, whatever was there; later epochs go on from it."""
        if epoch in self.epoch_data:
            self.epoch_data[epoch].learning_rate = to_float(learning_rate, "learning rate")
        else:
            self.epoch_data[epoch] = EpochData(learning_rate)

    def _next_learning_rate(self, epoch: int) -> float:
        num_same = self.min_num_epochs_per_new_learning_rate
        if num_same > 1:
            rates = [self.epoch_data[e].learning_rate for e in self._epochs_before(epoch)[-num_same:]]
            if rates and (len(rates) < num_same or any(rate != rates[0] for rate in rates)):
                return rates[-1]
        return self.calc_learning_rate_for_epoch(epoch)

    def calc_learning_rate_for_epoch(self, epoch: int) -> float:
        """To be defined by each type.

        :param epoch: one without a learning rate
        """
        raise NotImplementedError

    def _epochs_before(self, epoch: int) -> list[int]:
        """Epochs with data, ascending."""
        return sorted(e for e in self.epoch_data if e < epoch)

    def _latest_learning_rate(self, epoch: int) -> float:
        """Of the last epoch with data up to and including this one, or the default."""
        epochs = self._epochs_before(epoch + 1)
        return self.epoch_data[epochs[-1]].learning_rate if epochs else self.default_learning_rate

    def _decay(self, learning_rate: float) -> float:
        return max(_apply(self.learning_rate_decay, learning_rate), self.min_learning_rate)

    def _grow(self, learning_rate: float) -> float:
        return _apply(self.learning_rate_growth, learning_rate)

    # Scores

    def set_epoch_error(self, epoch: int, error: Mapping[str, float | Mapping[str, float]]) -> None:
        """Adds scores to those that the epoch has.

        :param epoch: gets its learning rate now if it has none
        :param error: key, as ``"dev_score"``, -> value. Or -> dict over losses, as ``"cost:output/output_prob"``:
            one loss counts as a plain value, several get keys of their own, as ``"dev_score_output/output_prob"``
        """
        flat: dict[str, float] = {}
        for key, value in error.items():
            if not isinstance(value, Mapping):
                flat[key] = to_float(value, key)
            elif len(value) == 1:
                flat[key] = to_float(next(iter(value.values())), key)
            else:
                for loss, loss_value in value.items():
                    flat[f"{key}_{loss.partition(':')[2] or loss}"] = to_float(loss_value, f"{key}, {loss}")
        self.get_learning_rate_for_epoch(epoch)
        self.epoch_data[epoch].error.update(flat)
        if epoch == 1:
            self._log(f"error key {self.get_error_key(epoch)!r} from {flat!r}")

    def set_epoch_meta(self, epoch: int, meta: Mapping[str, Any]) -> None:
        """Adds facts that are no scores.

        :param epoch: gets its learning rate now if it has none
        :param meta: name -> what a Python literal can express, or a numpy scalar
        """
        self.get_learning_rate_for_epoch(epoch)
        self.epoch_data[epoch].meta.update(meta)

    def forget_epoch_scores(self, epoch: int) -> None:
        """Before an epoch is trained again: scores and meta entries of the former try go, its learning rate stays."""
        if epoch in self.epoch_data:
            self.epoch_data[epoch] = EpochData(self.epoch_data[epoch].learning_rate)

    def get_epoch_error_dict(self, epoch: int) -> dict[str, float]:
        """
        :return: all scores of the epoch; empty if there is none
        """
        return self.epoch_data[epoch].error if epoch in self.epoch_data else {}

    def get_error_key(self, epoch: int) -> str | None:
        """
        :return: key of the score that counts in this epoch; None if it has no scores
        """
        return self._choose_error_key(self.get_epoch_error_dict(epoch))

    def get_epoch_error_value(self, epoch: int) -> float | None:
        """
        :return: the score that counts in this epoch; None if it has no scores
        """
        key = self.get_error_key(epoch)
        return None if key is None else self.epoch_data[epoch].error[key]

    def get_last_best_epoch(self, last_epoch: int, first_epoch: int = 1) -> int | None:
        """
        :return: the epoch of ``first_epoch`` to ``last_epoch`` with the lowest score, the first one of equals;
            None if no epoch is better than ``last_epoch``. The score is the same for all: what :meth:`get_error_key`
            would choose from all their scores. Epochs without it, or with NaN, count as the worst.
        """
        errors = {e: self.get_epoch_error_dict(e) for e in range(first_epoch, last_epoch + 1)}
        key = self._choose_error_key({k for error in errors.values() for k in error})
        if key is None:
            return None
        scores = {e: error[key] for e, error in errors.items() if not math.isnan(error.get(key, math.nan))}
        if not scores:
            return None
        best = min(scores, key=lambda e: (scores[e], e != last_epoch, e))
        return None if best == last_epoch else best

    def _choose_error_key(self, keys: Iterable[str]) -> str | None:
        keys = sorted(keys)
        if not keys:
            return None
        if keys == [OLD_FORMAT_KEY]:
            return OLD_FORMAT_KEY
        for measure in [*self.error_measures, "dev_score"]:
            for key in (measure, measure + "_output"):
                if key in keys:
                    return key
        for key in keys:
            if key == "dev_score_output/output" or key.startswith("dev_score_output/output_"):
                return key
        for prefix in ("dev_score_output/", "dev_"):
            for key in keys:
                if key.startswith(prefix):
                    return key
        for key in ("train_score", "train_score_output"):
            if key in keys:
                return key
        return keys[0]

    def calc_relative_error(self, old_epoch: int, new_epoch: int) -> float | None:
        """
        :return: how much worse the new score is, relative to the new (or old) one; below 0 it improved.
            None if one epoch has no score, or they have different ones.
        """
        key = self.get_error_key(new_epoch)
        if key is None or key != self.get_error_key(old_epoch):
            return None
        old, new = self.epoch_data[old_epoch].error[key], self.epoch_data[new_epoch].error[key]
        relative = _divide(new - old, abs(old if self.relative_error_div_by_old else new))
        if self.relative_error_also_relative_to_learning_rate:
            learning_rate = self._latest_learning_rate(new_epoch)
            relative = _divide(relative, _divide(learning_rate, self.default_learning_rate))
        return relative

    # File

    def save(self) -> None:
        """Writes the history, whole or not at all, also for epochs that are still to come.

        :raises UserError: the file cannot be written
        """
        filename = self.filename
        if not filename:
            return
        what = f"learning-rate file {filename!r}"
        try:
            retry_on_disk_full(lambda: self._write(filename), what=what)
        except OSError as exc:
            raise UserError(f"Cannot save {what}: {exc}.") from exc

    def _write(self, filename: str) -> None:
        os.makedirs(os.path.dirname(filename) or ".", exist_ok=True)
        with atomic_write(filename) as f:
            f.write(format_epoch_data(self.epoch_data))

    def load(self) -> None:
        """Reads the history.

        :raises UserError: the file is damaged; it stays as it is
        """
        assert self.filename
        self.epoch_data = read_learning_rate_file(self.filename)


class ConstantLearningRate(LearningRateControl):
    """The rate of the epoch before."""

    def calc_learning_rate_for_epoch(self, epoch: int) -> float:
        """See the class."""
        return self._latest_learning_rate(epoch)


class _Newbob(LearningRateControl):
    """Decays when the last epoch improved less than by a threshold, else grows."""

    threshold_option: ClassVar[str]

    def __init__(self, *, error_threshold: float = -0.01, **kwargs: Any):
        """
        :param error_threshold: decay if the change of the score is above it
        """
        super().__init__(**kwargs)
        self.error_threshold = error_threshold

    @classmethod
    def kwargs_from_config(cls, config: Config) -> dict[str, Any]:
        """See base class."""
        kwargs = super().kwargs_from_config(config)
        kwargs["error_threshold"] = _float_option(config, cls.threshold_option, -0.01)
        return kwargs

    def _options_str(self) -> str:
        return f"{self.threshold_option.removeprefix('newbob_')}={self.error_threshold!r}"

    def calc_learning_rate_for_epoch(self, epoch: int) -> float:
        """See the class."""
        learning_rate = self._latest_learning_rate(epoch)
        epochs = self._epochs_before(epoch)
        change = self._change(epochs[-2], epochs[-1]) if len(epochs) >= 2 else None
        if change is None:
            return learning_rate
        return self._decay(learning_rate) if change > self.error_threshold else self._grow(learning_rate)

    def _change(self, old_epoch: int, new_epoch: int) -> float | None:
        """Of the score; below 0 it improved."""
        raise NotImplementedError


class NewbobRelative(_Newbob):
    """Looks at the relative change of the score."""

    threshold_option = "newbob_relative_error_threshold"

    def _change(self, old_epoch: int, new_epoch: int) -> float | None:
        return self.calc_relative_error(old_epoch, new_epoch)


class NewbobAbs(_Newbob):
    """Looks at the absolute change of the score."""

    threshold_option = "newbob_error_threshold"

    def _change(self, old_epoch: int, new_epoch: int) -> float | None:
        key = self.get_error_key(new_epoch)
        if key is None or key != self.get_error_key(old_epoch):
            return None
        return self.epoch_data[new_epoch].error[key] - self.epoch_data[old_epoch].error[key]


class NewbobMultiEpoch(LearningRateControl):
    """Looks at the mean relative change over several epochs, and only in every n-th epoch."""

    def __init__(
        self,
        *,
        num_epochs: int = 5,
        update_interval: int | None = None,
        relative_error_threshold: float = -0.01,
        relative_error_grow_threshold: float | None = None,
        **kwargs: Any,
    ):
        """
        :param num_epochs: how many changes to average
        :param update_interval: change the rate in epochs 1, 1 + interval, 1 + 2 interval, ...; default ``num_epochs``
        :param relative_error_threshold: decay if the mean is above it
        :param relative_error_grow_threshold: grow if the mean is below it; default: the other threshold
        """
        self.num_epochs = num_epochs
        self.update_interval = num_epochs if update_interval is None else update_interval
        for name, value in (("num_epochs", self.num_epochs), ("update_interval", self.update_interval)):
            if value < 1:
                raise ConfigError(f"newbob_multi_{name} must be at least 1, but is {value}.")
        super().__init__(**kwargs)
        self.relative_error_threshold = relative_error_threshold
        self.relative_error_grow_threshold = (
            relative_error_threshold if relative_error_grow_threshold is None else relative_error_grow_threshold
        )

    @classmethod
    def kwargs_from_config(cls, config: Config) -> dict[str, Any]:
        """See base class."""
        threshold = _float_option(config, "newbob_relative_error_threshold", -0.01)
        kwargs = super().kwargs_from_config(config)
        kwargs.update(
            num_epochs=config.int("newbob_multi_num_epochs", 5),
            update_interval=config.int("newbob_multi_update_interval", None),
            relative_error_threshold=threshold,
            relative_error_grow_threshold=_float_option(config, "newbob_relative_error_grow_threshold", threshold),
        )
        return kwargs

    def _options_str(self) -> str:
        return (
            f"num_epochs={self.num_epochs}, update_interval={self.update_interval}, "
            f"relative_error_threshold={self.relative_error_threshold!r}, "
            f"relative_error_grow_threshold={self.relative_error_grow_threshold!r}"
        )

    def calc_learning_rate_for_epoch(self, epoch: int) -> float:
        """See the class."""
        learning_rate = self._latest_learning_rate(epoch)
        epochs = self._epochs_before(epoch)[-(self.num_epochs + 1) :]
        if len(epochs) < 2 or (self.update_interval > 1 and epoch % self.update_interval != 1):
            return learning_rate
        changes = [self.calc_relative_error(old, new) for old, new in zip(epochs[:-1], epochs[1:], strict=True)]
        known = [change for change in changes if change is not None]
        if len(known) < len(changes):
            return learning_rate
        mean = sum(known) / len(known)
        if mean > self.relative_error_threshold:
            return self._decay(learning_rate)
        if mean < self.relative_error_grow_threshold:
            return self._grow(learning_rate)
        return learning_rate


_types: dict[str, type[LearningRateControl]] = {
    "constant": ConstantLearningRate,
    "newbob": NewbobRelative,
    "newbob_rel": NewbobRelative,
    "newbob_relative": NewbobRelative,
    "newbob_abs": NewbobAbs,
    "newbob_multi_epoch": NewbobMultiEpoch,
}


def load_learning_rate_control_from_config(config: Config) -> LearningRateControl:
    """
    :return: of the type in the option ``learning_rate_control``; default ``"constant"``
    :raises ConfigError: an option is wrong
    :raises UserError: the learning-rate file is damaged
    """
    name = config.value("learning_rate_control", "constant")
    if name not in _types:
        raise ConfigError(
            f"unknown learning-rate-control type {name}.{did_you_mean(name, _types)} Known: {', '.join(_types)}."
        )
    return _types[name].from_config(config)


# Options


def _float_option(config: Config, key: str, default: float) -> float:
    value = config.float(key, default)
    return default if value is None else float(value)


def _factor_option(config: Config, key: str, default: float) -> Factor:
    """Of ``key``, else of ``newbob_<key>``."""
    for name in (key, "newbob_" + key):
        value = config.opt_typed_value(name)
        if callable(value):
            return value
        if value is not None:
            try:
                return float(value)
            except (TypeError, ValueError):
                raise ConfigError(
                    f"{name} must be a number or a function of the learning rate, but is {value!r}."
                ) from None
    return default


def _apply(factor: Factor, learning_rate: float) -> float:
    return to_float(factor(learning_rate), "changed learning rate") if callable(factor) else learning_rate * factor


def _learning_rates_option(config: Config) -> dict[int, float]:
    """``learning_rates``: list (the first is for epoch 1), dict epoch -> rate, or an expression for one of these."""
    value = source = config.opt_typed_value("learning_rates")
    if value is None:
        return {}
    try:
        if isinstance(value, str):
            value = eval(value, dict(config.typed_dict))  # it is part of the config, which is code anyway
        if not isinstance(value, Mapping):
            value = dict(enumerate(value, 1))
        return {int(epoch): to_float(rate, f"epoch {epoch}") for epoch, rate in value.items()}
    except Exception as exc:  # a text from the config can raise anything
        raise ConfigError(
            f"learning_rates must be a list of numbers or a dict epoch -> number, but is {source!r} ({exc})."
        ) from exc


def _divide(numerator: float, denominator: float) -> float:
    """Division where something by zero is infinite, and nothing by zero is nothing."""
    if denominator:
        return numerator / denominator
    return numerator * math.inf if numerator else 0.0
