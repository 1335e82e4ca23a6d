"""Printing values."""

from __future__ import annotations

import sys
from typing import Any

import numpy

from returnn.tensor import Tensor

from .concat_input import ConcatInputLayer
from .registry import layer_class


@layer_class("print")
class PrintLayer(ConcatInputLayer):
    """Prints its source to standard output in each step, and passes it on; also if nothing uses that."""

    summarize: int | None = 99
    """of an axis with more entries, so many at each end; None: all of them"""
    extra_print_args: tuple[Any, ...] | list[Any] = ()
    """printed behind it"""
    first_n: int | None = None
    """only so many times; None: always. In a graph on a GPU, each step has to wait for the print"""

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        self._num_printed = 0

    def compute(self, x: Tensor) -> Tensor:
        source, network = self._only_source(self.sources), self.network
        if not self.has_values:
            return x
        self.output_before_activation, self.output_loss = source.output_before_activation, source.output_loss
        raw = network.observe(self._print, [x.raw_tensor], x.raw_tensor)
        network.register_post_control_dependencies([raw])
        return x.like(raw)

    def _print(self, value: numpy.ndarray) -> None:
        self._num_printed += 1
        if self.first_n is not None and self._num_printed > self.first_n:
            return
        size = sys.maxsize if self.summarize is None else self.summarize
        text = numpy.array2string(value, threshold=size, edgeitems=size)
        extra = "".join("[%s]" % (arg,) for arg in self.extra_print_args)
        lines = "\n" in text
        print(
            "[PrintLayer][%s]%s%s%s%s" % (self.name, "\n" * lines, text, "\n" * (lines and bool(extra)), extra),
            flush=True,
        )
