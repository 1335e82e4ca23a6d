"""Rules that hold in the whole house, checked by the tools that CI and developers use."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent

heavy_packages = {"tensorflow", "keras", "torch", "h5py", "scipy", "sklearn"}


def run_tool(*args: str) -> None:
    """Runs a command in the project folder; the tools are those of this environment."""
    tool = shutil.which(args[0], path=os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]))
    assert tool, f"{args[0]} is not installed; run: pip install -e '.[test]'"
    env = {**os.environ, "NO_COLOR": "1"}
    result = subprocess.run([tool, *args[1:]], cwd=root, env=env, capture_output=True, text=True, timeout=250)
    assert result.returncode == 0, f"{' '.join(args)}:\n{result.stdout}{result.stderr}"


def run_python(code: str) -> str:
    """Output of the code in a new process."""
    result = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert result.returncode == 0, result.stderr
    return result.stdout.strip()


def test_ruff_check() -> None:
    """Among others: imports at the top, tensorflow only below returnn/tf."""
    run_tool("ruff", "check", ".")


def test_ruff_format() -> None:
    run_tool("ruff", "format", "--check", ".")


def test_arrows_run_downward_and_not_in_circles() -> None:
    """The floors stand in pyproject.toml."""
    run_tool("lint-imports")


def test_mypy() -> None:
    """All functions of the listed rooms have types."""
    run_tool("mypy")


def test_importing_the_ground_floor_is_light() -> None:
    """No backend and no file format is imported before it is needed."""
    loaded = set(run_python("import sys, returnn, returnn.config, returnn.log; print(*sys.modules)").split())
    assert not loaded & heavy_packages


def test_importing_the_ground_floor_takes_less_than_0_3_seconds() -> None:
    """The best of five counts: other processes make it slower, never faster."""
    imports = "import returnn, returnn.config, returnn.log"
    code = f"import time; start = time.perf_counter(); {imports}; print(time.perf_counter() - start)"
    assert min(float(run_python(code)) for _ in range(5)) < 0.3


def test_each_test_folder_is_a_package() -> None:
    """So equal file names in two folders do not clash."""
    folders = {path.parent for path in (root / "tests").rglob("test_*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


def test_each_module_says_what_it_is_for() -> None:
    """A docstring, except in package files without content."""
    without = [
        str(path.relative_to(root))
        for path in (root / "returnn").rglob("*.py")
        if (text := path.read_text("utf8")).strip() and ast.get_docstring(ast.parse(text)) is None
    ]
    assert without == []
