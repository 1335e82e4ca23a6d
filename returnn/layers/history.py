"""Layers that go over frames, where these are the frames of a loop around the layer.

In the loop, such a layer gets one frame, and keeps what it needs of the frames before. Moved out of the loop, it gets
all frames at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import returnn.frontend as rf
from returnn.tensor import Dim, DimError, Tensor, single_step_dim
from returnn.tensor.backend import backend_of_raw
from returnn.tensor.hidden_dims import all_dims_visible_ctx, visible_dims
from returnn.util.errors import ConfigError

from .axes import axis_of
from .base import LayerBase


def over_frames(layer: LayerBase, x: Tensor, spec: Any = "T", *, option: str = "axis") -> tuple[Tensor, Dim | None]:
    """
    :param layer: goes over an axis
    :param x: its input
    :param spec: axis description: of an axis of x, or, if x has no such one, of the axis of the loop around the layer
    :param option: where that stands
    :return: x; and its axis, which may be that of the loop. None: x is one frame of the loop
    :raises ConfigError: there is no such axis
    """
    if not means_frames_of_loop(layer, x, spec):
        return x, axis_of(x, spec, option=option)
    if layer.is_stepping:
        return x, None
    dim = layer.dim_of_frames
    return x if dim in x.dims else rf.expand_dim(x, dim), dim


def means_frames_of_loop(layer: LayerBase, x: Tensor, spec: Any = None) -> bool:
    """
    :param layer: goes over an axis
    :param x: its input
    :param spec: axis description; None: time
    :return: whether that is the axis of the loop around the layer
    """
    loop_dim = layer.dim_of_frames
    if loop_dim is None:
        return False
    if spec is None:
        spec = "T"
    if isinstance(spec, Dim):
        return spec in (loop_dim, single_step_dim)
    if _axes(x, spec):
        return False
    dims = [d for d in x.dims if d != loop_dim]
    view = x.like(None, dims=[loop_dim, *dims], time_dim=x.time_dim or loop_dim)
    with all_dims_visible_ctx():
        return _axes(view, spec) == [0]


def _axes(x: Tensor, spec: Any) -> list[int]:
    try:
        return x.get_axes_from_description(spec)
    except DimError:
        return []


def number_of_frame(layer: LayerBase) -> Tensor:
    """
    :param layer: in a loop, or moved out of it
    :return: int32: how many frames it was computed for before this one; moved out [frames]: 0, 1, ..
    """
    if layer.network.masking is not None:
        return _number_of_masked_frame(layer)
    layer.counts_frames = True
    run = layer.network.require_loop().run
    return Tensor("number", [], "int32") if run is None or layer._is_template else run.index


def _number_of_masked_frame(layer: LayerBase) -> Tensor:
    if not layer.is_stepping:
        index = rf.range_over_dim(layer.dim_of_frames)
        return index.like(index.raw_tensor, sparse_dim=None)
    number = layer.previous("number", Tensor("number", [], "int32"), lambda: zeros_before(layer, [], "int32"))
    layer.leave("number", number + 1)
    return number


def all_frames_so_far(
    layer: LayerBase, key: str, x: Tensor, dim: Dim, *, start: Callable[[Dim], Tensor] | None = None
) -> Tensor:
    """
    :param layer: in a loop
    :param key: of its state
    :param x: this frame
    :param dim: new; it gets its size
    :param start: gives the frames before the first one, with this dim for them; None: there are none
    :return: [batch, dim, ..]: the frames before, and this one
    """
    before_dim, one = layer.make_dim("before:" + key, None), layer.make_dim("frame", 1)
    dims = visible_dims(x.dims)
    place = 1 if dims and dims[0].is_batch_dim else 0
    state_dims = [*dims[:place], before_dim, *dims[place:]]
    template = x.like(None, dims=state_dims, time_dim=None)
    if start is None:
        before = layer.previous(key, template, lambda: zeros_before(layer, state_dims, x.dtype))
    elif layer.network.masking is None:
        before = layer.previous(key, template, lambda: start(before_dim))
    else:
        raise ConfigError("frames from before the first one are not possible within masked computation")
    set_size_of_array(before_dim, before)
    y, total = rf.concat(
        (before, before_dim), (rf.expand_dim(x, one), one), allow_broadcast=True, handle_dynamic_dims=False
    )
    y = rf.replace_dim(y, in_dim=total, out_dim=dim)
    if layer.network.masking is None:
        set_size_of_array(dim, y)
    else:
        y = _without_frames_in_between(y, x, dim, number_of_frame(layer))
    layer.leave(key, rf.replace_dim(y, in_dim=dim, out_dim=before_dim), in_each_frame=True)
    return y


def _without_frames_in_between(y: Tensor, x: Tensor, dim: Dim, number: Tensor) -> Tensor:
    """
    Not all frames concern the layer. A frame that does not leaves its place to the next one.

    :param y: frames so far, and this one
    :param x: this one
    :param dim: of y; it gets its lengths
    :param number: of x, in each sequence
    :return: x at that place
    """
    set_length_of_history(dim, number)
    if y.raw_tensor is None:
        return y
    axis = y.get_axis_from_dim(dim)
    y = y.like(backend_of_raw(y.raw_tensor).slice(y.raw_tensor, axis, None, dim.get_dim_value()))
    places = rf.range_over_dim(dim)
    is_here = rf.compare(places.like(places.raw_tensor, sparse_dim=None), "equal", number)
    return rf.where(is_here, x, y).copy_transpose(y.dims)


def frames_as_history(layer: LayerBase, x: Tensor, dim: Dim) -> Tensor:
    """
    What :func:`all_frames_so_far` is for all frames at once: at frame t, ``dim`` has the length t + 1.

    :param layer: moved out of a loop
    :param x: has the axis of the loop
    :param dim: new; it gets its lengths
    :return: with this in place of the axis of the loop
    """
    loop_dim = layer.dim_of_frames
    set_length_of_history(dim, number_of_frame(layer))
    return rf.replace_dim(x, in_dim=loop_dim, out_dim=dim)


def set_length_of_history(dim: Dim, number: Tensor) -> None:
    """
    :param dim: of all frames so far; gets its length, also where another layer gave it one
    :param number: see :func:`number_of_frame`
    """
    if number.raw_tensor is not None:
        dim.dyn_size_ext = number + 1


def set_size_of_array(dim: Dim, x: Tensor) -> None:
    """
    :param dim: of x; gets the size of the array, the same for all sequences
    """
    if x.raw_tensor is not None:
        backend = backend_of_raw(x.raw_tensor)
        size = backend.convert(backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(dim)), "int32")
        dim.dyn_size_ext = Tensor("frames", [], "int32", raw_tensor=size)


def zeros_before(layer: LayerBase, dims: Sequence[Dim], dtype: str) -> Tensor:
    """
    :param layer: in a loop
    :param dims: of a state; those whose sizes are not known outside of the loop start with the size 0
    :param dtype: of it
    :return: zeros, for what is before the first frame
    """
    run = layer.network.require_loop().run
    assert run is not None
    return run.full_tensor("start", dims, dtype, 0)


def not_in_loop(what: str) -> ConfigError:
    """
    :param what: an option, and its value
    :return: error: the layer would need later frames
    """
    return ConfigError("%s is not possible within a loop over the frames: later frames are not there yet" % what)
