"""A lock that ends with the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from returnn.util.errors import UserError
from returnn.util.lock_file import lock_file

_root = str(Path(__file__).parent.parent.parent)
_holder = """
import sys
from returnn.util.lock_file import lock_file
with lock_file(sys.argv[1], what="model 'm'", how_to_mend="Stop it."):
    print("locked", flush=True)
    sys.stdin.readline()
"""


def start_holder(path: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen(
        [sys.executable, "-c", _holder, str(path)], cwd=_root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "locked\n"
    return process


def end(process: subprocess.Popen[str]) -> None:
    process.stdin.close()
    process.stdout.close()
    process.wait(timeout=20)


def lock(path: Path) -> lock_file:
    return lock_file(str(path), what="model 'm'", how_to_mend="Stop it.")


def test_second_process_is_refused_and_told_who_has_it(tmp_path: Path) -> None:
    path = tmp_path / "models" / "m.lock"
    holder = start_holder(path)
    try:
        with pytest.raises(UserError) as info, lock(path):
            pass
        message = str(info.value)
        assert message.startswith("model 'm' is in use by another run: host ")
        assert f", pid {holder.pid}, since 20" in message and "Stop it." in message and str(path) in message
        assert path.exists()
    finally:
        end(holder)
    assert not path.exists()


def test_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    path = tmp_path / "m.lock"
    holder = start_holder(path)
    os.kill(holder.pid, signal.SIGKILL)
    end(holder)
    assert path.exists()
    with lock(path):
        assert f"pid {os.getpid()}, since" in path.read_text()
    assert not path.exists()


def test_forked_child_does_not_hold_the_lock(tmp_path: Path) -> None:
    """The child lives on when the holder has been killed."""
    path = tmp_path / "m.lock"
    code = _holder.replace(
        'print("locked"', 'import os; child = os.fork() or __import__("time").sleep(30)\n    print("locked"'
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(path)], cwd=_root, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    try:
        assert process.stdout.readline() == "locked\n"
        os.kill(process.pid, signal.SIGKILL)
        process.wait(timeout=20)
        with lock(path):
            pass
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        end(process)


def test_same_process_is_refused_too(tmp_path: Path) -> None:
    path = tmp_path / "m.lock"
    with lock(path):
        with pytest.raises(UserError, match="model 'm' is in use already by this process"), lock(path):
            pass
        assert path.exists()
    with lock(path):
        pass
