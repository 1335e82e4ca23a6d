"""A pass shows itself as lines, as a bar, or not at all."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy
import pytest

from returnn.log import log
from returnn.tf.progress import ProgressReport, bar_text


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def default_log() -> Iterator[None]:
    """As before, behind each test."""
    yield
    log.initialize([], [3])


def test_bar_is_as_long_as_complete() -> None:
    """30 columns, room 20 in brackets: at 50 % 6 of the 12 beside the text ' 50.00% '; at the end all."""
    assert bar_text(0.5, 3661, width=30) == "1:01:01 [|||||| 50.00%       ]"
    assert bar_text(1.0, 0, width=30) == "0:00:00 [||||||||||| 100.00% ]"
    assert bar_text(0.0001, 5, width=30) == "0:00:05 [ 0.01%              ]"
    assert bar_text(0.5, 0, width=5) == "0:00:00 [ 50.00% ]"


def test_bar_is_drawn_over_the_line_and_wiped() -> None:
    """On a terminal at verbosity 3: begins with a carriage return, never a new line; the last thing are blanks."""
    log.initialize([], [3])
    terminal = _Terminal()
    progress = ProgressReport("train epoch 1", stream=terminal)
    progress.step(0, {}, step_secs=0.1, complete_frac=0.25)
    progress.step(1, {}, step_secs=0.1, complete_frac=0.5)  # too soon to be drawn
    progress.close()
    text = terminal.getvalue()
    assert text.startswith("\r0:00:00 [|") and "25.00%" in text and "50.00%" not in text and "\n" not in text
    assert text.endswith(" \r")


@pytest.mark.parametrize(["verbosity", "is_terminal"], [(3, False), (2, True), (5, True)])
def test_no_bar(verbosity: int, is_terminal: bool) -> None:
    """Not into a file, not at verbosity 2, not beside step lines."""
    log.initialize([], [verbosity])
    stream = _Terminal() if is_terminal else io.StringIO()
    progress = ProgressReport("train epoch 1", stream=stream)
    progress.step(0, {}, step_secs=0.1, complete_frac=0.25)
    progress.close()
    assert stream.getvalue() == ""


def test_step_line(capsys: pytest.CaptureFixture[str]) -> None:
    """The known example, as far as it does not depend on the clock; arrays as lists, memory as human size."""
    log.initialize([], [5])
    progress = ProgressReport("train epoch 1")
    values = {"cost:output": numpy.float32(0.89436096), "error:output": numpy.float32(0.515)}
    values.update({"loss": numpy.float32(178.87779), "num_seqs": 1, "max_size:data": 200, "max_size:classes": 200})
    progress.step(0, values, step_secs=0.498, complete_frac=0.95)
    extra = {"stats:x:y": numpy.array([1, 2]), "mem_usage:GPU:0": 3 * 1024**3}
    progress.step(1, extra, step_secs=0.01, complete_frac=None)
    assert capsys.readouterr().out.splitlines() == [
        "train epoch 1, step 0, cost:output 0.89436096, error:output 0.515, loss 178.87779, max_size:classes 200, "
        "max_size:data 200, num_seqs 1, 0.498 sec/step, elapsed 0:00:00, exp. remaining 0:00:00, complete 95.00%",
        "train epoch 1, step 1, mem_usage:GPU:0 3.0GB, stats:x:y [1, 2], 0.010 sec/step, elapsed 0:00:00",
    ]
