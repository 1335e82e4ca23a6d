"""Runs the program in a process of its own, as a user does."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

root = Path(__file__).resolve().parent.parent


def run_program(*args: str | Path, cwd: Path, timeout: float = 240) -> str:
    """
    :param args: of ``rnn.py``
    :param cwd: files of the run are written below it
    :param timeout: in seconds
    :return: stdout; the exit code was 0
    """
    result = run_python(root / "rnn.py", *args, cwd=cwd, timeout=timeout)
    assert result.returncode == 0, result.stdout + result.stderr
    return result.stdout


def run_python(*args: str | Path, cwd: Path, timeout: float = 240) -> subprocess.CompletedProcess[str]:
    """
    :param args: of the interpreter
    :param cwd: working folder
    :param timeout: in seconds
    """
    env = {**os.environ, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONPATH": str(root)}
    command = [sys.executable, *map(str, args)]
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=timeout)


def default_sigint() -> None:
    """For a child that is to be sent Ctrl-C: it would ignore it, if these tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def scores(log: str, dataset: str) -> list[tuple[float, float]]:
    """
    :param log: of a run
    :param dataset: "train", "dev" or "eval"
    :return: (score, error) of each epoch
    """
    name = r"epoch \d+ score: (\S+) error:" if dataset == "train" else rf"^(?:.* )?{dataset}: score (\S+) error"
    return [(float(score), float(error)) for score, error in re.findall(rf"{name} (\S+)", log, flags=re.MULTILINE)]
