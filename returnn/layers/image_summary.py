"""Drawing an output."""

from __future__ import annotations

import returnn.frontend as rf
from returnn.tensor import Tensor
from returnn.tensor.backend import backend_of_raw
from returnn.util.errors import ConfigError

from .concat_input import ConcatInputLayer
from .registry import layer_class


@layer_class("image_summary")
class ImageSummaryLayer(ConcatInputLayer):
    """Draws its input in each step, for TensorBoard, where an engine writes events: on TensorFlow. Output as the input.

    Input [B, T, F], or [B, T, F, C] with 1, 3 or 4 channels, float32: time goes to the right, features downwards.
    """

    max_outputs: int = 3
    """only so many sequences of a batch"""

    def compute(self, x: Tensor) -> Tensor:
        if not isinstance(self.max_outputs, int) or self.max_outputs < 1:
            raise ConfigError("max_outputs must be a number > 0, but is %r" % (self.max_outputs,))
        if not x.have_batch_axis() or x.batch_ndim not in (3, 4) or x.dtype != "float32":
            raise ConfigError("the input must be float32 [B, T, F] or [B, T, F, C], but is %s" % x.short_repr())
        images = x.copy_as_batch_major().copy_with_feature_last()
        if images.batch_ndim == 4 and images.dims[3].dimension not in (1, 3, 4):
            raise ConfigError("the last axis must have 1, 3 or 4 channels, but the input is %s" % x.short_repr())
        if self.has_values:
            images = images.copy_swap_axes(1, 2)
            raw = rf.stop_gradient(images).raw_tensor
            raw = raw if images.batch_ndim == 4 else backend_of_raw(raw).expand_dims(raw, 3)
            self.network.draw_images(self.get_absolute_name(), raw, max_outputs=self.max_outputs)
        return x
