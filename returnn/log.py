"""What the program says: five levels, from the few lines everybody wants (v1) to each step (v5).

``print("text", file=log.v3)`` makes one record for each line end. Before :meth:`Log.initialize`,
records go to stdout at verbosity 3.
"""

from __future__ import annotations

import contextlib
import logging
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TextIO

from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from returnn.config import Config

LEVELS = (logging.ERROR, logging.INFO + 1, logging.INFO, logging.DEBUG + 2, logging.DEBUG + 1, logging.DEBUG)
"""Verbosity 0..5 -> level of the stdlib logger ``returnn``."""

DEFAULT_VERBOSITY = 3

_date_format = "%Y-%m-%d,%H:%M:%S"

FORMATS: dict[str, str] = {
    "default": "%(message)s",
    "raw": "%(message)s",
    "timed": "%(asctime)s %(message)s",
    "verbose": "%(levelname)s - %(asctime)s %(message)s",
}
"""Values of ``log_format``."""

_command_end_timeout_secs = 10.0


class Stream:
    """The part of a file that ``print`` needs. Each finished line is a record; threads do not mix within a line."""

    def __init__(self, emit: Callable[[str], None], flush: Callable[[], None]) -> None:
        self._emit = emit
        self._flush = flush
        self._open_lines: dict[int, str] = {}  # by thread, so that no lock is needed (which a fork could leave locked)

    def write(self, text: str) -> int:
        thread = threading.get_ident()
        *lines, rest = (self._open_lines.pop(thread, "") + text).split("\n")
        if rest:
            self._open_lines[thread] = rest
        for line in lines:
            self._emit(line)
        return len(text)

    def flush(self) -> None:
        """Brings out the records so far. A line without an end stays open: more of it may come."""
        self._flush()

    def isatty(self) -> bool:
        return False

    def end_open_lines(self) -> None:
        """Makes records of what was printed without a line end, at the end of the program."""
        while self._open_lines:
            self._emit(self._open_lines.popitem()[1])


class Log:
    """The streams ``v1`` .. ``v5`` and where they go."""

    def __init__(self) -> None:
        self.initialized = False
        self.filename: str | None = None
        """The first file among the targets."""
        self.verbose: list[bool] = []
        """Entry i, 0..5: whether some target shows level i."""
        self._logger = logging.getLogger("returnn")
        self._logger.setLevel(logging.DEBUG)
        self._logger.propagate = False
        self._printed_once: set[str] = set()
        self.v0, self.v1, self.v2, self.v3, self.v4, self.v5 = self._v = tuple(map(self._stream, LEVELS))
        self._set_handlers([(_StdoutHandler(), DEFAULT_VERBOSITY, "default")])

    def _stream(self, level: int) -> Stream:
        return Stream(lambda line: self._logger.log(level, "%s", line), self._flush_handlers)

    def initialize(
        self,
        logs: str | logging.Handler | Sequence[str | logging.Handler] = (),
        verbosity: int | Sequence[int] = (),
        formatter: str | Sequence[str] = (),
        propagate: bool = False,
    ) -> None:
        """Sets the targets; earlier ones are closed.

        :param logs: each a file (appended to; its folder is made; ``$date`` becomes the UTC time), ``stdout``,
            ``|command`` or a logging handler. Without ``stdout`` in it, that comes last.
        :param verbosity: 0..5 for each target; one value serves all, missing ones are 3
        :param formatter: names of :data:`FORMATS` for each target; one value serves all
        :param propagate: whether records also go to the handlers of the root logger
        :raises ConfigError: a value that there is not, or a target that cannot be opened
        """
        targets = _as_list(logs)
        if "stdout" not in targets:
            targets.append("stdout")
        verbosities = [_check_verbosity(v) for v in _one_for_each(_as_list(verbosity), len(targets), DEFAULT_VERBOSITY)]
        formats = [_check_format(f) for f in _one_for_each(_as_list(formatter), len(targets), "default")]
        self.filename = None
        handlers = [self._open_target(target) for target in targets]
        self._set_handlers(list(zip(handlers, verbosities, formats, strict=True)))
        self._logger.propagate = propagate
        self.initialized = True

    def init_by_config(self, config: Config) -> None:
        """:param config: its keys ``log``, ``log_verbosity``, ``log_format``"""
        logs = config.list("log", [])
        if logs == [self]:  # the config itself says `from returnn.log import log`
            logs = []
        self.initialize(
            logs=logs,
            verbosity=config.int_list("log_verbosity", []),
            formatter=config.list("log_format", []),
        )

    def _open_target(self, target: str | logging.Handler) -> logging.Handler:
        if isinstance(target, logging.Handler):
            return target
        if not isinstance(target, str) or not target.strip():
            raise ConfigError(f"invalid log target {target!r}: must be a file, 'stdout', '|command' or a handler.")
        if target == "stdout":
            return _StdoutHandler()
        if target.startswith("|"):
            return _CommandHandler(target[1:])
        path = os.path.expanduser(target.replace("$date", time.strftime("%Y-%m-%d-%H-%M-%S", time.gmtime())))
        try:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
            handler = _FileHandler(path)
        except OSError as exc:
            raise UserError(f"log target {target!r}: cannot open the file: {exc.strerror or exc}") from exc
        self.filename = self.filename or path
        return handler

    def _set_handlers(self, targets: list[tuple[logging.Handler, int, str]]) -> None:
        for old in self._logger.handlers[:]:
            self._logger.removeHandler(old)
            if old not in [handler for handler, _, _ in targets]:
                old.close()
        for handler, verbosity, fmt in targets:
            handler.setLevel(LEVELS[verbosity])
            handler.setFormatter(_Formatter(FORMATS[fmt]))
            self._logger.addHandler(handler)
        max_verbosity = max(verbosity for _, verbosity, _ in targets)
        self.verbose = [i <= max_verbosity for i in range(len(LEVELS))]

    def _flush_handlers(self) -> None:
        for handler in self._logger.handlers:
            handler.flush()

    def flush(self) -> None:
        """Brings out all that was printed."""
        for stream in self._v:
            stream.end_open_lines()
        self._flush_handlers()

    def print_warning(self, text: str, *, once: bool = False) -> None:
        """
        :param text: what is wrong and how to mend it; printed on v2 behind ``WARNING:``
        :param once: not if it was printed before
        """
        if not once or text not in self._printed_once:
            self._printed_once.add(text)
            print("WARNING:", text, file=self.v2)

    def print_deprecation_warning(self, text: str, behavior_version: int | None = None) -> None:
        """Each text once, on v2.

        :param text: what should be done instead
        :param behavior_version: the first that does not allow it any more, if there is one yet
        """
        if text in self._printed_once:
            return
        self._printed_once.add(text)
        print("DEPRECATION WARNING:", text, file=self.v2)
        if behavior_version is None:
            print("This might be disallowed with a future behavior_version.", file=self.v2)
        else:
            print(f"This will be disallowed with behavior_version {behavior_version}.", file=self.v2)


class _Formatter(logging.Formatter):
    """Local time with hundredths of a second; the levels between the standard ones have the standard names."""

    def format(self, record: logging.LogRecord) -> str:
        record.levelname = logging.getLevelName(record.levelno // 10 * 10)
        return super().format(record)

    def formatTime(self, record: logging.LogRecord, datefmt: str | None = None) -> str:
        seconds = time.strftime(datefmt or _date_format, self.converter(record.created))
        return f"{seconds}.{int(record.msecs) // 10:02d}S"


class _CarefulHandler(logging.StreamHandler):
    """A target that fails (disk full, no reader any more) gets no more lines; the program goes on."""

    target: str
    _gone = False

    def emit(self, record: logging.LogRecord) -> None:
        if not self._gone:
            super().emit(record)

    def handleError(self, record: logging.LogRecord) -> None:
        exc = sys.exc_info()[1]
        if isinstance(exc, OSError):
            self._give_up(exc)
        else:
            super().handleError(record)

    def flush(self) -> None:
        if self._gone:
            return
        try:
            super().flush()
        except OSError as exc:
            self._give_up(exc)

    def _give_up(self, exc: OSError) -> None:
        if not self._gone:
            self._gone = True
            print(f"WARNING: log target {self.target!r} gets no more lines: {exc.strerror or exc}", file=sys.stderr)


class _FileHandler(_CarefulHandler, logging.FileHandler):
    """Appends to a file."""

    def __init__(self, path: str) -> None:
        self.target = path
        super().__init__(path, encoding="utf8")

    def close(self) -> None:
        with contextlib.suppress(OSError):  # of what could not be written before
            super().close()


class _StdoutHandler(_CarefulHandler):
    """Writes to whatever ``sys.stdout`` is when a record comes."""

    target = "stdout"

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> TextIO:
        return sys.stdout


class _CommandHandler(_CarefulHandler):
    """Feeds the standard input of a shell command, and at the end waits until it has read all."""

    def __init__(self, command: str) -> None:
        # In a session of its own: Ctrl-C is for us, the command shall see our last words.
        self._process = subprocess.Popen(
            command, shell=True, stdin=subprocess.PIPE, text=True, encoding="utf8", start_new_session=True
        )
        self.target = "|" + command
        super().__init__(self._process.stdin)

    def close(self) -> None:
        super().close()
        self._gone = True
        with contextlib.suppress(BrokenPipeError):
            self.stream.close()
        try:
            self._process.wait(timeout=_command_end_timeout_secs)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _as_list(values: object) -> list:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _one_for_each(values: list, num: int, default: object) -> Iterable:
    if len(values) == 1:
        return values * num
    return (values + [default] * num)[:num]


def _check_verbosity(value: int) -> int:
    if not isinstance(value, int) or not 0 <= value < len(LEVELS):
        raise ConfigError(f"log_verbosity: must be 0..{len(LEVELS) - 1} for each log target, not {value!r}.")
    return int(value)


def _check_format(name: str) -> str:
    if name not in FORMATS:
        raise ConfigError(
            f"log_format: {name!r} is unknown.{did_you_mean(str(name), FORMATS)} There are: {list(FORMATS)}"
        )
    return name


log = Log()
