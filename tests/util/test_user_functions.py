"""Where in the functions of a config a failure happened."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from returnn.util.errors import ConfigError, UserError
from returnn.util.user_functions import call_with_spare_kwarg, failure_in_users_code, failures_in_users_code

_config = """
def inner(x):
    return 1 / x

def outer(x):
    return inner(x)

def library(text):
    return json.loads(text)

def program(func):
    return call(func, what="it", x=0)
"""


@pytest.fixture
def functions(tmp_path: Path) -> dict[str, Any]:
    """Those of a config file, in a folder of the name of this program."""
    file = tmp_path / "returnn" / "my.config"
    file.parent.mkdir()
    file.write_text(_config)
    namespace = {"json": json, "call": call_with_spare_kwarg, "file": str(file)}
    exec(compile(_config, str(file), "exec"), namespace)
    return namespace


def _failure(function: Callable[..., Any], *args: Any) -> list[str]:
    with pytest.raises(ConfigError) as caught, failures_in_users_code("layer 'a'"):
        function(*args)
    return str(caught.value).splitlines()


def _own(lines: list[str]) -> list[str]:
    """Without this test itself, which is code outside of the program, too."""
    return [lines[0], *lines[lines.index("    function(*args)") + 1 :]]


def test_each_call_of_users_is_shown(functions: dict[str, Any]) -> None:
    """outer (line 6) calls inner, which fails in line 3."""
    assert _own(_failure(functions["outer"], 0)) == [
        "layer 'a': ZeroDivisionError: division by zero",
        "  %s, line 6, in outer" % functions["file"],
        "    return inner(x)",
        "  %s, line 3, in inner" % functions["file"],
        "    return 1 / x",
    ]


def test_the_inside_of_libraries_is_not_shown(functions: dict[str, Any]) -> None:
    assert _own(_failure(functions["library"], "{"))[1:] == [
        "  %s, line 9, in library" % functions["file"],
        "    return json.loads(text)",
    ]


def test_what_they_called_of_this_program_is_the_last_line(functions: dict[str, Any]) -> None:
    """If inner is called again by our function."""
    lines = _own(_failure(functions["program"], lambda **_: [][1]))
    assert lines[0] == "layer 'a': IndexError: list index out of range"
    assert lines[1] == "  %s, line 12, in program" % functions["file"]
    assert "<lambda>" in lines[-2]
    lines = _own(_failure(functions["program"], 3))
    assert lines[0] == "layer 'a': TypeError: 'int' object is not callable"
    assert lines[-1].startswith("  %s, line " % call_with_spare_kwarg.__code__.co_filename)
    assert lines[-1].endswith(", in call_with_spare_kwarg")


def test_mistakes_that_have_a_message_keep_it() -> None:
    def fail() -> None:
        raise UserError("told already")

    with pytest.raises(UserError, match="^told already$"), failures_in_users_code("layer 'a'"):
        fail()


def test_without_code_of_users_it_is_a_fault_of_the_program() -> None:
    """An exception that was never raised has no frames at all."""
    assert failure_in_users_code(ValueError("x")) is None
