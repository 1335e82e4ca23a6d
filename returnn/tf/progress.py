"""What a pass over a dataset shows while it runs: one line a step in the log, or a bar on a terminal."""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Mapping
from typing import Any, TextIO

from returnn.log import log
from returnn.util.format import hms, human_bytes_size

_MIN_REDRAW_SECONDS = 0.1


class ProgressReport:
    """Shows the steps of one pass: as lines on v5, else as a bar if the output is a terminal and verbosity 3 or 4."""

    def __init__(self, prefix: str, *, stream: TextIO | None = None):
        """
        :param prefix: of each line, as ``train epoch 1``
        :param stream: where a bar would be drawn; default: standard output
        """
        self._prefix = prefix
        self._start = time.monotonic()
        self._as_lines = log.verbose[5]
        stream = stream or sys.stdout
        self._bar = _Bar(stream) if not self._as_lines and log.verbose[3] and stream.isatty() else None

    def step(self, step: int, eval_info: Mapping[str, Any], *, step_secs: float, complete_frac: float | None) -> None:
        """
        :param step: in this pass, from 0
        :param eval_info: name -> value
        :param step_secs: how long this step took
        :param complete_frac: in (0,1], or None if unknown
        """
        if not self._as_lines and self._bar is None:
            return
        elapsed = time.monotonic() - self._start
        remaining = elapsed * (1 / complete_frac - 1) if complete_frac else None
        if self._bar is not None:
            self._bar.draw(complete_frac, remaining)
            return
        info = [self._prefix, "step %i" % step]
        info += ["%s %s" % (key, _text(key, eval_info[key])) for key in sorted(eval_info)]
        info += ["%.3f sec/step" % step_secs, "elapsed %s" % hms(elapsed)]
        if remaining is not None:
            info += ["exp. remaining %s" % hms(remaining), "complete %.02f%%" % (complete_frac * 100)]
        print(", ".join(info), file=log.v5)

    def close(self) -> None:
        """Leaves the terminal clean."""
        if self._bar is not None:
            self._bar.wipe()


def _text(key: str, value: Any) -> str:
    if key.startswith("mem_usage:"):
        return human_bytes_size(int(value))
    return str(value.tolist() if getattr(value, "ndim", 0) == 1 else value)


class _Bar:
    """One line of a terminal, drawn again and again: ``0:01:02 [||||| 12.34%             ]``"""

    def __init__(self, stream: TextIO):
        self._stream = stream
        self._last_time = -_MIN_REDRAW_SECONDS
        self._drawn = False

    def draw(self, complete_frac: float | None, remaining_secs: float | None) -> None:
        now = time.monotonic()
        if complete_frac is None or now - self._last_time < _MIN_REDRAW_SECONDS:
            return
        self._last_time = now
        width = shutil.get_terminal_size().columns - 1
        self._stream.write("\r" + bar_text(complete_frac, remaining_secs or 0, width=width))
        self._stream.flush()
        self._drawn = True

    def wipe(self) -> None:
        if self._drawn:
            self._stream.write("\r" + " " * (shutil.get_terminal_size().columns - 1) + "\r")
            self._stream.flush()


def bar_text(complete_frac: float, remaining_secs: float, *, width: int) -> str:
    """
    :return: remaining time and bar, ``width`` characters if there is room for all
    """
    remaining, percent = hms(remaining_secs), " %.2f%% " % (complete_frac * 100)
    room = max(width - len(remaining) - len(" []"), len(percent))
    bar = "|" * round(complete_frac * (room - len(percent)))
    return "%s [%s]" % (remaining, (bar + percent).ljust(room))
