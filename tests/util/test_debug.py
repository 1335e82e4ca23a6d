"""Signals to the children. (What a user sees of reports and signals: tests/test_main.py.)"""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from returnn.util.debug import _ask_children_for_stacks, child_processes

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/task"), reason="there is no /proc")


def test_only_children_that_handle_it_are_sent_sigusr1() -> None:
    """Of the others (here: sleep) it would be the end."""
    code = (
        "import signal, sys\n"
        "signal.signal(signal.SIGUSR1, lambda *_: print('asked', flush=True))\n"
        "print('ready', flush=True)\n"
        "sys.stdin.read()\n"
    )
    with (
        subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as handles_it,
        subprocess.Popen(["sleep", "60"]) as dies_of_it,
    ):
        assert handles_it.stdout.readline() == "ready\n"
        assert {handles_it.pid, dies_of_it.pid} <= set(child_processes(os.getpid()))
        assert _ask_children_for_stacks() >= 1
        assert handles_it.stdout.readline() == "asked\n"
        assert dies_of_it.poll() is None
        dies_of_it.send_signal(signal.SIGKILL)
        handles_it.stdin.close()


def test_grandchildren_are_found() -> None:
    command = "sleep 60 & echo $!; wait"
    with subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, text=True, start_new_session=True) as shell:
        grandchild = int(shell.stdout.readline())
        assert grandchild in set(child_processes(os.getpid()))
        os.killpg(shell.pid, signal.SIGKILL)
