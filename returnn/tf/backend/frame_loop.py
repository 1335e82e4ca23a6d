"""A loop over frames, by a plain ``while_loop`` that TensorFlow differentiates.

Outputs are kept in TensorArrays, each of which is a variable of the loop: by that TensorFlow sees what depends on what,
and computes no gradient through an output that nobody uses. But only the body tells how many outputs there are, and it
is called when the variables of a ``while_loop`` are fixed. So those of the outputs are added to the loop once it is
there, in the way in which TensorFlow adds counters and sums to a loop that it differentiates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from returnn.tensor.backend import Raw, Size
from returnn.tensor.eager_loop import check_end, check_state
from returnn.tf.compat import tf, v1
from returnn.tf.util import ops

PARALLEL_ITERATIONS = 2
"""Frames that may be computed at the same time: what no later frame needs runs beside the next one. With 2 in place of
1, an attention decoder with its softmax in the loop took 0.7x the time on two cores; 4 to 32 gained nothing more."""
_READS_ONLY = ("ReadVariableOp", "ResourceGather", "TensorArray", "Stack", "VarHandleOp", "Assert")
"""operations, by their start, which count as stateful but may run in any order"""


def frame_loop(
    body: Callable[[Raw, list[Raw], list[Raw]], tuple[Sequence[Raw], Sequence[Raw]]],
    *,
    frames: Sequence[Raw],
    state: Sequence[Raw],
    num_frames: Size | None,
    go_on: Callable[[Raw, list[Raw]], Raw] | None = None,
    growing: Sequence[Sequence[int]] = (),
    output_dtypes: Sequence[str] | None = None,
    empty_shapes: Callable[[], Sequence[Sequence[Size]]] | None = None,
    varying: Callable[[], Sequence[Sequence[int]]] | None = None,
    reverse: bool = False,
    back_prop: bool = True,
) -> tuple[tf.Tensor, list[tf.Tensor], list[tf.Tensor]]:
    """See :meth:`returnn.tensor.backend.Backend.frame_loop`."""
    check_end(num_frames, go_on, reverse=reverse)
    arrays = _unstack(frames, back_prop=back_prop)
    state = [tf.convert_to_tensor(x) for x in state]
    shapes = [_with_unknown_axes(x.shape, growing[i] if growing else ()) for i, x in enumerate(state)]
    traced = _Traced()
    graph = v1.get_default_graph()

    def frame_of(step: tf.Tensor) -> tf.Tensor:
        return num_frames - 1 - step if reverse else step

    def condition(step: tf.Tensor, *state: tf.Tensor) -> tf.Tensor:
        within = None if num_frames is None else step < num_frames
        if go_on is None:
            return within
        wanted = go_on(frame_of(step), list(state))
        return wanted if within is None else tf.logical_and(within, wanted)

    def next_step(step: tf.Tensor, *state: tf.Tensor) -> tuple[tf.Tensor, ...]:
        i = frame_of(step)
        num_ops = len(graph.get_operations())
        new_state, outputs = body(i, [array.read(i) for array in arrays], list(state))
        new_state = [tf.convert_to_tensor(x) for x in new_state]
        check_state(state, new_state, growing=growing)
        for x, shape in zip(new_state, shapes, strict=True):
            x.set_shape(shape)
        traced.context = graph._get_control_flow_context()
        traced.ops = graph.get_operations()[num_ops:]
        traced.frame = i
        traced.outputs = [tf.convert_to_tensor(x) for x in outputs]
        return step + 1, *new_state

    count, *last_state = v1.while_loop(
        condition,
        next_step,
        (tf.constant(0), *state),
        shape_invariants=(tf.TensorShape([]), *shapes),
        parallel_iterations=PARALLEL_ITERATIONS,
        back_prop=back_prop,
        return_same_structure=True,
    )
    if traced.has_side_effects():
        traced.run_frame_by_frame()
    first = num_frames - count if reverse else 0
    at_least_one = isinstance(num_frames, int) and num_frames > 0 and go_on is None
    axes = varying() if varying is not None else [()] * len(traced.outputs)
    outputs = _stack(
        [traced.collect(x, size=num_frames, varying=v) for x, v in zip(traced.outputs, axes, strict=True)],
        tf.range(first, first + count),
        shapes=None if at_least_one else empty_shapes,
    )
    if isinstance(num_frames, int) and go_on is None:
        for x in outputs:
            x.set_shape([num_frames, *x.shape[1:]])
    return count, last_state, outputs


def _with_unknown_axes(shape: tf.TensorShape, axes: Sequence[int]) -> tf.TensorShape:
    return tf.TensorShape([None if axis in axes else size for axis, size in enumerate(shape)]) if axes else shape


def _unstack(frames: Sequence[Raw], *, back_prop: bool) -> list[ops.Array]:
    """:return: for each x [T, ...] its frames; read once each, or never"""
    frames = [tf.convert_to_tensor(x) for x in frames]
    shapes = [x.shape for x in frames]
    if back_prop and any((x.dtype.is_floating or x.dtype.is_complex) and not x.shape[0] for x in frames):
        # The gradient of no frame would be a stack of no frame, whose shape TensorFlow does not know.
        no_frame = tf.equal(tf.shape(frames[0])[0], 0)
        frames = v1.cond(no_frame, lambda: [_one_frame(x) for x in frames], lambda: frames, strict=True)
    arrays = []
    for x, shape in zip(frames, shapes, strict=True):
        size = shape[0] or ops.entry(ops.op("Shape", x, T=x.dtype, out_type=tf.int32), 0)
        arrays.append(ops.new_array(size, x.dtype, shape[1:]).scatter(ops.range_to(size), x))
    return arrays


def _one_frame(x: tf.Tensor) -> tf.Tensor:
    return tf.zeros(tf.concat([[1], tf.shape(x)[1:]], axis=0), x.dtype)


def _stack(
    arrays: Sequence[_Collected],
    frames: tf.Tensor,
    *,
    shapes: Callable[[], Sequence[Sequence[Size]]] | None,
) -> list[tf.Tensor]:
    """:return: of each array these frames; if there are none, of these shapes, which TensorFlow cannot know"""

    def gather() -> list[tf.Tensor]:
        return [array.gather(frames) for array in arrays]

    if shapes is None or all(array.shape.is_fully_defined() for array in arrays):
        return gather()
    empty_shapes = shapes()
    if len(empty_shapes) != len(arrays):
        raise ValueError("loop over frames: %i outputs, %i shapes of them" % (len(arrays), len(empty_shapes)))
    outputs = v1.cond(
        tf.equal(tf.size(frames), 0),
        lambda: [tf.zeros([0, *shape], array.dtype) for shape, array in zip(empty_shapes, arrays, strict=True)],
        gather,
        strict=True,
    )
    for x, array in zip(outputs, arrays, strict=True):
        x.set_shape(tf.TensorShape([None]).concatenate(array.shape))
    return outputs


class _Traced:
    """The inside of a loop, of which the body was called."""

    context: Any
    ops: list[Any]
    frame: tf.Tensor
    outputs: list[tf.Tensor]

    def has_side_effects(self) -> bool:
        """:return: something in the loop, such as an assignment, gives other results in another order"""
        of_types = {op.type: op for op in self.ops}  # as asking one operation takes long
        ordered = {name for name, op in of_types.items() if op.op_def.is_stateful and not name.startswith(_READS_ONLY)}
        return any(op.type in ordered and self._is_inside(op) for op in self.ops)

    def _is_inside(self, op: Any) -> bool:
        context = op._get_control_flow_context()
        while context is not None and context is not self.context:
            context = context.outer_context
        return context is not None

    def run_frame_by_frame(self) -> None:
        """A frame starts when all of the one before it is done."""
        context = self.context
        context._parallel_iterations = 1  # for what enters the loop later, and for the loop of the gradient
        for x in [*context.loop_enters, *context._external_values.values()]:
            if x.op.type == "Enter":
                x.op._set_attr("parallel_iterations", v1.AttrValue(i=1))

    def collect(self, output: tf.Tensor, *, size: Size | None, varying: Sequence[int] = ()) -> _Collected:
        """
        Add a variable to the loop: a TensorArray, to which it writes in each frame.

        :param output: what it writes
        :param size: None: any number of frames
        :param varying: axes of the output whose size differs from frame to frame
        :return: the array behind the loop
        """
        context = self.context
        shapes = None
        if varying:
            context.Enter()
            shape = tf.shape(output)
            context.Exit()
            shapes = self.collect(shape, size=size)
        element_shape = _with_unknown_axes(output.shape, varying)
        array = ops.new_array(0 if size is None else size, output.dtype, element_shape, same_shapes=not varying)
        flow = array.flow
        context.Enter()
        try:
            context.AddName(flow.name)
            attrs = {"T": tf.float32, "frame_name": context.name, "is_constant": False}
            enter = ops.op("Enter", flow, parallel_iterations=context.parallel_iterations, **attrs)
            context.loop_enters.append(enter)
            merge = ops.op("Merge", enter, enter, T=tf.float32, N=2)
            switch = ops.make("Switch", [merge, context.pivot], {"T": tf.float32}).outputs
            written = array._replace(flow=switch[1]).write(self.frame, output)
            merge.op._update_input(1, ops.unary("NextIteration", written.flow))
            exit = ops.unary("Exit", switch[0])
            context.loop_exits.append(exit)
            context.ExitResult([exit])
        finally:
            context.Exit()
        return _Collected(array._replace(flow=exit), shapes)


class _Collected:
    """An output of all frames, behind the loop."""

    def __init__(self, array: ops.Array, frame_shapes: _Collected | None = None) -> None:
        """
        :param frame_shapes: of each frame, where they differ
        """
        self._array = array
        self.dtype = array.dtype
        self.shape = array.shape
        self._frame_shapes = frame_shapes

    def gather(self, frames: tf.Tensor) -> tf.Tensor:
        if self._frame_shapes is not None:
            return self._gather_filled_up(frames, tf.reduce_max(self._frame_shapes.gather(frames), axis=0))
        return self._array.gather(frames)

    def _gather_filled_up(self, frames: tf.Tensor, shape: tf.Tensor) -> tf.Tensor:
        def filled_up(i: tf.Tensor) -> tf.Tensor:
            x = self._array.read(i)
            x = tf.pad(x, tf.stack([tf.zeros_like(shape), shape - tf.shape(x)], axis=1))
            x.set_shape(self.shape)
            return x

        return tf.map_fn(filled_up, frames, fn_output_signature=self.dtype)
