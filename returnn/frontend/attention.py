"""Attention, and encodings of positions."""

from __future__ import annotations

import math

import numpy

from returnn.tensor import Dim, Tensor
from returnn.tensor.backend import backend_of_raw
from returnn.tensor.run_table import current_table

from .elementwise import clip_by_value, combine, compare
from .masking import dims_to_mask, known_mask
from .matmul import matmul
from .nn import dropout, masked_softmax, softmax
from .packing import range_over_dim
from .reduce import lowest
from .shape import require_dims


def dot_attention(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    key_dim: Dim,
    axis: Dim,
    scale: float | None = None,
    energy_bias: Tensor | None = None,
    causal_query_spatial_dim: Dim | None = None,
    att_dropout: float = 0.0,
    name: str = "dot_attention",
) -> Tensor:
    """
    softmax(scale * query . keys + energy_bias) . values; Vaswani et al., 2017.

    :param query: [.., key_dim]
    :param keys: [.., axis, key_dim]
    :param values: [.., axis, value dim]. Padding of these must be finite.
    :param key_dim: summed over
    :param axis: what is attended to; frames behind a sequence's end get no weight
    :param scale: 1 / sqrt(key_dim) by default
    :param energy_bias: added before the softmax; its dims are among those of the weights
    :param causal_query_spatial_dim: of the query: frame t of it sees frames 0 .. t of axis
    :param att_dropout: of the weights, in training, each by itself
    :param name: who draws, see :func:`dropout`
    :return: the dims of the query but key_dim, then those that only the values have, but axis
    """
    require_dims(query, [key_dim], op="dot_attention")
    require_dims(keys, [axis, key_dim], op="dot_attention")
    require_dims(values, [axis], op="dot_attention")
    scale = 1.0 / math.sqrt(key_dim.require_static()) if scale is None else scale
    rest = [d for d in query.dims if d != key_dim]
    shared = [d for d in rest if d in keys.dims]
    # the layout in which a product of matrices leaves it: this is the largest array, and not to be transposed
    order = shared + [d for d in keys.dims if d not in (*shared, axis, key_dim)] + [d for d in rest if d not in shared]
    energy = matmul(query * scale if scale != 1 else query, keys, reduce=key_dim, dim_order=[*order, axis])
    if energy_bias is not None:
        energy = combine(energy, "add", energy_bias)
    weights = _attention_weights(energy, axis=axis, causal_query_spatial_dim=causal_query_spatial_dim)
    if att_dropout:
        weights = dropout(weights, att_dropout, name=name)
    own = [d for d in values.dims if d not in weights.dims]
    return matmul(weights, values, reduce=axis, use_mask=False, dim_order=rest + own)


def _attention_weights(energy: Tensor, *, axis: Dim, causal_query_spatial_dim: Dim | None) -> Tensor:
    has_padding = bool(dims_to_mask(energy, [axis]))
    # of its own sequence a frame sees at least itself; and what frames behind the end see does not matter
    own = axis.twin_of is not None and axis.twin_of in energy.dims
    if causal_query_spatial_dim is not None:
        mask = _causal_mask(energy, query_spatial_dim=causal_query_spatial_dim, axis=axis)
        if has_padding and not own:
            mask = combine(mask, "logical_and", known_mask(axis, energy))
    elif has_padding:
        mask = known_mask(axis, energy)
    else:
        return softmax(energy, axis=axis, use_mask=False)
    return masked_softmax(energy, axis=axis, mask=mask, fill=lowest(energy.dtype) if own else None)


def _causal_mask(energy: Tensor, *, query_spatial_dim: Dim, axis: Dim) -> Tensor:
    """
    :return: bool [query_spatial_dim, axis]: axis <= query; computed once a step
    """

    def compute() -> Tensor:
        frames, places = (_frame_numbers(dim, energy) for dim in (query_spatial_dim, axis))
        return compare(places, "less_equal", frames).copy_transpose([query_spatial_dim, axis])

    if energy.raw_tensor is None:
        return Tensor("causal", [query_spatial_dim, axis], "bool")
    key = ("causal", query_spatial_dim, axis, backend_of_raw(energy.raw_tensor).name)
    return current_table().cached(key, compute)


def sinusoidal_encoding(indices: Tensor, *, feat_dim: Dim, base: float = 1e4) -> Tensor:
    """
    n = feat_dim // 2 channels sin(i * f_k), then n channels cos(i * f_k), with f_k = base ^ (-k / (n - 1)), which goes
    from 1 to 1 / base; for n = 1 it is 1. If feat_dim is odd, one channel 0 follows.

    :param indices: any dims, int or float
    :param feat_dim: static
    :param base: > 1
    :return: [dims of indices.., feat_dim], float32
    """
    size = feat_dim.require_static()
    number = size // 2
    template = Tensor("encoding", indices.dims + (feat_dim,), "float32", feature_dim=feat_dim)
    raw, rank = indices.raw_tensor, indices.batch_ndim
    if raw is None:
        return template
    backend = backend_of_raw(raw)
    rates = numpy.exp(numpy.arange(number) * (-math.log(base) / max(number - 1, 1))).astype("float32")
    angles = backend.binary("mul", backend.expand_dims(backend.cast(raw, "float32"), rank), backend.convert(rates))
    raw = backend.concat([backend.unary("sin", angles), backend.unary("cos", angles)], rank)
    if size % 2:
        raw = backend.pad(raw, [(0, 0)] * rank + [(0, 1)])
    return template.like(raw)


def sinusoidal_positional_encoding(
    *, spatial_dim: Dim, feat_dim: Dim, offset: Tensor | int | None = None, base: float = 1e4, of: Tensor | None = None
) -> Tensor:
    """
    :param spatial_dim: of which frames
    :param feat_dim: static
    :param offset: added to the number of each frame
    :param base: see :func:`sinusoidal_encoding`
    :param of: has the dim: its array says how many frames there are. By default the lengths of the dim say so
    :return: [spatial_dim, dims of offset.., feat_dim]
    """
    indices = _frame_numbers(spatial_dim, of)
    if offset is not None:
        indices = combine(indices, "add", offset)
    return sinusoidal_encoding(indices, feat_dim=feat_dim, base=base)


def relative_positions(
    *,
    query_spatial_dim: Dim,
    key_value_spatial_dim: Dim,
    clipping: int,
    query_offset: Tensor | int = 0,
    of: Tensor | None = None,
) -> Tensor:
    """
    key - (query + query_offset), cut to [-clipping, clipping], plus clipping: rows of a table of 2 * clipping + 1.

    :param query_spatial_dim: frames that look
    :param key_value_spatial_dim: frames that are looked at; may be the twin of the other
    :param clipping: distances from here on are one
    :param query_offset: number of the first query; int scalar
    :param of: where it has one of the dims, its array says how many frames there are, see :func:`range_over_dim`
    :return: [query_spatial_dim, key_value_spatial_dim], int32
    """
    dims = [query_spatial_dim, key_value_spatial_dim]
    if of is not None and of.raw_tensor is None:
        return Tensor("positions", dims, "int32")
    query, key = (_frame_numbers(dim, of) for dim in dims)
    if not isinstance(query_offset, int) or query_offset:
        query = combine(query, "add", query_offset)
    return relative_positions_of_frame(query, key, clipping=clipping).copy_transpose(dims)


def relative_positions_of_frame(query: Tensor, keys: Tensor, *, clipping: int) -> Tensor:
    """
    :param query: number of the frame that looks; int, any dims
    :param keys: numbers of the frames that are looked at
    :param clipping: see :func:`relative_positions`
    :return: see there; the dims of both
    """
    return combine(clip_by_value(combine(keys, "sub", query), -clipping, clipping), "add", clipping)


def _frame_numbers(dim: Dim, of: Tensor | None) -> Tensor:
    """:return: [dim]: 0, 1, .."""
    original = dim.twin_of or dim
    frames = range_over_dim(original, of=of if of is not None and original in of.dims else None)
    return frames.like(frames.raw_tensor, dims=[dim], sparse_dim=None)
