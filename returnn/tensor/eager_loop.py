"""A loop over frames on backends that compute at once; and what any such loop asks of its state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from .backend import Backend, Raw, Size, backend_of_raw
from .run_table import RunTable, current_table, run_table_ctx


def unstack_array(x: numpy.ndarray) -> list[numpy.ndarray]:
    """:return: of x [T, ...] its T frames, arrays also where these are numbers"""
    return [x[i, ...] for i in range(len(x))]


def frame_loop(
    backend: Backend,
    body: Callable[[Raw, list[Raw], list[Raw]], tuple[Sequence[Raw], Sequence[Raw]]],
    *,
    unstack: Callable[[Raw], Sequence[Raw]] = unstack_array,
    frames: Sequence[Raw],
    state: Sequence[Raw],
    num_frames: Size | None,
    go_on: Callable[[Raw, list[Raw]], Raw] | None = None,
    growing: Sequence[Sequence[int]] = (),
    output_dtypes: Sequence[str] | None = None,
    empty_shapes: Callable[[], Sequence[Sequence[Size]]] | None = None,
    varying: Callable[[], Sequence[Sequence[int]]] | None = None,
    reverse: bool = False,
) -> tuple[Raw, list[Raw], list[Raw]]:
    """
    See :meth:`returnn.tensor.backend.Backend.frame_loop`.

    :param unstack: x [T, ...] -> its T frames
    """
    check_end(num_frames, go_on, reverse=reverse)
    most = None if num_frames is None else int(num_frames)
    unstacked = [unstack(x) for x in frames]
    state = [backend.convert(x) for x in state]
    outputs: list[Sequence[Raw]] = []
    while most is None or len(outputs) < most:
        index = most - 1 - len(outputs) if reverse and most is not None else len(outputs)
        i = backend.convert(index, "int32")
        if go_on is not None and not bool(go_on(i, list(state))):
            break
        before = state
        with run_table_ctx(RunTable(current_table())):  # lengths of dims may differ from frame to frame
            new_state, frame_outputs = body(i, [x[index] for x in unstacked], list(state))
        state = [backend.convert(x) for x in new_state]
        check_state(before, state, growing=growing)
        outputs.append([backend.convert(x) for x in frame_outputs])
    count = backend.convert(len(outputs), "int32")
    if not outputs:
        return count, state, _no_frames(backend, output_dtypes, empty_shapes)
    if reverse:
        outputs.reverse()
    columns = list(zip(*outputs, strict=True))
    axes = varying() if varying is not None else [()] * len(columns)
    return count, state, [_stack(column, may_vary) for column, may_vary in zip(columns, axes, strict=True)]


def _stack(column: Sequence[Raw], varying: Sequence[int]) -> Raw:
    backend = backend_of_raw(column[0])
    if varying:
        shapes = [backend.static_shape(x) for x in column]
        longest = [max(shape[axis] or 0 for shape in shapes) for axis in range(len(shapes[0]))]
        column = [
            backend.pad(x, [(0, most - (n or 0)) for most, n in zip(longest, shape, strict=True)])
            for x, shape in zip(column, shapes, strict=True)
        ]
    return backend.stack(column, 0)


def _no_frames(
    backend: Backend,
    dtypes: Sequence[str] | None,
    shapes: Callable[[], Sequence[Sequence[Size]]] | None,
) -> list[Raw]:
    if dtypes is None or shapes is None:
        raise ValueError(
            "loop over frames: there is no frame, so nothing tells what its outputs would be. "
            "Give output_dtypes and empty_shapes"
        )
    return [_empty(backend, [0, *shape], dtype) for shape, dtype in zip(shapes(), dtypes, strict=True)]


def _empty(backend: Backend, shape: Sequence[Size], dtype: str) -> Raw:
    if dtype == "string":
        return backend.convert(numpy.empty([int(n) for n in shape], object))
    return backend.full(shape, 0, dtype)


def check_end(num_frames: Size | None, go_on: Callable[..., Raw] | None, *, reverse: bool) -> None:
    """
    :raises ValueError: the loop would have no end, or, in reverse, no start
    """
    if num_frames is None and (reverse or go_on is None):
        raise ValueError(
            "loop over frames: num_frames is needed %s"
            % ("to run in reverse" if reverse else "where go_on is not given")
        )


def check_state(before: Sequence[Raw], behind: Sequence[Raw], *, growing: Sequence[Sequence[int]]) -> None:
    """
    :param before: state before a frame
    :param behind: state behind it
    :param growing: for each state the axes that may change their size; empty: no state has any
    :raises ValueError: there are more or fewer states, or one has another dtype, or other sizes as far as known
    """
    if len(before) != len(behind):
        raise ValueError("loop over frames: %i states before a frame, %i behind it" % (len(before), len(behind)))
    for i, (old, new) in enumerate(zip(before, behind, strict=True)):
        may_change = growing[i] if growing else ()
        if not (_same_dtype(old, new) and _same_shape(old, new, may_change)):
            raise ValueError(
                "loop over frames: state %i is %s before a frame, but %s behind it. "
                "It must keep its dtype, and the sizes of all axes but those in growing: %s"
                % (i, _describe(old), _describe(new), list(may_change))
            )


def _same_dtype(a: Raw, b: Raw) -> bool:
    return bool(a.dtype == b.dtype) or _dtype_name(a) == _dtype_name(b)  # numpy: texts of other lengths


def _same_shape(a: Raw, b: Raw, may_change: Sequence[int]) -> bool:
    old, new = (backend_of_raw(x).static_shape(x) for x in (a, b))
    if old == new:
        return True
    return len(old) == len(new) and all(
        m == n or None in (m, n) or axis in may_change for axis, (m, n) in enumerate(zip(old, new, strict=True))
    )


def _describe(x: Raw) -> str:
    return "%s %s" % (_dtype_name(x), list(backend_of_raw(x).static_shape(x)))


def _dtype_name(x: Raw) -> Any:
    return backend_of_raw(x).dtype_name(x)
