"""What a masked_computation masks, by what, and what becomes of it.

Outside of loops, the frames where the mask is true stand one behind the other. So they do within a loop, where the
layers are computed for all frames at once. Frame by frame, the unit is computed in each frame; where the mask is false,
its output and all of its states stay as they were. Both give the same. One within another is always computed frame by
frame.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.tensor import Dim, DimKind, Tensor, batch_dim
from returnn.tensor.backend import backend_of_raw
from returnn.tensor.hidden_dims import visible_dims
from returnn.util.errors import ConfigError

from .base import LayerBase
from .unify import unify

if TYPE_CHECKING:
    from returnn.network.network import Network


class Masking:
    """Of one layer."""

    def __init__(self, network: Network, name: str, opts: dict[str, Any]):
        """
        :param network: that the layer is in
        :param name: of the layer
        :param opts: of the layer, after ``transform_config_dict``
        """
        self.mask: LayerBase | None = opts.get("mask")
        self.masked_from: LayerBase | None = opts.get("masked_from")
        self.sources: list[LayerBase] = opts["sources"]
        if self.mask is None and self.masked_from is None:
            raise ConfigError('option "mask" is missing')
        self.loop = network.loop if self.mask is None or is_of_one_frame(self.mask, network) else None
        """the loop whose frames are masked; None: the frames of an axis are"""
        self.holds = self.loop is not None and self.masked_from is None
        """the mask says, frame by frame, whether something changes"""
        if self.holds and self.mask is not None and not self.mask.is_unknown and self.mask.output.dtype != "bool":
            raise ConfigError("the mask must be bool [batch] within a loop, but is %s" % self.mask.output.short_repr())
        self.outer: Masking | None = network.masking if self.holds else None
        """of the same loop, around this one: what it masks does not concern the layers inside, either"""
        self.in_dim: Dim | None = None
        """axis that is masked, if it is not that of a loop"""
        if self.mask is not None and self.loop is None:
            self.in_dim = axis_of_mask(self.mask.output, opts.get("in_spatial_dim"))
        self.out_dim: Dim = opts.get("out_spatial_dim") or self._default_out_dim(network, name)

    def _default_out_dim(self, network: Network, name: str) -> Dim:
        dim = None if self.masked_from is None else self.masked_from.output.time_dim
        return dim or network.dim_of_layer(name, "masked:time", None, DimKind.Spatial)

    @property
    def masks(self) -> list[LayerBase]:
        """all that have to be true in a frame"""
        own = [] if self.mask is None else [self.mask]
        return own if self.outer is None else [*own, *self.outer.masks]

    def concerns(self, layer: LayerBase) -> bool:
        """
        :return: whether the layer has the frames that are masked
        """
        if self.loop is not None:
            return layer.network.loop is self.loop
        return self.in_dim is not None and self.in_dim in layer.output.dims

    def with_dims_of_mask(self, x: Tensor) -> Tensor:
        """
        :param x: of one frame, or of many
        :return: x, repeated over the sequences, if these do not differ in it
        """
        assert self.mask is not None
        dims = [batch_dim] if self.mask.is_unknown else visible_dims(self.mask.output.dims)
        for dim in dims:
            if dim not in x.dims:
                x = x.copy_add_dim_by_tag(dim, unbroadcast=True, axis=0)
        return x

    def held(self, new: Tensor, before: Tensor) -> Tensor:
        """
        :param new: of this frame
        :param before: of the frame before
        :return: new where the mask is true, else as before
        """
        assert self.loop is not None and self.loop.run is not None
        masks = [mask.output for mask in self.masks]
        *masks, new, before = self.loop.run.of_same_hypotheses(*masks, new, before)
        return rf.where(functools.reduce(rf.logical_and, masks), new, before)

    def masked_frames_of_loop(self, x: Tensor, mask: Tensor) -> Tensor:
        """
        :param x: with the axis of the loop; without, there is nothing to do
        :param mask: of all frames
        :return: with ``out_dim`` instead
        """
        assert self.loop is not None and self.loop.loop_dim is not None
        dim = self.loop.loop_dim
        if dim not in x.dims:
            return x
        y, _ = rf.masked_select(x, mask=_with_dim(mask, dim), dims=[dim], out_dim=self.out_dim)
        return y.copy_transpose([self.out_dim, *(d for d in y.dims if d != self.out_dim)])


def is_of_one_frame(mask: LayerBase, network: Network) -> bool:
    """
    :param mask: as an option names it
    :param network: that the layer with the option is in
    :return: whether it is of a frame of the loop around, a bool of each sequence
    """
    if network.loop is None:
        return False
    return mask.is_unknown or all(d.is_batch_dim for d in visible_dims(mask.output.dims))


def frames_counted(mask: Tensor, dim: Dim) -> Tensor:
    """
    :param mask: bool, of all frames
    :param dim: axis of the frames
    :return: int32: how often the mask was true, up to each frame and with it
    """
    return rf.cumsum(rf.cast(_with_dim(mask, dim), "int32"), spatial_dim=dim)


def frame_of_number(x: Tensor, number: Tensor, *, masked_dim: Dim, initial: Tensor) -> Tensor:
    """
    :param x: masked frames
    :param number: int32: of a frame, from 1 on
    :param masked_dim: of x, the axis of the frames
    :param initial: what stands in front of them: number 0. It may have fewer dims
    :return: number.., other dims of x..
    """
    one = Dim(1, description="initial", kind=DimKind.Spatial, auto_generated=True)
    joined, dim = rf.concat((rf.expand_dim(initial, one), one), (x, masked_dim), allow_broadcast=True)
    return rf.gather(joined, indices=number, axis=dim, clip_to_valid=True)


def initial_frame(x: Tensor, value: Any) -> Tensor:
    """
    :param x: masked frames
    :param value: option ``initial_output``: a number, "zeros", "ones", None for zeros; or a Tensor
    :return: dtype and labels as in x
    :raises ConfigError: it is none of these; or labels need one
    """
    if isinstance(value, Tensor):
        return unify([x, value])[1]
    if value is None and x.sparse:
        raise ConfigError(
            "the source %s are labels: its unit needs an initial_output for frames in front of the first one"
            % x.short_repr()
        )
    number = {None: 0, "zeros": 0, "ones": 1}.get(value, value) if isinstance(value, (str, type(None))) else value
    if not isinstance(number, (int, float)):
        raise ConfigError('initial_output must be a number, "zeros", "ones" or a layer here, but is %r' % (value,))
    raw = None if x.raw_tensor is None else backend_of_raw(x.raw_tensor).full([], number, x.dtype)
    return Tensor("initial", [], x.dtype, sparse_dim=x.sparse_dim, raw_tensor=raw)


def axis_of_mask(mask: Tensor, axis: Dim | str | None) -> Dim:
    """
    :param mask: of the option
    :param axis: option: Dim, or axis description
    :return: of the mask
    :raises ConfigError: it is not bool [batch, time]
    """
    if isinstance(axis, Dim):
        dim: Dim | None = axis
    elif axis is None:
        dim = mask.time_dim
    else:
        dim = mask.get_dim_tag_from_description(axis)
    if (
        mask.dtype != "bool"
        or dim is None
        or dim not in mask.dims
        or not mask.have_batch_axis()
        or mask.batch_ndim != 2
    ):
        raise ConfigError("the mask must be bool [batch, time], but is %s" % mask.short_repr())
    return dim


def _with_dim(mask: Tensor, dim: Dim) -> Tensor:
    return mask if dim in mask.dims else rf.expand_dim(mask, dim)
