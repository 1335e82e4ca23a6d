"""Typing errors in keys, and values that cannot be meant."""

from __future__ import annotations

import ast
import collections
import io
import re

import pytest

from returnn.config import Config
from returnn.config_keys import (
    EXPRESSION_KEYS,
    KNOWN_KEYS,
    NOT_YET,
    READ_KEYS,
    WITHOUT_EFFECT,
    NotYet,
    check_not_yet,
    check_values,
    edit_distance,
    misspelled_keys,
)
from returnn.util.errors import ConfigError
from tests.program import root


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
        check_values(load("model = 3\nnum_epochs = '5'\nnetwork = ()\nsave_interval = None\n"))
    keys = [line.split("'")[1] for line in str(info.value).splitlines()]
    assert keys == ["model", "network", "num_epochs"]


def test_usual_values_pass() -> None:
    check_values(load("cleanup_old_models = True\nnetwork = {}\noptimizer = 'adam'\nmodel = None\n"))
    check_values(load("network = [{'class': 'softmax'}]\n"))


def test_edit_distance() -> None:
    """One replacement; one swap; three insertions; swap and deletion."""
    assert [edit_distance(a, b) for a, b in [("ab", "ac"), ("ab", "ba"), ("", "abc"), ("abcd", "bac")]] == [1, 1, 3, 2]


def test_expression_keys_are_known() -> None:
    assert EXPRESSION_KEYS <= KNOWN_KEYS


# What is not there yet


def _string_literals() -> set[str]:
    """Of the program, without its list of keys."""
    files = [path for path in (root / "returnn").rglob("*.py") if path.name != "config_keys.py"]
    nodes = (node for path in files for node in ast.walk(ast.parse(path.read_text())))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


def _gradient_options() -> set[str]:
    """Read from the config by the names of the fields of this class."""
    tree = ast.parse((root / "returnn" / "tf" / "updater" / "gradients.py").read_text())
    (cls,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "GradientOptions")
    return {node.target.id for node in cls.body if isinstance(node, ast.AnnAssign)}


def test_known_keys_are_read_or_said_not_to_be() -> None:
    """A key is read somewhere, or never has an effect, or is not there yet; one of the three."""
    assert sorted(READ_KEYS & NOT_YET.keys()) == sorted(WITHOUT_EFFECT & (READ_KEYS | NOT_YET.keys())) == []
    read = _string_literals() | _gradient_options()
    read |= {f"newbob_{name}" for name in read}  # the program puts this prefix before some of them
    assert sorted(READ_KEYS - read) == []


def test_no_key_stands_in_two_rows() -> None:
    text = (root / "returnn" / "config_keys.py").read_text().split("class NotYet")[0]
    words = re.findall(r"^ {4,8}(\w[\w ]*)$", text, flags=re.MULTILINE)
    counts = collections.Counter(word for line in words for word in line.split())
    assert len(counts) == len(KNOWN_KEYS) and [key for key, count in counts.items() if count > 1] == []


def test_what_would_change_results_is_an_error() -> None:
    config = load("pretrain = 'default'\nuse_last_best_model = {'modulo': 3}\ndef get_network(**kwargs): pass\n")
    with pytest.raises(ConfigError) as info:
        check_not_yet(config)
    lines = str(info.value).splitlines()
    assert sorted(line.split(" is not supported yet")[0] for line in lines) == [
        "option get_network",
        "option pretrain",
        "option use_last_best_model",
    ]
    assert all("remove it from the config" in line for line in lines)


@pytest.mark.parametrize("key", [key for key, kind in NOT_YET.items() if kind is NotYet.ERROR])
def test_switched_off_is_as_not_there(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    for value in (None, False, 0, {}, "", ()):
        check_not_yet(Config({key: value}))
    for text in ("None", "0", "false", "{}"):
        config = Config({key: True})
        config.add_line(key, text)
        check_not_yet(config)
    assert "not supported" not in capsys.readouterr().out
    with pytest.raises(ConfigError, match=f"^option {key} is not supported yet"):
        check_not_yet(Config({key: 1}))


def test_what_only_watches_is_a_warning(capsys: pytest.CaptureFixture[str]) -> None:
    """And the keys of old configs, of PyTorch, of other tasks, and details of what is not used are not mentioned."""
    check_not_yet(
        load(
            "tf_log_memory_usage = True\nstore_tf_profile = False\nupdate_on_device = True\ntruncation = -1\n"
            "search_output_layer = 'decision'\npretrain_repetitions = 3\nuse_learning_rate_control_always = True\n"
        )
    )
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("WARNING: option tf_log_memory_usage is not supported yet (version ")
    assert line.endswith("), it has no effect.")
