"""What becomes of the output of a layer of the unit for layers outside."""

from __future__ import annotations

import functools

import returnn.frontend as rf
from returnn.layers.activations import OutputWithActivation
from returnn.layers.base import LayerBase
from returnn.layers.beam_border import merge_beam
from returnn.layers.features import default_feature_again
from returnn.tensor import Tensor

from .all_frames import AllFrames
from .context import LoopContext


def output_for_outside(layer: LayerBase, context: LoopContext, frames: AllFrames, *, zero_padding: bool) -> Tensor:
    """
    :param layer: of the unit
    :param context: of the loop
    :param frames: of all layers of the unit
    :param zero_padding: frames behind a sequence's end are zero
    :return: its output, the beam merged into the batch; without value if outputs of all frames are not there
    """
    subnet = context.subnet
    if layer not in frames:
        return subnet.template_of(layer)
    full = _masked_for_loss(layer, context, frames).copy()
    if subnet.is_single_step and context.dim in full.dims:
        full = _only_frame(layer, full, context)
    else:
        masking = layer.network.masking
        dim = context.groups.dims_of_inputs.get(layer, context.dim) if masking is None else masking.out_dim
        if dim in full.dims:
            if zero_padding and dim.need_masking and set(dim.size_dims or ()) <= set(full.dims):
                zero = False if full.dtype == "bool" else 0
                full = rf.where(dim.get_mask(), full, zero).copy_transpose(full.dims)
            full.time_dim_axis = full.get_axis_from_dim(dim)
            full = default_feature_again(full, before=subnet.template_of(layer))
    return merge_beam(full) if subnet.parent_net.loop is None else full


def _only_frame(layer: LayerBase, full: Tensor, context: LoopContext) -> Tensor:
    """
    :param layer: of a unit that does one step
    :param full: its output, with the axis of the loop
    :return: without that
    """
    before = layer.output_before_activation
    if before is not None and context.dim in before.x.dims:
        layer.output_before_activation = OutputWithActivation(rf.squeeze(before.x, context.dim), before.activation)
    frame = rf.squeeze(full, context.dim)
    res = context.subnet.template_of(layer)
    order = [*(d for d in res.dims if d in frame.dims), *(d for d in frame.dims if d not in res.dims)]
    return res.like(frame.copy_transpose(order).raw_tensor, dims=order)


def _masked_for_loss(layer: LayerBase, context: LoopContext, frames: AllFrames) -> Tensor:
    """
    :param layer: its output of all frames is there; if it was computed frame by frame, also of frames that do not
        concern it
    :return: without these, if it has a loss
    """
    masking, full = layer.network.masking, frames[layer]
    if masking is None or masking.mask is None or layer.loss is None or context.dim not in full.dims:
        return full
    mask = functools.reduce(rf.logical_and, map(frames.made, masking.masks))
    before = layer.output_before_activation
    if before is not None:
        x = masking.masked_frames_of_loop(before.x, mask)
        layer.output_before_activation = OutputWithActivation(x, before.activation)
    return masking.masked_frames_of_loop(full, mask)
