"""Segmental layers."""

from __future__ import annotations

import returnn.frontend as rf
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

from .axes import batch_major
from .concat_input import ConcatInputLayer
from .registry import layer_class


@layer_class("normalize_length_scores")
class NormalizeLengthScoresLayer(ConcatInputLayer):
    """exp(log x * (t + 1)), where t is the frame: makes up for scores that are means over the frames of a segment.

    Input [.., T, ..] of numbers > 0. Output as the input.
    """

    def compute(self, x: Tensor) -> Tensor:
        time = x.time_dim
        if time is None or x.dtype != "float32":
            raise ConfigError("the input must be float32 with a time axis, but is %s" % x.short_repr())
        x = batch_major(x)
        frames = rf.cast(rf.range_over_dim(time, of=x), x.dtype) + 1.0
        return x.like(rf.exp(rf.log(x) * frames).copy_transpose(x.dims).raw_tensor)
