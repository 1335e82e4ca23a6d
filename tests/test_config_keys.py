"""Typing errors in keys, and values that cannot be meant."""

from __future__ import annotations

import io

import pytest

from returnn.config import Config
from returnn.config_keys import EXPRESSION_KEYS, KNOWN_KEYS, check_values, edit_distance, misspelled_keys
from returnn.util.errors import ConfigError


def load(text: str) -> Config:
    config = Config()
    config.load_file(io.StringIO("#!rnn.py\n" + text))
    return config


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("optimizer_epsiloon", "optimizer_epsilon"),
        ("trauncation", "truncation"),
        ("newbob_relative_error_threshold_div_by_old", "newbob_relative_error_div_by_old"),
        ("lerning_rate", "learning_rate"),
        ("gradient_cilp", "gradient_clip"),
        ("num_epoch", "num_epochs"),
        ("netwrok", "network"),
    ],
)
def test_misspelled_keys_are_found(wrong: str, right: str) -> None:
    assert misspelled_keys(load(f"{wrong} = 1\n")) == {wrong: right}


def test_own_variables_are_no_misspellings() -> None:
    """Other words, variants with a number, short names, and whatever the config itself reads."""
    config = load(
        "EpochSplit = 6\nAttNumHeads = 1\nLstmDim = 512\ntime_tag = None\ntrain2 = 1\nbatch_size_2 = 3\ntrains = 1\n"
        "import os\n_modle = 1\nevals = 2\nmax_seq = 5\nmax_seqs = max_seq\n"
        "def get_networks(): pass\nnetwork = get_networks()\nlearning_rate_warmup = 3\n"
    )
    assert misspelled_keys(config) == {}


def test_untyped_keys_are_checked_too() -> None:
    config = Config()
    config.add_line("save_intervall", "2")
    assert misspelled_keys(config) == {"save_intervall": "save_interval"}


def test_tuple_by_a_stray_comma_is_rejected() -> None:
    with pytest.raises(ConfigError) as info:
        check_values(load("cleanup_old_models = ({'keep': [3]},)\n"))
    assert str(info.value) == (
        "config key 'cleanup_old_models': must be a bool, or a dict with keep, keep_best_n, keep_last_n,"
        " but is tuple: ({'keep': [3]},). A comma behind a value makes a tuple of it: remove the comma."
    )


def test_all_wrong_values_are_named_at_once() -> None:
    with pytest.raises(ConfigError) as info:
        check_values(load("model = 3\nnum_epochs = '5'\nnetwork = []\nsave_interval = None\n"))
    keys = [line.split("'")[1] for line in str(info.value).splitlines()]
    assert keys == ["model", "network", "num_epochs"]


def test_usual_values_pass() -> None:
    check_values(load("cleanup_old_models = True\nnetwork = {}\noptimizer = 'adam'\nmodel = None\n"))


def test_edit_distance() -> None:
    """One replacement; one swap; three insertions; swap and deletion."""
    assert [edit_distance(a, b) for a, b in [("ab", "ac"), ("ab", "ba"), ("", "abc"), ("abcd", "bac")]] == [1, 1, 3, 2]


def test_expression_keys_are_known() -> None:
    assert EXPRESSION_KEYS <= KNOWN_KEYS
