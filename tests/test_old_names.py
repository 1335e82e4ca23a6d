"""Old flat module names."""

from __future__ import annotations

import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

from returnn._old_names import OLD_NAMES

_root = Path(__file__).parent.parent


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # its package
        return False


@pytest.mark.parametrize("old", [name for name in sorted(OLD_NAMES) if _exists("returnn." + OLD_NAMES[name])])
def test_old_name_is_the_new_module(old: str) -> None:
    """Both bare and below the package. Bare `rnn` and `better_exchook` are real modules where tests run."""
    new = importlib.import_module("returnn." + OLD_NAMES[old])
    assert importlib.import_module("returnn." + old) is new
    if old not in ("rnn", "better_exchook"):
        assert importlib.import_module(old) is new


def test_old_name_of_something_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(OLD_NAMES, "OldThing", "no_such.thing")
    for name in ("OldThing", "returnn.OldThing"):
        with pytest.raises(ModuleNotFoundError, match=f"^{name} is the old name of returnn.no_such.thing, which this"):
            importlib.import_module(name)
    assert "OldThing" not in sys.modules


def test_missing_module_inside_of_the_target_is_reported_as_such(monkeypatch: pytest.MonkeyPatch) -> None:
    """The target is there, but imports something else that is not."""
    monkeypatch.setitem(OLD_NAMES, "OldThing", "log")
    monkeypatch.setitem(sys.modules, "returnn.log", None)  # makes the import of exactly this module fail
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("OldThing")


def run_python(code: str, cwd: Path) -> str:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(_root)!r}); {code}"]
    result = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_import_is_lazy_and_a_users_module_wins(tmp_path: Path) -> None:
    (tmp_path / "Config.py").write_text("whose = 'mine'\n")
    code = "import returnn; assert 'returnn.config' not in sys.modules; import Config; print(Config.whose)"
    assert run_python(code, cwd=tmp_path) == "mine"


def test_rnn_is_the_program(tmp_path: Path) -> None:
    """From a checkout `import rnn` finds rnn.py, which gives way to the module."""
    code = "import rnn; import returnn.__main__ as m; assert rnn is m is sys.modules['rnn']; print(rnn.engine)"
    assert run_python(code, cwd=tmp_path) == "None"


def test_importing_the_ground_floor_is_cheap(tmp_path: Path) -> None:
    """No backend, no file format library; numpy is allowed."""
    code = (
        "import returnn, returnn.config, returnn.log, returnn.util.basic;"
        "heavy = ['tensorflow', 'torch', 'jax', 'h5py', 'scipy', 'keras', 'better_exchook'];"
        "print([name for name in heavy if name in sys.modules])"
    )
    assert run_python(code, cwd=tmp_path) == "[]"


def test_importing_the_program_and_datasets_needs_no_backend(tmp_path: Path) -> None:
    code = (
        "import returnn.__main__, returnn.datasets;"
        "print([name for name in ['tensorflow', 'torch', 'jax', 'h5py', 'keras'] if name in sys.modules])"
    )
    assert run_python(code, cwd=tmp_path) == "[]"
