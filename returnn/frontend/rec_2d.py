"""An LSTM over two axes: each pair of a source frame and a target frame is a cell.

A cell needs the one of the source frame before, and the one of the target frame before. So all cells of a diagonal are
computed at once: with S source frames and T target frames in S + T - 1 steps.
"""

from __future__ import annotations

from typing import Any

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import Backend, Raw, Size, backend_of_all, template_backend

from .elementwise import compare, sigmoid, tanh, where
from .indexing import gather
from .join import split
from .matmul import matmul
from .packing import range_over_dim
from .shape import require_dims


def lstm_2d(
    source: Tensor,
    target: Tensor,
    *,
    source_dim: Dim,
    target_dim: Dim,
    w_source: Tensor,
    w_target: Tensor,
    gates_dim: Dim,
    out_dim: Dim,
    before: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """
    z[t, s] = source[s] + target[t] + y[t, s - 1] w_source + y[t - 1, s] w_target, split into i, f, l, o, j;
    c[t, s] = sigmoid(f) (sigmoid(l) c[t - 1, s] + (1 - sigmoid(l)) c[t, s - 1]) + sigmoid(i) tanh(j);
    y[t, s] = sigmoid(o) tanh(c[t, s]). In front of the first frames, y and c are zero.

    :param source: [source_dim, .., gates_dim] in any order
    :param target: [target_dim, .., gates_dim] in any order; further dims as in the source, or not
    :param source_dim: to iterate over
    :param target_dim: to iterate over
    :param w_source: [out_dim, gates_dim]
    :param w_target: [out_dim, gates_dim]
    :param gates_dim: 5 times the size of out_dim
    :param out_dim: features of y and c
    :param before: y and c of the target frame before the first one: [source_dim, .., out_dim]
    :return: y and c: [target_dim, source_dim, .., out_dim]
    """
    require_dims(source, [source_dim, gates_dim], op="lstm_2d")
    require_dims(target, [target_dim, gates_dim], op="lstm_2d")
    if gates_dim.dimension != 5 * out_dim.require_static():
        raise DimError("lstm_2d: %s must have 5 times the size of %s" % (gates_dim, out_dim))
    inputs = [target, source, *(before or ())]
    axes = (source_dim, target_dim, gates_dim, out_dim)
    rest = list(dict.fromkeys(d for x in inputs for d in x.dims if d not in axes))
    rest.sort(key=lambda d: not d.is_batch_dim)
    backend = backend_of_all([*inputs, w_source, w_target])
    dims = (target_dim, source_dim, *rest, out_dim)
    y = source.like(None, dims=dims, feature_dim=out_dim, time_dim=target_dim, name="lstm_2d")
    if backend is template_backend:
        return y, y.copy_template()
    sizes = {d: next(_size(backend, x, d) for x in inputs if d in x.dims) for d in (target_dim, source_dim, *rest)}
    num_rows = sizes[target_dim]
    row_shape: list[Size] = [*(sizes[d] for d in rest), out_dim.require_static()]
    source = source.copy_transpose([source_dim, *(d for d in rest if d in source.dims), gates_dim])
    frames = [source.raw_tensor]
    for x in before or ():
        full = backend.broadcast_to(
            x.copy_compatible_to_dims_raw((source_dim, *rest, out_dim)), [sizes[source_dim], *row_shape]
        )
        frames.append(full)
    more = (
        max(num_rows - 1, 0) if isinstance(num_rows, int) else backend.binary("maximum", _add(backend, num_rows, -1), 0)
    )
    frames = [backend.pad(x, [(0, more)] + [(0, 0)] * (len(backend.static_shape(x)) - 1)) for x in frames]
    zeros = backend.full([num_rows, *row_shape], 0.0, source.dtype)
    no_row = None if before is not None else backend.full(row_shape, 0.0, source.dtype)
    inner = source.dims[1:]
    no_source = backend.full([num_rows, *(sizes.get(d, d.dimension) for d in inner)], 0.0, source.dtype)
    rows = range_over_dim(target_dim, of=target)
    rows = rows.like(rows.raw_tensor, sparse_dim=None)
    state_dims = (target_dim, *rest, out_dim)

    def diagonal(i: Raw, at: list[Raw], state: list[Raw]) -> tuple[list[Raw], list[Raw]]:
        """
        :param i: source frame + target frame
        :param at: source frame i, and what is in front of the first target frame
        :param state: the diagonal before: for each target frame y, c, and the source frame
        """
        left_y, left_c = (y.like(raw, dims=state_dims) for raw in state[:2])
        firsts = at[1:] or [no_row, no_row]
        up_y, up_c = (
            y.like(_shifted(backend, r, f, num_rows), dims=state_dims) for r, f in zip(state, firsts, strict=False)
        )
        raw_source = _shifted(backend, state[2], at[0], num_rows)
        z = source.like(raw_source, dims=(target_dim, *inner), time_dim=None) + target
        z = z + matmul(left_y, w_source, reduce=out_dim) + matmul(up_y, w_target, reduce=out_dim)
        parts = split(z, axis=gates_dim, out_dims=[out_dim] * 5)
        in_gate, forget, from_target, out_gate = (sigmoid(x) for x in parts[:4])
        c = forget * (from_target * up_c + (1.0 - from_target) * left_c) + in_gate * tanh(parts[4])
        has_begun = compare(rows, "<=", Tensor("i", [], "int32", raw_tensor=i))
        new = [where(has_begun, x, 0.0).copy_transpose(state_dims).raw_tensor for x in (out_gate * tanh(c), c)]
        return [*new, raw_source], new

    _, _, stacked = backend.frame_loop(
        diagonal,
        frames=frames,
        state=[zeros, zeros, no_source],
        num_frames=_add(backend, sizes[source_dim], more),
        output_dtypes=[source.dtype] * 2,
        empty_shapes=lambda: [[num_rows, *row_shape]] * 2,
    )
    diagonals = Dim(None, description="diagonals")
    columns = range_over_dim(source_dim, of=source)
    places = rows + columns.like(columns.raw_tensor, sparse_dim=None)
    values = [
        gather(y.like(raw, dims=(diagonals, *state_dims)), indices=places, axis=diagonals).copy_transpose(dims)
        for raw in stacked
    ]
    return y.like(values[0].raw_tensor), y.like(values[1].raw_tensor)


def _shifted(backend: Backend, x: Raw, first: Raw, num_rows: Size) -> Raw:
    """
    :param x: [T, ..]
    :param first: [..]
    :return: [T, ..]: the first one, then x without its last one
    """
    return backend.slice(backend.concat([backend.expand_dims(first, 0), x], 0), 0, None, num_rows)


def _size(backend: Backend, x: Tensor, dim: Dim) -> Size:
    return backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(dim))


def _add(backend: Backend, a: Size, b: Size) -> Any:
    return a + b if isinstance(a, int) and isinstance(b, int) else backend.binary("add", a, b)
