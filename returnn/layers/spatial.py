"""What layers share that slide a window along spatial axes: which axes, and numbers for each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from returnn.frontend.conv import PADDINGS
from returnn.frontend.masking import dims_to_mask
from returnn.log import log
from returnn.tensor import Dim, Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .concat_input import ConcatInputLayer

_PADDING_IS_SEEN = (
    "conv, pool and the like: the last frames of a sequence see what stands behind its end, and so depend on the other"
    " sequences of the batch. The option use_time_mask, or behavior_version 31, masks that."
)


class SpatialLayer(ConcatInputLayer):
    """A window along spatial axes: all but batch and feature, or those that are given."""

    recurrent = True

    in_spatial_dims: Sequence[Any] | None = None
    """axis descriptions or Dims; default: all but batch and feature. To be given from behaviour version 8 on if there
    are several"""
    out_spatial_dims: Sequence[Dim] | None = None
    """Dims of the result"""
    use_time_mask: bool | None = None
    """frames behind a sequence's end do not count; default: False, True from behaviour version 31 on"""

    def _spatial_dims(self, x: Tensor) -> list[Dim]:
        if self.in_spatial_dims is not None:
            dims = [x.get_dim_tag_from_description(d) for d in self.in_spatial_dims]
            if x.feature_dim is not None and x.feature_dim in dims:
                return self._with_feature_axis(dims)
            return dims
        dims = [d for i, d in enumerate(x.dims) if not d.is_batch_dim and i != x.feature_dim_axis]
        if len(dims) > 1:
            message = "%s: in_spatial_dims is not given, but there are several axes." % self.layer_class
            BehaviorVersion.require(False, message, Change.SPATIAL_DIMS_ARE_REQUIRED)
        return dims

    def _with_feature_axis(self, dims: list[Dim]) -> list[Dim]:
        """:return: spatial dims, among them the feature dim"""
        raise ConfigError("the feature axis cannot be one of in_spatial_dims: %r" % (self.in_spatial_dims,))

    def _per_axis(self, option: str, value: Any, axes: Sequence[Dim], *, least: int = 1) -> list[int]:
        """
        :param option: name, for the message
        :param value: number, or one for each axis
        :param axes: spatial
        :param least: what numbers are allowed
        :return: one for each axis
        """
        values = [value] * len(axes) if isinstance(value, int) else value
        if (
            not isinstance(values, (list, tuple))
            or len(values) != len(axes)
            or not all(isinstance(v, int) and v >= least for v in values)
        ):
            raise ConfigError("%s must have one number per spatial axis (%i), but is %r" % (option, len(axes), value))
        return list(values)

    def _padding(self, padding: Any, axes: Sequence[Dim]) -> str | list[int]:
        """
        :return: in small letters; or numbers
        """
        if not isinstance(padding, str):
            return self._per_axis("padding", padding, axes, least=0)
        if padding.lower() not in PADDINGS:
            names = ", ".join('"%s"' % name for name in PADDINGS)
            raise ConfigError("padding must be %s, or a number, but is %r" % (names, padding))
        return padding.lower()

    def _use_mask(self, x: Tensor, axes: Sequence[Dim]) -> bool:
        if self.use_time_mask is not None:
            return self.use_time_mask
        use_mask = BehaviorVersion.has(Change.CONV_LAYERS_MASK)
        if not use_mask and dims_to_mask(x, axes):
            log.print_warning(_PADDING_IS_SEEN, once=True)
        return use_mask

    def _out_spatial_dims(self) -> Sequence[Dim] | None:
        if self.out_spatial_dims is not None and not all(isinstance(d, Dim) for d in self.out_spatial_dims):
            raise ConfigError("out_spatial_dims must be Dims, but are %r" % (self.out_spatial_dims,))
        return self.out_spatial_dims
