"""Inputs of a loop that are read frame by frame, but have lengths of their own.

They have to be those of the loop, which only the step can tell. What is computed for all frames at once from one such
input alone keeps its lengths, whatever they are: for instance the target, with a loss that needs no other lengths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase
from returnn.tensor import Dim, Tensor
from returnn.util.errors import UserError

from .loop_layers import RecFrameLayer, RecPreviousLayer, RecStepInfoLayer

if TYPE_CHECKING:
    import numpy

    from returnn.tensor.backend import Backend

    from .partition import Partition
    from .subnet import RecSubnet


def dims_of_inputs(groups: Partition, subnet: RecSubnet) -> dict[LayerBase, Dim]:
    """
    :param groups: which layers are computed where
    :param subnet: they are in
    :return: layers that have the frames of an input, and not those of the loop -> their dim there
    """
    found: dict[LayerBase, Dim] = {}
    for layer in (*groups.before, *groups.behind):
        dims = {_dim_of_frames(x, found, subnet) for x in layer.get_dep_layers()} - {None}
        if len(dims) == 1 and subnet.loop_dim not in dims and not _needs_loop(layer, subnet):
            dim = dims.pop()
            read_as_whole = [x for x in layer.get_dep_layers() if x.network.loop is not subnet and dim in x.output.dims]
            if dim is not None and not read_as_whole:
                found[layer] = dim
    return found


def dim_of_frames(layer: LayerBase, groups: Partition) -> Dim | None:
    """
    :param layer: of the unit
    :param groups: which layers are computed where
    :return: None: the frames are those of the loop
    """
    return layer.own_loop_dim if isinstance(layer, RecFrameLayer) else groups.dims_of_inputs.get(layer)


def _dim_of_frames(layer: LayerBase, found: dict[LayerBase, Dim], subnet: RecSubnet) -> Dim | None:
    """None: there are none"""
    if layer.network.loop is not subnet:
        return None
    if isinstance(layer, RecFrameLayer):
        return layer.own_loop_dim
    if isinstance(layer, (RecPreviousLayer, RecStepInfoLayer)):
        return subnet.loop_dim
    return found.get(layer, subnet.loop_dim)


def _needs_loop(layer: LayerBase, subnet: RecSubnet) -> bool:
    needs = layer.counts_frames or layer.need_last or subnet.states.has(layer)
    return needs or layer.network.masking is not None or bool(layer.get_sub_networks())


def with_frames_of_loop(x: Tensor, dim: Dim, subnet: RecSubnet, what: str) -> Tensor:
    """
    :param x: for all frames of an input
    :param dim: of these
    :param subnet: whose loop has as many; if not, the step fails
    :param what: x is, for the message
    :return: the same, for all frames of the loop
    """
    loop_dim, lens = subnet.loop_dim, dim.dyn_size_ext
    wanted = loop_dim
    if loop_dim.is_static and lens is not None:
        wanted = Dim(None, description="frames of the loop")
        wanted.dyn_size_ext = lens * 0 + loop_dim.dimension
    text = "layer %s: the lengths of %s are not those of the loop" % (subnet.net.name_prefix.rstrip("/"), what)
    x = subnet.net.check_same_lens(x, [(dim, wanted)], text)
    return x.like(x.raw_tensor, dims=[loop_dim if d == dim else d for d in x.dims])


def at_most(max_seq_len: Any, frames: Sequence[Any], backend: Backend) -> Any:
    """
    :param max_seq_len: int or raw scalar, of a loop of unknown length; None: no bound
    :param frames: raw [frames, ..]: what it reads frame by frame
    :param backend: of these
    :return: the same, but no more frames than there are
    """
    for raw in frames:
        size = backend.size_of_axis(raw, 0)
        if max_seq_len is None:
            max_seq_len = size
        elif isinstance(size, int) and isinstance(max_seq_len, int):
            max_seq_len = min(max_seq_len, size)
        else:
            max_seq_len = backend.binary("minimum", backend.convert(max_seq_len, "int32"), size)
    return max_seq_len


def check_has_ended(
    lens: Tensor, ended: Tensor, num: Any, max_seq_len: Any, inputs: Sequence[str], subnet: RecSubnet
) -> Tensor:
    """
    :param lens: of the sequences, behind the last frame of a loop of unknown length
    :param ended: of the sequences
    :param num: raw: number of frames, see :func:`at_most`
    :param max_seq_len: int or raw scalar
    :param inputs: what is read frame by frame
    :param subnet: with the loop
    :return: lens; where only the end of an input ended the loop, the step fails
    """

    def check(num: numpy.ndarray, ended: numpy.ndarray, max_seq_len: numpy.ndarray) -> None:
        if num < max_seq_len and not ended.all():
            text = "layer %s: the loop has not ended behind frame %i, which is the last one of what it reads, %s"
            raise UserError(text % (subnet.net.name_prefix.rstrip("/"), num - 1, ", ".join(inputs)))

    max_seq_len = subnet.net.backend.convert(max_seq_len, "int32")
    return lens.like(subnet.net.observe(check, [num, ended.raw_tensor, max_seq_len], lens.raw_tensor))
