"""Functions, modules and arrays from one process to another."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.config import Config, global_config_ctx
from returnn.util import task_system

_factor = 3


def times_factor(x: int) -> int:
    return x * _factor


def _copied(obj: Any) -> Any:
    return task_system.loads(task_system.dumps(obj))


def test_function_of_a_module_is_sent_by_name() -> None:
    assert _copied(times_factor) is times_factor


def test_lambda_uses_the_globals_of_its_module(monkeypatch: pytest.MonkeyPatch) -> None:
    func = _copied(lambda x: x + _factor)
    assert func(1) == 4
    monkeypatch.setitem(globals(), "_factor", 10)
    assert func(1) == 11


def test_closure_with_defaults_and_itself() -> None:
    """1 + 2 + 3 + 4 in steps of the default, by a function that refers to itself."""

    def sum_up_to(n: int, step: int = 1, *, start: int = 0) -> int:
        return start if n <= 0 else n + sum_up_to(n - step, start=start)

    sum_up_to.mark = "kept"  # type: ignore[attr-defined]
    func = _copied(sum_up_to)
    assert func is not sum_up_to
    assert (func(4), func(4, start=5), func.mark, func.__name__) == (10, 15, "kept", "sum_up_to")


def test_module_and_array() -> None:
    module, array = _copied((math, numpy.arange(100_000)))
    assert module is math
    numpy.testing.assert_array_equal(array, numpy.arange(100_000))


def test_lambda_of_a_config_in_another_process(tmp_path: Path) -> None:
    """It sees the other names of the config there: 2 * 21."""
    config = Config()
    path = tmp_path / "my.config"
    path.write_text("#!rnn.py\nfactor = 21\ndef double(x): return 2 * x\nfuncs = [lambda: double(factor), double]\n")
    config.load_file(str(path))
    with global_config_ctx(config):
        payload = [task_system.dumps(config), task_system.dumps(config.typed_dict["funcs"])]
    code = (
        "from returnn.util import task_system\n"
        f"config, funcs = [task_system.loads(x) for x in {payload!r}]\n"
        "print(funcs[0](), funcs[1](4), funcs[1] is config.typed_dict['double'])\n"
    )
    root = Path(__file__).parent.parent.parent
    result = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert result.stdout == "42 8 True\n", result.stderr


def test_copy_of_a_view_owns_its_memory() -> None:
    array = numpy.arange(6)
    view = array[2:4]
    copy = task_system.numpy_copy_and_set_unused(view)
    task_system.numpy_set_unused(view)
    array[:] = 0
    assert copy.tolist() == [2, 3]
    assert task_system.numpy_copy_and_set_unused(array) is array
