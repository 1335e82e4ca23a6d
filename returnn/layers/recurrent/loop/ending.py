"""Which sequences have ended at a frame."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import returnn.frontend as rf
from returnn.layers.beam_border import merge_beam
from returnn.layers.recurrent.input_lengths import check_has_ended
from returnn.tensor import Tensor, batch_dim
from returnn.util.behavior_version import BehaviorVersion, Change

from .carried import Carried
from .context import LoopContext
from .hypotheses import Hypotheses


class Ending:
    """Of a loop of known length, or of one that ends where its layer ``end`` says so."""

    def __init__(self, context: LoopContext, hypotheses: Hypotheses, *, include_eos: bool):
        """
        :param context: of the loop
        :param hypotheses: of the loop
        :param include_eos: the frame where ``end`` is true first counts
        """
        self.include_eos = include_eos
        self.ended: Carried | None = None
        """bool: before a frame; only of a loop that ends by itself"""
        self._lens: Carried | None = None
        """how many frames so far count"""
        self._context = context
        self._hypotheses = hypotheses

    def begin_loop(self) -> None:
        """No sequence has ended."""
        subnet = self._context.subnet
        if subnet.length_is_known:
            return
        end = self._context.net.layers["end"]
        dims = self._hypotheses.with_beam(end, [d for d in subnet.template_of(end).dims if d.is_batch_dim])
        self.ended = Carried(self._context.full_tensor("ended", dims, "bool", False))
        self._lens = Carried(self._context.full_tensor("lens", dims, "int32", 0))

    def carried(self) -> list[Carried]:
        """
        :return: all that is handed on
        """
        return [value for value in (self.ended, self._lens) if value is not None]

    def end_frame(self) -> None:
        """All layers are computed."""
        if self.ended is None or self._lens is None:
            return
        last = self._hypotheses.bring_to_last
        ended_before, lens_before, end = map(
            last, (self.ended.now, self._lens.now, self._context.net.layers["end"].output)
        )
        self.ended.next = rf.logical_or(ended_before, end)
        counts = rf.logical_not(ended_before if self.include_eos else self.ended.next)
        self._lens.next = lens_before + rf.cast(counts, "int32")

    def goes_on(self, ended: Any) -> Any:
        """
        :param ended: raw: before a frame
        :return: raw bool: the frame is needed
        """
        backend = self._context.backend
        return backend.unary("logical_not", backend.reduce(ended, "all", None))

    def check_has_ended(self, num: Any, max_seq_len: Any, inputs: Sequence[str]) -> None:
        """
        Behind the last frame; see :func:`returnn.layers.recurrent.input_lengths.check_has_ended`.

        :param num: raw: number of frames
        :param max_seq_len: int or raw scalar: bound of a loop that ends by itself
        :param inputs: what is read frame by frame
        """
        if self.ended is not None and self._lens is not None and inputs:
            subnet = self._context.subnet
            self._lens.now = check_has_ended(self._lens.now, self.ended.now, num, max_seq_len, inputs, subnet)

    def final_lens(self) -> Tensor:
        """
        :return: behind the last frame: lengths of the sequences
        """
        if self._lens is not None:
            return self._hypotheses.of_final(self._lens.now)
        return self.known_lens()

    def known_lens(self) -> Tensor:
        """
        :return: int32: lengths of the sequences, once those of the loop are known; [] if all have the same
        """
        dim = self._context.dim
        if dim.dyn_size_ext is not None:
            return dim.dyn_size_ext
        return Tensor("lens", [], "int32", raw_tensor=self._context.backend.convert(dim.get_dim_value(), "int32"))

    def ended_before(self) -> Tensor | None:
        """
        Up to behaviour version 30, in a loop of known length the frame behind the end of a sequence is not ended yet.

        :return: bool [batch, beam]: hypotheses that had ended before this frame; None: none can
        """
        if self.ended is not None:
            return self._hypotheses.bring(self.ended.now)
        include_padding = not self.include_eos and not BehaviorVersion.has(Change.SEARCH_ENDS_EXACTLY)
        return self._is_behind(1 if include_padding else 0)

    def raw_ended_before(self) -> Any:
        """
        :return: raw bool [batch], the beam of the layer that is computed merged into it: see :func:`ended_before`
        """
        ended = self.ended_before()
        if ended is None:
            ended = self._context.full_tensor("ended", [batch_dim], "bool", False)
        return merge_beam(ended, self._hypotheses.beam).raw_tensor

    def does_not_count(self) -> Tensor | None:
        """
        Behind all layers of a frame.

        :return: bool: this frame is no frame of the sequence any more; None: all are
        """
        if self.ended is not None:
            return self.ended.now if self.include_eos else self.ended.next
        return self._is_behind(-1 if self.include_eos and not BehaviorVersion.has(Change.LAST_FRAME_COUNTS) else 0)

    def _is_behind(self, num: int) -> Tensor | None:
        """
        :param num: of frames
        :return: bool: this frame is behind the end of a sequence of known length, and so many more; None: none is
        """
        lens, index = self._context.dim.dyn_size_ext, self._context.index
        if lens is None or not lens.dims or index is None:
            return None
        return rf.compare(index, "greater_equal", lens + num if num else lens)
