"""Config: kinds of files, the accessors, overrides, errors, pickling."""

from __future__ import annotations

import io
import os
import pickle
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from returnn import config as config_module
from returnn.config import Config, get_global_config, global_config_ctx, set_global_config
from returnn.log import log
from returnn.util.errors import ConfigError, UserError


@pytest.fixture(autouse=True)
def _no_global_config() -> Iterator[None]:
    with global_config_ctx(None):
        yield


def make(text: str, *lines: tuple[str, str]) -> Config:
    config = Config()
    config.load_file(io.StringIO(textwrap.dedent(text)))
    for key, value in lines:
        config.add_line(key, value)
    return config


# Kinds of files


def test_line_config() -> None:
    """Spec check 1: values are text, split at commas; an index picks a part."""
    config = make("num_inputs 3\nhidden_type forward,lstm\n")
    assert config.int("num_inputs", -1) == 3
    assert config.value("hidden_type", "x") == "forward,lstm"
    assert config.value("hidden_type", "x", index=1) == "lstm"
    assert not config.is_typed("hidden_type") and config.has("hidden_type")


def test_line_config_comments_and_blanks() -> None:
    """# starts a comment anywhere; a value keeps its inner blanks; a leading comma does not split."""
    config = make("a  1 2  # three\n# b 4\n\nc x # y\nd ,e\n")
    assert config.dict == {"a": ["1 2"], "c": ["x"], "d": [",e"]}


def test_json_config_is_typed_and_may_have_comments() -> None:
    """Spec check 5."""
    config = make('{"l": ["a", 1], "n": null, // here\n "u": "http://host"}')
    assert config.value("l", None) == "a,1"
    assert config.value("n", "D") == "D"
    assert config.int("n", 3) is None
    assert config.list("n", [1]) == [1]
    assert config.value("u", None) == "http://host"


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("a.config", "#!rnn.py\nb 1", "py"),
        ("a.py", "", "py"),
        ("a.config", "\n {}", "js"),
        ("a.config", "a 1", "txt"),
        ("a.config", "task = 'train'\n", "py"),
        ("a.config", "from x import y\n", "py"),
        ("a.config", "# only a comment\n", "txt"),
        ("a.config", "a = = 1", "py"),  # so that the message is about Python
    ],
)
def test_file_kind_follows_from_the_content(tmp_path: Path, name: str, text: str, kind: str) -> None:
    (tmp_path / name).write_text(text)
    assert Config.get_config_file_type(str(tmp_path / name)) == kind


def test_python_config_runs_in_typed_dict() -> None:
    """Spec check 2: the config asks for an override while it runs, and its functions see later changes."""
    config = Config()
    config.add_line("task", "search")
    config.load_file(io.StringIO('#!rnn.py\ntask = config.value("task", "train")\ndef f(): return task\n'))
    config.add_line("task", "search")
    assert config.value("task", None) == "search" and config.is_typed("task")
    assert config.typed_dict["f"]() == "search"
    config.set("task", "eval")
    assert config.typed_dict["f"]() == "eval"


def test_python_config_preset_names(tmp_path: Path) -> None:
    path = tmp_path / "x.config"
    path.write_text("#!rnn.py\nnames = (config, __file__, __name__, __package__)\n")
    config = Config()
    config.load_file(str(path))
    assert config.typed_dict["names"] == (config, str(path), "__returnn_config__", "returnn")
    assert config.files == [str(path)]


def test_future_flags_of_the_program_do_not_reach_the_config() -> None:
    """With our `from __future__ import annotations` in effect, the annotation would be the text 'int'."""
    config = make("#!rnn.py\ndef f(x: int): pass\nkind = f.__annotations__['x']\n")
    assert config.typed_dict["kind"] is int


def test_several_files_share_one_namespace(tmp_path: Path) -> None:
    config = make("#!rnn.py\na = 1\n")
    config.load_file(io.StringIO("#!rnn.py\nb = a + 1\n"))
    assert config.int("b", None) == 2


def test_include_loads_files_at_once(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_text(f"#!rnn.py\n{name} = 1\n")
    config = Config()
    config.add_line("include", f"{tmp_path}/a,{tmp_path}/b")
    assert config.typed_dict["a"] == config.typed_dict["b"] == 1
    assert not config.has("include")


def test_file_of_a_package_is_imported_as_its_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Relative imports work, and no `config` is there."""
    monkeypatch.setattr(sys, "path", sys.path[:])
    package = tmp_path / "cfg_pkg_for_test"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "base.py").write_text("x = 5\n")
    (package / "train.py").write_text("from .base import x\ny = x + 1\nhas_config = 'config' in globals()\n")
    config = Config()
    config.load_file(str(package / "train.py"))
    assert (config.typed_dict["x"], config.typed_dict["y"], config.typed_dict["has_config"]) == (5, 6, False)
    assert str(tmp_path) in sys.path


# Overrides


@pytest.mark.parametrize(
    ("before", "text", "after"),
    [
        ({"bpe": 75}, "0", 0),
        (1, "7*2", 14),
        ((1, 2), "3,4", (3, 4)),
        ("0.1", "0.3", "0.3"),
        (None, "{'k': 2}", {"k": 2}),
        (1, "None", None),
        (0.5, "float('inf')", float("inf")),
        ([1], "[i * 2 for i in range(3)]", [0, 2, 4]),
    ],
)
def test_override_of_a_typed_value_is_evaluated(before: Any, text: str, after: Any) -> None:
    """Spec check 3, and more of its table."""
    config = Config({"key": before})
    config.add_line("key", text)
    assert config.typed_dict["key"] == after and type(config.typed_dict["key"]) is type(after)


@pytest.mark.parametrize("text", ["word", "foo bar", "max", "config", "os.getcwd()", "1/0", "__import__('os')"])
def test_word_over_a_typed_value_stays_text(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Names of ours or of Python are not evaluated, nor is what has no value."""
    config = Config({"key": None})
    config.add_line("key", text)
    assert config.typed_dict["key"] == text
    message = "WARNING: can't evaluate config param 'key' to previous type: <class 'NoneType'>. Keeping as string.\n"
    assert capsys.readouterr().out == message


def test_untyped_override_replaces_the_one_before() -> None:
    config = Config()
    config.parse_cmd_args(["++x", "1,2", "++x", "3"])
    assert config.dict == {"x": ["3"]}


def test_keys_that_are_no_text_are_evaluated_even_if_no_config_sets_them() -> None:
    """Otherwise the dict would be cut at its commas, and never read."""
    config = Config()
    config.parse_cmd_args(["++cleanup_old_models", "{'keep_last_n': 1, 'keep': [3]}", "++learning_rate_decay", "0.7"])
    config.parse_cmd_args(["++optimizer", "adam", "++train", "a.hdf,b.hdf"])
    assert config.typed_dict == {"cleanup_old_models": {"keep_last_n": 1, "keep": [3]}, "learning_rate_decay": 0.7}
    assert config.value("optimizer", None) == "adam" and config.value("train", None) == "a.hdf,b.hdf"


def test_command_line() -> None:
    """Spec check 4: +-0.1 is -0.1; options set keys of their long names, with two exceptions."""
    config = Config()
    config.parse_cmd_args(["++neg", "+-0.1", "++fl", "1.5,2.5", "++k", "1", "++p", "1:2", "++n", "-3"])
    assert config.float("neg", None) == -0.1
    assert config.float_list("fl") == [1.5, 2.5]
    assert config.int_pair("p") == (1, 2)
    assert config.int("n", None) == -3
    assert config.typed_value("k") is None and config.opt_typed_value("k") == "1"
    config.parse_cmd_args(["-x", "nop", "--batch_s", "5", "-v", "4", "-z", "7", "-n", "3"])
    assert [config.value(key, None) for key in ("task", "batch_size", "log_verbosity", "max_seqs", "num_epochs")] == [
        "nop",
        "5",
        "4",
        "7",
        "3",
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["++q"], "expect (++key, value) config tuples in remaining args: ['++q']"),
        (["++q", "--task", "x"], "expect (++key, value) config tuples in remaining args: ['++q', '--task', 'x']"),
        (["q", "1"], "expect key prefixed with '++' in ('q', '1')"),
        (["-x", "nop", "q"], "expect key prefixed with '++' in ('q',)"),
    ],
)
def test_command_line_with_loose_ends(args: list[str], message: str) -> None:
    with pytest.raises(AssertionError) as info:
        Config().parse_cmd_args(args)
    assert str(info.value).startswith(message) and isinstance(info.value, UserError)


# Accessors


@pytest.mark.parametrize(("text", "value"), [("yes", True), ("OFF", False), ("2", True), ("0", False), ("", None)])
def test_untyped_bool(text: str, value: bool | None) -> None:
    """Spec check 4."""
    config = make("", ("key", text))
    assert config.bool("key", None) is value
    assert config.bool_or_other("key", None) is value


def test_untyped_bool_of_a_word() -> None:
    config = make("", ("key", "abc"))
    with pytest.raises(ValueError, match="config key 'key': expected a bool.*to_bool cannot handle 'abc'"):
        config.bool("key", None)
    assert config.bool_or_other("key") == "abc"


_error = object()
_typed_results = {
    # value -> value(), int(), float(), bool(), is_true(), bool_or_other(), list(), int_list(), float_list(), int_pair()
    None: ("D", None, None, None, False, None, ["D"], [9], [9.0], (0, 0)),
    3: ("3", 3, 3, True, True, 3, [3], [3], [3], (3, 3)),
    True: ("True", True, True, True, True, True, [True], [True], [True], (True, True)),
    2.5: ("2.5", _error, 2.5, _error, True, 2.5, [2.5], _error, [2.5], _error),
    "inf": ("inf", _error, float("inf"), _error, True, "inf", ["inf"], _error, _error, _error),
    "": ("", _error, _error, _error, False, "", [""], _error, _error, _error),
    (4, 5): ("4,5", 4, 4, True, True, 4, [4, 5], [4, 5], [4, 5], (4, 5)),
    ("1", "2"): ("1,2", _error, 1.0, _error, True, "1", ["1", "2"], _error, _error, _error),
    (None,): ("None", None, None, None, True, None, [None], _error, _error, _error),
}


@pytest.mark.parametrize("value", _typed_results)
def test_accessors_of_typed_values(value: Any) -> None:
    config = Config({"key": value})
    calls = [
        lambda: config.value("key", "D"),
        lambda: config.int("key", 7),
        lambda: config.float("key", 7.0),
        lambda: config.bool("key", "D"),
        lambda: config.is_true("key"),
        lambda: config.bool_or_other("key", "D"),
        lambda: config.list("key", ["D"]),
        lambda: config.int_list("key", [9]),
        lambda: config.float_list("key", [9.0]),
        lambda: config.int_pair("key"),
    ]
    for call, expected in zip(calls, _typed_results[value], strict=True):
        if expected is _error:
            with pytest.raises(ConfigError, match="config key 'key': "):
                call()
        else:
            assert call() == expected and type(call()) is type(expected)


def test_accessors_of_missing_keys() -> None:
    config = Config()
    assert config.value("x", "D") == config.bool("x", "D") == config.typed_value("x", "D") == "D"
    assert config.int("x", 7) == config.float("x", 7) == 7
    assert config.list("x") == config.int_list("x") == config.float_list("x") == []
    assert config.int_pair("x") == (0, 0)
    assert not config.is_true("x") and config.is_true("x", True) and not config.has("x")


def test_list_default_is_not_shared() -> None:
    config = Config()
    config.list("x").append(1)
    assert config.list("x") == []


def test_typed_value_by_index_and_type() -> None:
    config = Config({"l": [1, "a"], "s": "str"})
    assert config.typed_value("l", index=1) == "a" and config.typed_value("s", index=0) == "str"
    assert config.value("l", None, index=1) == "a" and config.value("l", None, list_join_str=":") == "1:a"
    assert config.is_of_type("l", list) and not config.is_of_type("l", (str, dict)) and not config.is_of_type("x", list)
    assert config.get_of_type("s", str) == "str" and config.get_of_type("l", str, "D") == "D"


def test_typed_value_wins_over_untyped() -> None:
    config = make("", ("key", "1"))
    config.set("key", 2)
    assert config.int("key", None) == 2 and config.value("key", None) == "2"
    assert config.list("key") == config.int_list("key") == [2]


# Mistakes


def message_of(text: str) -> str:
    with pytest.raises(ConfigError) as info:
        make(text)
    return str(info.value)


def test_missing_file_names_neighbours(tmp_path: Path) -> None:
    (tmp_path / "train.config").write_text("")
    with pytest.raises(AssertionError) as info:
        Config().load_file(str(tmp_path / "tarin.config"))
    message = str(info.value)
    assert message.startswith(f"config file not found: '{tmp_path}/tarin.config'")
    assert message.endswith('Did you mean "train.config"?')


def test_syntax_error_shows_line_and_caret() -> None:
    """The caret stands below the second equals sign."""
    assert message_of("#!rnn.py\nif True:\n    batch_size = = 3\n") == (
        "<config string>, line 3: SyntaxError: invalid syntax\n"  #
        "    batch_size = = 3\n"
        "                 ^"
    )


def test_exception_of_a_config_shows_its_lines() -> None:
    message = message_of("#!rnn.py\ndef make(n):\n    return n / 0\n\nnet = make(3)\n")
    assert message == (
        "<config string>, line 3: ZeroDivisionError: division by zero\n"
        "  <config string>, line 5\n"
        "    net = make(3)\n"
        "  <config string>, line 3, in make\n"
        "    return n / 0"
    )


def test_users_mistake_inside_of_a_config_shows_its_line() -> None:
    message = message_of('#!rnn.py\nx = {"a": 1}\ny = config.int("x", None)\n')
    assert message == (
        "<config string>, line 3: config key 'x': expected an int, got {'a': 1} (dict)\n    y = config.int(\"x\", None)"
    )


def test_json_error_shows_line_and_caret() -> None:
    assert message_of('{"a": 1, // c\n "b": [1,2}\n') == (
        "<config string>, line 2: looks like JSON, but is not valid: Expecting ',' delimiter\n"
        '    "b": [1,2}\n'
        "             ^"
    )


def test_line_without_value() -> None:
    message = message_of("task nop\nbatch_size\n")
    assert message.startswith("<config string>, line 2: unable to parse config line: ['batch_size']\n")


def test_folder_and_binary_file_as_config(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigError, match="Is a directory"):
        Config().load_file(str(tmp_path))
    with pytest.raises(ConfigError, match="is no UTF-8 text"):
        Config().load_file(str(tmp_path / "x"))


# Global config, pickling


def test_global_config() -> None:
    with pytest.raises(Exception, match="No global config found."):
        get_global_config()
    assert get_global_config(raise_exception=False) is None
    assert get_global_config(return_empty_if_none=True).typed_dict == {}
    assert get_global_config(raise_exception=False) is None
    config = get_global_config(auto_create=True)
    assert get_global_config() is config
    with global_config_ctx(Config()) as other:
        assert get_global_config() is other
    assert get_global_config() is config


def test_functions_and_classes_of_a_config_pickle_by_reference() -> None:
    config = make("#!rnn.py\ndef f(): return 42\nclass C:\n  pass\n")
    set_global_config(config)
    assert pickle.loads(pickle.dumps(config.typed_dict["f"])) is config.typed_dict["f"]
    assert type(pickle.loads(pickle.dumps(config.typed_dict["C"]()))) is config.typed_dict["C"]
    with pytest.raises(AttributeError, match="the global config has no such name"):
        sys.modules["__returnn_config__"].g  # noqa: B018
    set_global_config(None)
    with pytest.raises(AttributeError, match="there is no global config"):
        sys.modules["__returnn_config__"].f  # noqa: B018


def test_config_and_its_functions_in_another_process(tmp_path: Path) -> None:
    """The config file is gone by then. The override and the value set later are the ones that count."""
    path = tmp_path / "x.config"
    path.write_text(
        "#!rnn.py\nfactor = config.int('factor', 1)\nseen = factor\ndef f(x): return x * factor\n"
        "ops = {'g': lambda x: x + offset}\noffset = 1\n"
    )
    config = Config({"given": 7})
    set_global_config(config)
    config.add_line("factor", "3")
    config.load_file(str(path))
    config.add_line("factor", "3")
    config.set("offset", 10)
    config.typed_dict["train"] = {"map_seq": config.typed_dict["f"]}
    path.unlink()
    (tmp_path / "state").write_bytes(pickle.dumps((config, config.typed_dict["f"])))
    code = (
        "import pickle, sys\n"
        "config, f = pickle.load(open('state', 'rb'))\n"
        "from returnn.config import get_global_config\n"
        "assert get_global_config() is config\n"
        "assert f is config.typed_dict['f'] is config.typed_dict['train']['map_seq']\n"
        "print(f(5), config.int('seen', 0), config.typed_dict['ops']['g'](1), config.int('given', 0))\n"
    )
    env = {**os.environ, "PYTHONPATH": str(Path(config_module.__file__).parent.parent)}
    # The module with Config must be there before pickle asks for the functions; pickle itself imports it.
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=60
    )
    assert result.stderr == "" and result.stdout == "15 3 11 7\n"


def test_pickling_names_the_key_that_cannot_be_sent() -> None:
    config = Config()
    config.load_file(io.StringIO("#!rnn.py\n"))
    config.set("bad", lambda: 1)
    with pytest.raises(pickle.PicklingError, match="config key 'bad'"):
        pickle.dumps(config)


def test_warnings_of_overrides_go_to_v1(capsys: pytest.CaptureFixture[str]) -> None:
    print("visible", file=log.v1)
    assert capsys.readouterr().out == "visible\n"
