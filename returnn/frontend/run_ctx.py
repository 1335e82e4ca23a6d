"""What an operation may depend on besides its arguments: are we training, at which step, with which seed.

Randomness is stateless: a function of (random seed, a name, global step), so a run that was killed and resumed draws
the same numbers as one that was not. In a pass that does not train, the global step stands still; the step of the pass
counts on from there.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from returnn.tensor.backend import Backend

FRAMES_PER_STEP = 2**24
"""numbers between those of steps, for the frames of a loop within a step"""


@dataclass
class RunCtx:
    """Of the network or step that is being computed."""

    train_flag: Any = False
    """bool, or a raw bool scalar of a graph"""
    step: Any = 0
    """int, or a raw int scalar: global train step; in other passes that, and the step of the pass"""
    random_seed: int = 42
    """of the experiment"""
    kept: dict[str, Any] = field(default_factory=dict)
    """On a backend that computes at once: what a step leaves for the next one, by name. Whoever makes a new context for
    each step passes on the same dict."""

    frame: Any = None
    """raw int scalar: number of the frame, in a loop within the step"""

    num_draws: int = 0
    """of :meth:`count_draw`"""

    def seed_for(self, name: str) -> int:
        """
        :param name: who draws, for instance the absolute name of a layer
        :return: 31 bits, the same in each process
        """
        return zlib.crc32(("%i %s" % (self.random_seed, name)).encode("utf8")) & 0x7FFFFFFF

    def step_of_draw(self, backend: Backend) -> Any:
        """
        :param backend: that draws
        :return: the step; in a loop, another number for each frame
        """
        if self.frame is None:
            return self.step
        step = backend.binary("mul", backend.cast(backend.convert(self.step), "int64"), FRAMES_PER_STEP)
        return backend.binary("add", step, backend.cast(self.frame, "int64"))

    def count_draw(self) -> int:
        """
        For code that draws and has no name, on a backend that computes at once.

        :return: 0 in the first call for this context, then 1, and so on
        """
        self.num_draws += 1
        return self.num_draws - 1


_stack: list[RunCtx] = [RunCtx()]


def get_run_ctx() -> RunCtx:
    """
    :return: the current one; outside of any: not training
    """
    return _stack[-1]


@contextlib.contextmanager
def run_ctx(ctx: RunCtx) -> Iterator[RunCtx]:
    """
    :param ctx: current inside
    """
    _stack.append(ctx)
    try:
        yield ctx
    finally:
        _stack.pop()
