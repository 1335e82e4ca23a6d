"""What is said when things go wrong: reports of exceptions, and where each thread is when a signal asks for it."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import signal
import sys
import threading
import time
import traceback
import types
import warnings
from collections.abc import Iterator
from typing import TextIO

import better_exchook

from returnn.log import log
from returnn.util.errors import UserError
from returnn.util.to_bool import to_bool

SIGTERM_EXIT_CODE = 128 + signal.SIGTERM

_interrupt_signal = signal.SIGRTMIN + 5 if hasattr(signal, "SIGRTMIN") else signal.SIGINT
"""From a thread with a bug to the main thread. Not SIGINT: a shell lets its background jobs ignore that."""

_children_dump_secs = 3
_max_secs_after_sigterm = 60


def install_exception_hooks() -> None:
    """Reports uncaught exceptions on the log. One in another thread also interrupts the main thread."""
    sys.excepthook = report_exception
    threading.excepthook = _report_thread_exception
    if _env_flag("DEBUG_WARN_WITH_TRACEBACK"):
        warnings.showwarning = _show_warning_with_traceback


def report_exception(exc_type: type[BaseException], exc: BaseException | None, tb: types.TracebackType | None) -> None:
    """Prints a mistake of the user as its message, anything else with the variables of each frame, on log v1.

    With the environment variable ``DEBUG=1`` everything has the full report, and a shell opens.
    """
    if isinstance(exc, UserError) and not _env_flag("DEBUG"):
        print(exc, file=log.v1 if log.initialized else sys.stderr)
        log.flush()
        return
    if issubclass(exc_type, KeyboardInterrupt):
        print("KeyboardInterrupt", file=log.v3)
        return
    print(f"Unhandled exception {exc_type} in thread {threading.current_thread()}, proc {os.getpid()}.", file=log.v1)
    with_color = sys.stdout.isatty() and log.filename is None
    better_exchook.better_exchook(exc_type, exc, tb, file=log.v1, with_color=with_color)
    log.flush()


def _report_thread_exception(args: threading.ExceptHookArgs) -> None:
    if args.exc_type is SystemExit:
        return
    report_exception(args.exc_type, args.exc_value, args.exc_traceback)
    _interrupt_main_thread()


def _interrupt_main_thread() -> None:
    """As Ctrl-C does: this also wakes the main thread, if it waits for something."""
    if signal.getsignal(_interrupt_signal) is _on_interrupt_signal:
        main_thread = threading.main_thread().ident
        assert main_thread is not None  # it has been started
        signal.pthread_kill(main_thread, _interrupt_signal)
    else:  # no signal handlers were installed: this is somebody else's program
        os.kill(os.getpid(), signal.SIGINT)


def _on_interrupt_signal(_signal_number: int, _frame: types.FrameType | None) -> None:
    raise KeyboardInterrupt


def _show_warning_with_traceback(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    file = file or sys.stderr
    traceback.print_stack(sys._getframe(1), file=file)
    file.write(warnings.formatwarning(message, category, filename, lineno, line))


def _env_flag(name: str) -> bool:
    try:
        return to_bool(os.environ.get(name) or "0")
    except ValueError:
        return False


# Signals


def install_signal_handlers() -> None:
    """SIGUSR1, SIGUSR2: the stacks of all threads on stderr, and on it goes. SIGTERM: the same, of the child processes
    too, and exit. SIGSEGV and other faults of native code: the stacks, before the process dies. A private one: a bug in
    another thread interrupts the main thread, even where Ctrl-C is ignored.

    The stacks come at once, also when the main thread is busy in native code. Only for the main thread to call.
    """
    stderr = sys.__stderr__ or 2
    faulthandler.enable(stderr)
    signal.signal(_interrupt_signal, _on_interrupt_signal)
    for signal_number in (signal.SIGUSR1, signal.SIGUSR2):
        faulthandler.register(signal_number, stderr, all_threads=True)
    signal.signal(signal.SIGTERM, _on_sigterm)
    faulthandler.register(signal.SIGTERM, stderr, all_threads=True, chain=True)


def _on_sigterm(_signal_number: int, _frame: types.FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    print(f"Got SIGTERM, exiting. (pid {os.getpid()})", file=log.v1)
    if _ask_children_for_stacks():
        time.sleep(_children_dump_secs)
    # Clean-up that does not end, ends here.
    faulthandler.dump_traceback_later(_max_secs_after_sigterm, exit=True)
    sys.exit(SIGTERM_EXIT_CODE)


def _ask_children_for_stacks() -> int:
    """Sends SIGUSR1 to the child processes that handle it (others would die of it).

    :return: how many
    """
    num = 0
    for pid in child_processes(os.getpid()):
        if _catches(pid, signal.SIGUSR1):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGUSR1)
                num += 1
    return num


def child_processes(pid: int) -> Iterator[int]:
    """:return: pids of the children and their children (where there is a /proc; else none)"""
    for path in _tasks_of(pid):
        try:
            with open(f"{path}/children") as f:
                children = [int(child) for child in f.read().split()]
        except OSError:  # the thread has ended
            continue
        for child in children:
            yield child
            yield from child_processes(child)


def _tasks_of(pid: int) -> list[str]:
    folder = f"/proc/{pid}/task"
    try:
        return [f"{folder}/{task}" for task in os.listdir(folder)]
    except OSError:
        return []


def _catches(pid: int, signal_number: int) -> bool:
    try:
        with open(f"/proc/{pid}/status") as f:
            masks = [int(line.split()[1], 16) for line in f if line.startswith("SigCgt:")]
    except OSError:
        return False
    return any(mask >> (signal_number - 1) & 1 for mask in masks)
