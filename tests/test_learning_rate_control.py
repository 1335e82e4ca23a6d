"""returnn.learning_rate_control and its file. Numbers of the learning rates: halving .1 is .05, .025, .0125, ..."""

from __future__ import annotations

import io
import math
import os
import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from returnn import learning_rate_control
from returnn.config import Config
from returnn.learning_rate_control import LearningRateControl, load_learning_rate_control_from_config
from returnn.learning_rate_file import EpochData
from returnn.util.errors import ConfigError, UserError

nan, inf = math.nan, math.inf

errors_slowing = [1.0, 0.9, 0.895, 0.894, 0.8, 0.801, 0.7999]
"""Relative changes, by the new value: -.111, -.0056, -.0011, -.1175, +.00125, -.0014."""


def make(**options: Any) -> LearningRateControl:
    """A control for a config with these options."""
    config = Config()
    config.update({"learning_rate": 0.1, **options})
    return load_learning_rate_control_from_config(config)


def run(errors: list[float], *, num_epochs: int | None = None, key: str = "dev_score", **options: Any) -> list[float]:
    """Learning rates of all epochs, and of one more, when each epoch ends with the given error."""
    control = make(**options)
    rates = []
    for epoch in range(1, (num_epochs or len(errors) + 1) + 1):
        rates.append(control.get_learning_rate_for_epoch(epoch))
        if epoch <= len(errors):
            control.set_epoch_error(epoch, {key: errors[epoch - 1]})
    return rates


@pytest.fixture
def log_v4(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the module logs at level 4."""
    stream = io.StringIO()
    monkeypatch.setattr(learning_rate_control, "log", SimpleNamespace(v4=stream))
    return stream


# Learning rates


@pytest.mark.parametrize("name", ["newbob", "newbob_rel", "newbob_relative"])
def test_newbob_rel_halves_when_the_error_falls_by_less_than_one_percent(name: str) -> None:
    rates = run(errors_slowing, learning_rate_control=name)
    assert rates == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.025, 0.025, 0.0125, 0.00625])


def test_newbob_min_learning_rate_bounds_the_decay() -> None:
    """.05/2 = .025 is below .04."""
    rates = run(errors_slowing, learning_rate_control="newbob_rel", min_learning_rate=0.04)
    assert rates == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.04, 0.04, 0.04, 0.04])


def test_min_learning_rate_is_not_applied_without_a_decay() -> None:
    assert run([1.0, 0.5], learning_rate_control="newbob", min_learning_rate=0.5) == [0.1, 0.1, 0.1]


def test_newbob_growth_after_good_epochs() -> None:
    """x 1.5 after an improvement above 1 %, else x .5."""
    rates = run(errors_slowing, learning_rate_control="newbob_rel", learning_rate_growth=1.5)
    assert rates == pytest.approx([0.1, 0.1, 0.15, 0.075, 0.0375, 0.05625, 0.028125, 0.0140625])


def test_newbob_relative_lr_divides_the_relative_error_by_the_part_of_the_rate_left() -> None:
    """In epoch 7, lr .0125 = lr0/8, the change -.00138 counts as -.011, below the threshold."""
    rates = run(
        errors_slowing, learning_rate_control="newbob_rel", learning_rate_control_relative_error_relative_lr=True
    )
    assert rates == pytest.approx([0.1, 0.1, 0.1, 0.05, 0.025, 0.025, 0.0125, 0.0125])


def test_newbob_rel_div_by_old() -> None:
    """(.9-1)/1 = -.1 is above the threshold by rounding; (.9-1)/.9 would be -.111."""
    rates = run(
        errors_slowing,
        learning_rate_control="newbob_rel",
        newbob_relative_error_div_by_old=True,
        newbob_relative_error_threshold=-0.1,
    )
    assert rates == pytest.approx([0.1, 0.1, 0.05, 0.025, 0.0125, 0.0125, 0.00625, 0.003125])


def test_newbob_abs() -> None:
    """Changes -.1, -.005, -.001, -.094, +.001, -.0011; above -.002: the 3rd, 5th and 6th."""
    rates = run(errors_slowing, learning_rate_control="newbob_abs", newbob_error_threshold=-0.002)
    assert rates == pytest.approx([0.1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.025, 0.0125])


multi = {
    "learning_rate_control": "newbob_multi_epoch",
    "newbob_multi_num_epochs": 2,
    "newbob_multi_update_interval": 1,
    "newbob_learning_rate_decay": 0.7,
}


def test_newbob_multi_averages_two_changes() -> None:
    """Means: -.111, -.058, -.0034 (decay), -.059, -.058, -.00008 (decay)."""
    assert run(errors_slowing, **multi) == pytest.approx([0.1] * 4 + [0.07] * 3 + [0.049])


def test_newbob_multi_changes_only_at_its_interval() -> None:
    """Interval 2: epochs 3, 5, 7; the rate of epoch 8 is that of epoch 7."""
    rates = run(errors_slowing, **{**multi, "newbob_multi_update_interval": 2})
    assert rates == pytest.approx([0.1] * 4 + [0.07] * 4)


def test_newbob_multi_interval_is_num_epochs_by_default() -> None:
    """Interval 5: only epoch 6, where the mean of all changes is good."""
    assert run(errors_slowing, learning_rate_control="newbob_multi_epoch") == [0.1] * 8


def test_newbob_multi_min_num_epochs_per_new_lr() -> None:
    rates = run(errors_slowing + [0.7999] * 4, **multi, learning_rate_control_min_num_epochs_per_new_lr=3)
    assert rates == pytest.approx([0.1] * 4 + [0.07] * 3 + [0.049] * 3 + [0.0343] * 2)


def test_newbob_keeps_a_new_rate_for_two_epochs() -> None:
    """The error never changes: a decay whenever the last two epochs had the same rate."""
    rates = run([1.0] * 6, learning_rate_control="newbob", learning_rate_control_min_num_epochs_per_new_lr=2)
    assert rates == pytest.approx([0.1, 0.1, 0.05, 0.05, 0.025, 0.025, 0.0125])


def test_newbob_multi_grow_threshold() -> None:
    """Means of two: -.111, -.058 (between the thresholds), -.0034: grow below -.1, decay above -.01."""
    rates = run(errors_slowing[:4], **multi, newbob_relative_error_grow_threshold=-0.1, newbob_learning_rate_growth=2.0)
    assert rates == pytest.approx([0.1, 0.1, 0.2, 0.2, 0.14])


def test_constant_keeps_the_latest_preset() -> None:
    rates = run([], num_epochs=5, learning_rates={1: 0.01, 4: 0.05})
    assert rates == [0.01, 0.01, 0.01, 0.05, 0.05]


def test_presets_then_newbob_multi_with_relative_lr() -> None:
    """rel of epoch 2: (.99-1)/.99 / (.0005/.001) = -.0202020; epoch 3: (.985-.99)/.985 / .5 = -.0101523;
    epoch 4: (.984-.985)/.984 / .5 = -.00203; mean of the last two -.0061 > -.01: .0005 x .7 = .00035 < .0004."""
    control = make(
        **multi,
        learning_rates=[0.0003, 0.0005],
        min_learning_rate=0.0004,
        learning_rate_control_relative_error_relative_lr=True,
    )
    control.default_learning_rate = 0.001
    rates = []
    for epoch, error in enumerate([1.0, 0.99, 0.985, 0.984, 0.9839], 1):
        rates.append(control.get_learning_rate_for_epoch(epoch))
        control.set_epoch_error(epoch, {"dev_score": error})
    assert rates == pytest.approx([0.0003, 0.0005, 0.0005, 0.0005, 0.0004])
    assert control.calc_relative_error(1, 2) == pytest.approx(-0.0202020, abs=1e-7)
    assert control.calc_relative_error(2, 3) == pytest.approx(-0.0101523, abs=1e-7)


def test_decay_and_growth_may_be_functions() -> None:
    """Decay after epoch 2: .1 - .01."""
    rates = run([1.0, 1.0], learning_rate_control="newbob", newbob_learning_rate_decay=lambda lr: lr - 0.01)
    assert rates == pytest.approx([0.1, 0.1, 0.09])


def test_learning_rate_decay_goes_before_newbob_learning_rate_decay() -> None:
    rates = run([1.0, 1.0], learning_rate_control="newbob", newbob_learning_rate_decay=0.5, learning_rate_decay=0.1)
    assert rates == pytest.approx([0.1, 0.1, 0.01])


@pytest.mark.parametrize(
    "value",
    [[0.3, 0.2], (0.3, 0.2), {1: 0.3, 2: 0.2}, "[.3, .2]", "{1: .3, 2: .2}", np.array([0.3, 0.2]), "[x] + [.2]"],
)
def test_learning_rates_forms(value: Any) -> None:
    """A text is an expression in the config: ``x`` is a variable of it."""
    control = make(learning_rates=value, x=0.3)
    rates = [control.get_learning_rate_for_epoch(epoch) for epoch in (1, 2, 3)]
    assert rates == [0.3, 0.2, 0.2]
    assert all(type(rate) is float for rate in rates)


@pytest.mark.parametrize("value", ["[.3, ", 5, ["a"], {"x": 1.0}, "unknown_name"])
def test_wrong_learning_rates_are_a_config_error(value: Any) -> None:
    with pytest.raises(
        ConfigError, match="^learning_rates must be a list of numbers or a dict epoch -> number, but is"
    ):
        make(learning_rates=value)


def test_numbers_from_the_command_line_are_numbers() -> None:
    """Untyped values are texts: decay .7 after two equal epochs."""
    config = Config()
    for key, value in [
        ("learning_rate", "0.1"),
        ("learning_rate_control", "newbob"),
        ("newbob_learning_rate_decay", "0.7"),
        ("learning_rate_control_error_measure", "dev_error,dev_score"),
    ]:
        config.add_line(key, value)
    control = load_learning_rate_control_from_config(config)
    assert control.error_measures == ["dev_error", "dev_score"]
    for epoch in (1, 2):
        control.get_learning_rate_for_epoch(epoch)
        control.set_epoch_error(epoch, {"dev_score": 1.0})
    assert control.get_learning_rate_for_epoch(3) == pytest.approx(0.07)


def test_integer_learning_rate_becomes_a_float() -> None:
    rate = make(learning_rate=1).get_learning_rate_for_epoch(1)
    assert rate == 1.0 and type(rate) is float


def test_default_learning_rate_is_one() -> None:
    assert load_learning_rate_control_from_config(Config()).get_learning_rate_for_epoch(1) == 1.0


def test_decay_that_is_no_number_is_a_config_error() -> None:
    with pytest.raises(
        ConfigError, match="^newbob_learning_rate_decay must be a number or a function of the learning rate, but is 'x'"
    ):
        make(learning_rate_control="newbob", newbob_learning_rate_decay="x")


def test_unknown_type_is_an_assertion_with_the_nearest_name() -> None:
    with pytest.raises(AssertionError, match="^unknown learning-rate-control type newbob_mult_epoch. Did you mean "):
        make(learning_rate_control="newbob_mult_epoch")


@pytest.mark.parametrize("key", ["newbob_multi_num_epochs", "newbob_multi_update_interval"])
def test_newbob_multi_counts_below_one_are_a_config_error(key: str) -> None:
    with pytest.raises(ConfigError, match=f"^{key} must be at least 1, but is 0"):
        make(learning_rate_control="newbob_multi_epoch", **{key: 0})


def test_missing_scores_keep_the_rate() -> None:
    """Epoch 2 has no score, so neither 1-2 nor 2-3 can be compared."""
    for name in ("newbob_rel", "newbob_abs", "newbob_multi_epoch"):
        control = make(learning_rate_control=name, newbob_multi_update_interval=1)
        for epoch in (1, 2, 3):
            control.get_learning_rate_for_epoch(epoch)
            if epoch != 2:
                control.set_epoch_error(epoch, {"dev_score": 1.0})
        assert [control.get_learning_rate_for_epoch(e) for e in (1, 2, 3, 4)] == [0.1] * 4


def test_different_score_keys_keep_the_rate() -> None:
    for name in ("newbob_rel", "newbob_abs", "newbob_multi_epoch"):
        control = make(learning_rate_control=name, newbob_multi_update_interval=1)
        control.set_epoch_error(1, {"train_score": 1.0})
        control.set_epoch_error(2, {"dev_score": 1.0})
        assert control.get_learning_rate_for_epoch(3) == 0.1


@pytest.mark.parametrize(
    "name, rates",
    [
        ("newbob_rel", [0.1, 0.1, 0.2, 0.4]),
        ("newbob_abs", [0.1, 0.1, 0.2, 0.4]),
        ("newbob_multi_epoch", [0.1, 0.1, 0.1, 0.1]),
    ],
)
def test_nan_scores_let_newbob_grow_and_leave_multi_unchanged(name: str, rates: list[float]) -> None:
    """No comparison with NaN is true."""
    got = run(
        [1.0, nan, 0.5], learning_rate_control=name, newbob_learning_rate_growth=2.0, newbob_multi_update_interval=1
    )
    assert got == pytest.approx(rates)


def test_error_zero_is_no_division_by_zero() -> None:
    """1 -> 0 is an infinite improvement, 0 -> 0 is none, so the rate is halved."""
    assert run([1.0, 0.0, 0.0], learning_rate_control="newbob") == [0.1, 0.1, 0.1, 0.05]


def test_later_epochs_go_on_from_a_rate_that_was_set() -> None:
    control = make()
    control.set_epoch_learning_rate(1, 0.5)
    control.set_epoch_learning_rate(2, 0.4)
    control.set_epoch_learning_rate(2, 0.3)
    assert [control.get_learning_rate_for_epoch(e) for e in (1, 2, 3)] == [0.5, 0.3, 0.3]


# Scores


def test_error_key_prefers_dev_score() -> None:
    control = make()
    control.set_epoch_error(1, {"train_score": 1.0, "dev_score": 2.0, "dev_error": 3.0})
    assert control.get_error_key(1) == "dev_score"
    assert control.get_epoch_error_value(1) == 2.0


def test_error_key_of_several_losses_prefers_the_output_layer() -> None:
    """Several losses: the part behind the first colon is added to the key; the dict of one loss is a plain value."""
    control = make()
    control.set_epoch_error(
        1, {"dev_score": {"cost:ctc": 1.0, "cost:output/output_prob": 2.0}, "dev_error": {"error:ctc": 3.0}}
    )
    assert control.get_error_key(1) == "dev_score_output/output_prob"
    assert control.get_epoch_error_dict(1) == {
        "dev_score_ctc": 1.0,
        "dev_score_output/output_prob": 2.0,
        "dev_error": 3.0,
    }


def test_exp_loss_has_a_key_of_its_own() -> None:
    control = make()
    control.set_epoch_error(1, {"dev_score": {"cost:output": 1.0, "cost:output:exp": 2.7}})
    assert control.get_epoch_error_dict(1) == {"dev_score_output": 1.0, "dev_score_output:exp": 2.7}


@pytest.mark.parametrize(
    "keys, key",
    [
        (["dev_loss_z", "dev_loss_b", "train_loss_a"], "dev_loss_b"),
        (["zz", "aa"], "aa"),
        (["old_format_score"], "old_format_score"),
        (["old_format_score", "dev_score"], "dev_score"),
        (["dev_score_output", "dev_score_output/output", "dev_error"], "dev_score_output"),
        (["dev_score_output/z", "dev_score_output/output", "dev_score_aa"], "dev_score_output/output"),
        (["dev_score_output/z", "dev_score_output/b", "dev_error"], "dev_score_output/b"),
        (["eval_score", "train_score", "train_error"], "train_score"),
        (["eval_score", "train_score_output", "train_error"], "train_score_output"),
        ([], None),
    ],
)
def test_error_key_order(keys: list[str], key: str | None) -> None:
    control = make()
    control.set_epoch_error(2, dict.fromkeys(keys, 1.0))
    assert control.get_error_key(2) == key
    assert control.get_epoch_error_value(2) == (1.0 if keys else None)


@pytest.mark.parametrize("measure, key", [("b", "b"), ("a", "a_output"), (["x", "b"], "b"), ("x", "dev_score")])
def test_error_measure_option(measure: str | list[str], key: str) -> None:
    control = make(learning_rate_control_error_measure=measure)
    control.set_epoch_error(1, {"a_output": 1.0, "b": 2.0, "dev_score": 3.0})
    assert control.get_error_key(1) == key


def test_epoch_without_data_has_no_scores() -> None:
    control = make()
    assert control.get_epoch_error_dict(7) == {}
    assert control.get_error_key(7) is None and control.get_epoch_error_value(7) is None
    assert control.epoch_data == {}


def test_scores_must_be_numbers() -> None:
    with pytest.raises(TypeError, match="^dev_score: expected a number, got 'x' of type str"):
        make().set_epoch_error(1, {"dev_score": "x"})  # type: ignore[dict-item]


@pytest.mark.parametrize(
    "scores, best",
    [
        ([5.0, 3.0, 4.0], 2),
        ([5.0, 3.0, 3.0, 4.0], 2),
        ([5.0, 3.0, 3.0], None),  # nothing is better than the last one
        ([3.0, 2.0, 1.0], None),
        ([nan, 2.0, 3.0], 2),
        ([2.0, nan, 3.0], 1),
        ([2.0, 1.0, nan], 2),
        ([nan, nan], None),
        ([], None),
    ],
)
def test_last_best_epoch_ignores_nan(scores: list[float], best: int | None) -> None:
    control = make()
    for epoch, score in enumerate(scores, 1):
        control.set_epoch_error(epoch, {"dev_score": score})
    assert control.get_last_best_epoch(last_epoch=len(scores)) == best


def test_last_best_epoch_compares_one_key_only() -> None:
    """The train score .1 of epoch 3, not yet evaluated, is no dev score."""
    control = make()
    for epoch, scores in enumerate([{"dev_score": 1.0}, {"dev_score": 2.0}, {"train_score": 0.1}], 1):
        control.set_epoch_error(epoch, scores)
    assert control.get_last_best_epoch(last_epoch=3) == 1
    assert control.get_last_best_epoch(last_epoch=3, first_epoch=2) == 2


# Log


def test_log_lines(log_v4: io.StringIO, tmp_path: Path) -> None:
    """In the first epoch, what is new, and the key that counts among all so far."""
    path = tmp_path / "lr"
    make()
    control = make(learning_rate_file=str(path))
    control.set_epoch_error(1, {"dev_score": {"cost:a": 1.0, "cost:b": 2.0}})
    control.set_epoch_error(1, {"eval_score": 3.0})
    control.set_epoch_error(2, {"dev_score": 1.0})
    control.save()
    make(learning_rate_file=str(path))
    assert log_v4.getvalue() == (
        "Learning-rate-control: no file specified, not saving history (no proper restart possible)\n"
        f"Learning-rate-control: file {path} does not exist yet\n"
        "Learning-rate-control: error key 'dev_score_a' from {'dev_score_a': 1.0, 'dev_score_b': 2.0}\n"
        "Learning-rate-control: error key 'dev_score_a' from {'eval_score': 3.0}\n"
        f"Learning-rate-control: loading file {path}\n"
    )


def test_str_names_type_data_and_error_key() -> None:
    control = make(learning_rate_control="newbob_multi_epoch", learning_rates={3: 0.5})
    assert str(control) == (
        "NewbobMultiEpoch(num_epochs=5, update_interval=5, relative_error_threshold=-0.01, "
        "relative_error_grow_threshold=-0.01), epoch data: 3: EpochData(learningRate=0.5, error={}), error key: None"
    )
    assert str(make(learning_rate_control="newbob", learning_rate_control_error_measure="dev_x")) == (
        "NewbobRelative(relative_error_threshold=-0.01), epoch data: , error key: dev_x"
    )
    assert repr(make(learning_rate_control="newbob_abs")) == "NewbobAbs(error_threshold=-0.01)"


# File


def test_file_format(tmp_path: Path) -> None:
    """Epochs ascending by number; items below 40 characters stay on one line."""
    path = tmp_path / "deep" / "lr"
    control = make(learning_rate_file=str(path))
    control.epoch_data = {10: EpochData(0.125, {"dev_score": 0.5}), 2: EpochData(0.25)}
    control.save()
    assert path.read_text() == (
        "{\n2: EpochData(learningRate=0.25, error={}),\n"
        "10: EpochData(learningRate=0.125, error={'dev_score': 0.5}),\n}\n"
    )


def test_file_with_meta_entries_and_scores_a_line_each(tmp_path: Path) -> None:
    path = tmp_path / "lr"
    control = make(learning_rate_file=str(path), learning_rates=[0.01, 0.005])
    control.set_epoch_error(1, {"dev_score": 0.7156151533126831, "dev_error": 0.48380565643310547})
    control.set_epoch_meta(1, {"effective_learning_rate": np.float64(0.01), "epoch_num_train_steps": np.int64(5)})
    control.save()
    assert path.read_text() == (
        "{\n"
        "1: EpochData(learningRate=0.01, error={\n"
        "':meta:effective_learning_rate': 0.01,\n"
        "':meta:epoch_num_train_steps': 5,\n"
        "'dev_error': 0.48380565643310547,\n"
        "'dev_score': 0.7156151533126831,\n"
        "}),\n"
        "2: EpochData(learningRate=0.005, error={}),\n"
        "}\n"
    )


def test_saved_then_loaded_equals_before(tmp_path: Path) -> None:
    path = str(tmp_path / "lr")
    control = make(learning_rate_file=path)
    control.set_epoch_error(1, {"dev_score": nan, "train_score": inf, "x": -inf, "y": np.float32(0.1), "z": -1.5})
    control.set_epoch_meta(1, {"host": "a'b\n", "distributed": {"size": 2}, "device": None, "l": [1, (2.5,)], "n": -3})
    control.save()
    text = Path(path).read_text()
    assert "'dev_score': float('nan')" in text and "'y': 0.10000000149011612" in text
    loaded = make(learning_rate_file=path)
    assert math.isnan(loaded.epoch_data[1].error.pop("dev_score"))
    assert loaded.epoch_data[1].error == {
        "train_score": inf, "x": -inf, "y": 0.10000000149011612, "z": -1.5,
    }  # fmt: skip
    assert loaded.epoch_data[1].meta == control.epoch_data[1].meta
    loaded.epoch_data[1].error["dev_score"] = nan
    loaded.save()
    assert Path(path).read_text() == text


@pytest.mark.parametrize(
    "text, rate, error, meta",
    [
        ("{1: EpochData(learningRate=0.5, error={})}", 0.5, {}, {}),
        ("\n\n {1 : EpochData( learningRate =1,error = {'a':2 , })\n}\n\n", 1.0, {"a": 2.0}, {}),
        ("{1: EpochData(learning_rate=np.float32(0.5), error=0.3)}", 0.5, {"old_format_score": 0.3}, {}),
        ("{1: EpochData(learningRate=1e-3, error={'a': inf, 'b': -inf})}", 0.001, {"a": inf, "b": -inf}, {}),
        ("{1: EpochData(learningRate=1.0, error={'a': float('inf')})}", 1.0, {"a": inf}, {}),
        ("{1: EpochData(learningRate=1.0, error={'a': np.float64(inf)})}", 1.0, {"a": inf}, {}),
        ("{1: EpochData(learningRate=1.0, error={}, meta={'a': 'x'})}", 1.0, {}, {"a": "x"}),
        ("{1: EpochData(learningRate=1.0, error={':meta:a': np.int64(3)})}", 1.0, {}, {"a": 3}),
        ("{1: EpochData(learningRate=1.0)}", 1.0, {}, {}),
    ],
)
def test_reads_what_other_versions_wrote(
    tmp_path: Path, text: str, rate: float, error: dict[str, float], meta: dict[str, Any]
) -> None:
    path = tmp_path / "lr"
    path.write_text(text)
    (data,) = make(learning_rate_file=str(path)).epoch_data.values()
    assert (data.learning_rate, data.error, data.meta) == (rate, error, meta)


@pytest.mark.parametrize("number", ["nan", "float('nan')", "np.float32(nan)", 'float("nan")'])
def test_reads_nan(tmp_path: Path, number: str) -> None:
    path = tmp_path / "lr"
    path.write_text("{1: EpochData(learningRate=1.0, error={'a': %s})}" % number)
    assert math.isnan(make(learning_rate_file=str(path)).epoch_data[1].error["a"])


@pytest.mark.parametrize(
    "content, problem",
    [
        ("", "it is empty, expected {epoch: EpochData(..), ..}"),
        (
            "{\n1: EpochData(learningRate=0.1, error={\n'dev_sc",
            "line 3: unterminated string literal (detected at line 3)",
        ),
        ("{\n1: EpochData(learningRate=0.1, error={\n", "line 2: '{' was never closed"),
        ("[1]", "line 1: expected {epoch: EpochData(..), ..}, found '[1]'"),
        ("{'a': 1}", "line 1: expected an epoch number, found \"'a'\""),
        ("\n{\n1: Foo()}", "line 3: expected EpochData(learningRate=.., error=..), found 'Foo()'"),
        (
            "{1: EpochData(error={})}",
            "line 1: expected EpochData(learningRate=.., error=..), found 'EpochData(error={})'",
        ),
        (
            "{1: EpochData(learningRate=1.0, x=2)}",
            "line 1: expected EpochData(learningRate=.., error=..), found 'EpochData(learningRate=1.0, x=2)'",
        ),
        ("{1: EpochData(learningRate=None)}", "line 1: expected a number, found 'None'"),
        ("{1: EpochData(learningRate=1., error={\n'a': 'x'})}", "line 2: expected a number, found \"'x'\""),
        ("{1: EpochData(learningRate=1., error={2: 1.})}", "line 1: expected a name in quotes, found '2'"),
        (
            "{1: EpochData(learningRate=open('x'))}",
            "line 1: expected a number, a text, or another plain value, found \"open('x')\"",
        ),
        ("{1: EpochData(learningRate=float('x'))}", "line 1: expected a number, found \"float('x')\""),
        (b"\xff\xfe", "invalid start byte at byte 0, expected text in UTF-8"),
    ],
)
def test_damaged_file_is_named_with_the_line_and_stays(tmp_path: Path, content: str | bytes, problem: str) -> None:
    path = tmp_path / "lr"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError) as info:
        make(learning_rate_file=str(path))
    assert str(info.value) == (
        f"Learning-rate file {str(path)!r} is damaged: {problem}.\n"
        "It holds the learning rates and scores of the finished epochs, so nothing was changed.\n"
        "Restore it from a copy; or move it away, then training goes on without that history."
    )
    assert path.read_bytes() == (content if isinstance(content, bytes) else content.encode())


@pytest.mark.parametrize("content", ["{1: EpochData(\0)}", "(" * 100_000, "-" * 100_000 + "1"])
def test_absurd_content_is_a_damaged_file_too(tmp_path: Path, content: str) -> None:
    path = tmp_path / "lr"
    path.write_text(content)
    with pytest.raises(UserError, match="is damaged"):
        make(learning_rate_file=str(path))


def test_nothing_in_the_file_is_run(tmp_path: Path) -> None:
    path, mark = tmp_path / "lr", tmp_path / "mark"
    path.write_text("{1: EpochData(learningRate=1.0, error={'a': open(%r, 'w').write('x')})}" % str(mark))
    with pytest.raises(UserError):
        make(learning_rate_file=str(path))
    assert not mark.exists()


def test_unreadable_file_is_a_user_error(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="^Cannot read the learning-rate file .*: Is a directory"):
        make(learning_rate_file=str(tmp_path))


def test_file_that_cannot_be_written_is_a_user_error(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("")
    with pytest.raises(UserError, match="^Cannot save learning-rate file '.*/f/lr': .*(exists|Not a directory)"):
        make(learning_rate_file=str(tmp_path / "f" / "lr")).save()


def test_without_file_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    control = make()
    control.set_epoch_error(1, {"dev_score": 1.0})
    control.save()
    assert os.listdir(tmp_path) == []


def test_killed_while_saving_the_old_history_stays(tmp_path: Path) -> None:
    """The child is killed when the new content is half on the disk."""
    path = tmp_path / "lr"
    control = make(learning_rate_file=str(path))
    control.set_epoch_error(1, {"dev_score": 1.0})
    control.save()
    old = path.read_bytes()
    code = (
        "import os, sys, time\n"
        "from returnn.config import Config\n"
        "from returnn.learning_rate_control import load_learning_rate_control_from_config\n"
        "config = Config(); config.update({'learning_rate_file': sys.argv[1]})\n"
        "control = load_learning_rate_control_from_config(config)\n"
        "for epoch in range(2, 1000): control.set_epoch_error(epoch, {'dev_score': 1.0})\n"
        "def fsync(fd):\n"
        "    os.ftruncate(fd, os.fstat(fd).st_size // 2); print('half', flush=True); time.sleep(100)\n"
        "os.fsync = fsync\n"
        "control.save()\n"
    )
    proc = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE, text=True)
    assert proc.stdout and proc.stdout.readline() == "half\n"
    os.kill(proc.pid, signal.SIGKILL)
    proc.communicate(timeout=60)
    assert len(os.listdir(tmp_path)) == 2  # a temporary file is left
    assert path.read_bytes() == old
    assert make(learning_rate_file=str(path)).epoch_data[1].error == {"dev_score": 1.0}


# Resume


def _train(path: Path, epochs: range, *, killed_in: int | None = None) -> list[float]:
    """Learning rates of the epochs; in ``killed_in`` the process ends between the train and the dev score."""
    control, rates = make(learning_rate_file=str(path), learning_rate_control="newbob"), []
    for epoch in epochs:
        rates.append(control.get_learning_rate_for_epoch(epoch))
        control.forget_epoch_scores(epoch)
        for dataset in ("train", "dev"):
            control.set_epoch_error(epoch, {f"{dataset}_score": errors_slowing[epoch - 1]})
            control.save()
            if epoch == killed_in:
                return rates
    return rates


def test_epoch_trained_again_after_a_kill_gets_the_same_rate_and_file(tmp_path: Path) -> None:
    """Killed after the history of epoch 4 was saved, before its model was: it goes on from the model of epoch 3."""
    unbroken = _train(tmp_path / "unbroken", range(1, 7))
    killed = _train(tmp_path / "killed", range(1, 5), killed_in=4)
    resumed = _train(tmp_path / "killed", range(4, 7))
    assert killed == unbroken[:4] and resumed == unbroken[3:]
    assert (tmp_path / "killed").read_text() == (tmp_path / "unbroken").read_text()


def test_scores_of_a_former_try_are_forgotten_but_the_rate_stays() -> None:
    control = make(learning_rates=[0.3])
    control.set_epoch_error(1, {"dev_score": 1.0})
    control.set_epoch_meta(1, {"a": 1})
    control.forget_epoch_scores(1)
    control.forget_epoch_scores(2)
    assert repr(control.epoch_data) == "{1: EpochData(learningRate=0.3, error={})}"


def test_rate_in_the_file_goes_before_the_option(tmp_path: Path) -> None:
    path = str(tmp_path / "lr")
    make(learning_rate_file=path, learning_rates=[0.3, 0.2]).save()
    control = make(learning_rate_file=path, learning_rates=[0.9, 0.9, 0.9])
    assert [control.get_learning_rate_for_epoch(e) for e in (1, 2, 3)] == [0.3, 0.2, 0.9]
