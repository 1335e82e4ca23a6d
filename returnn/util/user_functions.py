"""Functions that a config gives: how they are called, and where in them a failure happened."""

from __future__ import annotations

import contextlib
import os
import traceback
import types
from collections.abc import Callable, Iterator
from typing import Any

from .errors import ConfigError, UserError

_package_dir = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_python_dir = os.path.dirname(os.__file__) + os.sep


def call_with_spare_kwarg(func: Callable[..., Any], *args: Any, what: str, **kwargs: Any) -> Any:
    """Calls ``func(*args, **kwargs)``, with one more keyword argument of a random name (its value is None).

    So a function without ``**kwargs`` fails today, and not when this framework starts to pass more to it.

    :param what: names the function in the message, for example ``dataset "train": the function given as chunking``
    :raises ConfigError: it does not accept further keyword arguments
    """
    spare = "__accept_further_kwargs_" + os.urandom(4).hex()
    try:
        return func(*args, **kwargs, **{spare: None})
    except TypeError as exc:
        assert exc.__traceback__ is not None
        of_call = exc.__traceback__.tb_next is None and "unexpected keyword argument" in str(exc)
        if not of_call and spare not in str(exc):
            raise
        names = ", ".join([*(f"arg{i + 1}" for i in range(len(args))), *kwargs, "**kwargs"])
        raise ConfigError(f"{what} must accept further keyword arguments: def f({names})") from exc


def is_users(frame: traceback.FrameSummary) -> bool:
    """
    :param frame: of a traceback
    :return: whether its code is outside of this program, of Python and of installed packages
    """
    return not (_is_library(frame) or _is_of_program(frame))


def users_frames(tb: types.TracebackType | None) -> list[traceback.FrameSummary]:
    """
    :param tb: of an exception
    :return: those in code of users
    """
    return [frame for frame in traceback.extract_tb(tb) if is_users(frame)]


def failure_in_users_code(exc: BaseException) -> str | None:
    """
    :param exc: as caught
    :return: lines: what went wrong, and where: each call of a user's function, and the one of this program that failed
        behind them. None: no code of users takes part
    """
    frames = [frame for frame in traceback.extract_tb(exc.__traceback__) if not _is_library(frame)]
    if not any(is_users(frame) for frame in frames):
        return None
    lines = ["".join(traceback.TracebackException.from_exception(exc).format_exception_only()).strip()]
    for i, frame in enumerate(frames):
        if is_users(frame) or i == len(frames) - 1:
            lines.append("  %s, line %s, in %s" % (frame.filename, frame.lineno, frame.name))
        if is_users(frame) and frame.line:
            lines.append("    " + frame.line)
    return "\n".join(lines)


@contextlib.contextmanager
def failures_in_users_code(what: str) -> Iterator[None]:
    """
    :param what: names the function in the message, with the layer
    :raises ConfigError: for an exception inside, if code of users takes part; it says where
    """
    try:
        yield
    except UserError:
        raise
    except Exception as exc:
        failure = failure_in_users_code(exc)
        if failure is None:
            raise
        raise ConfigError(f"{what}: {failure}") from exc


def _is_of_program(frame: traceback.FrameSummary) -> bool:
    return os.path.abspath(frame.filename).startswith(_package_dir)


def _is_library(frame: traceback.FrameSummary) -> bool:
    path = os.path.abspath(frame.filename)
    return frame.filename.startswith("<frozen") or "site-packages" in path or path.startswith(_python_dir)
