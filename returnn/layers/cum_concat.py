"""All frames so far, as one more axis."""

from __future__ import annotations

from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError

from .concat_input import ConcatInputLayer
from .history import all_frames_so_far, frames_as_history, over_frames
from .registry import layer_class


@layer_class("cum_concat")
class CumConcatLayer(ConcatInputLayer):
    """Within a loop: this frame behind those before, on a new axis that grows. Output [batch, frames so far, ..].

    For self-attention made of other layers: at frame t, the new axis has the length t + 1.
    """

    recurrent = True

    out_spatial_dim: Dim | None = None
    """Dim of the new axis; several such layers of one loop may have the same"""

    @property
    def iterates_itself(self) -> bool:  # type: ignore[override]
        """not where the frame before is asked for: what it is for all frames at once is one array for all of them"""
        loop = self.network.loop
        return loop is not None and all(previous.of_layer is not self for previous in loop.layers_before)

    def compute(self, x: Tensor) -> Tensor:
        if self.network.loop is None:
            raise ConfigError("the layer is for the unit of a recurrent layer: it joins the frames so far")
        dim = self.out_spatial_dim
        if dim is None:
            dim = self.make_dim("history", None)
        elif not isinstance(dim, Dim) or not dim.is_dynamic:
            raise ConfigError("out_spatial_dim must be a Dim without a size, but is %r" % (dim,))
        x, axis = over_frames(self, x, self.network.loop.loop_dim)
        return all_frames_so_far(self, "state", x, dim) if axis is None else frames_as_history(self, x, dim)
