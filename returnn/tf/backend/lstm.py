"""The LSTM layer on TensorFlow graphs, fast on CPUs without compiling anything.

Contract: x [T, B, D] in, all hidden states [T, B, n] and the last state out; padding is never visible (see ``rnn.py``).
    gates = x[t] w + h[t-1] w_re + b                   columns j, i, f, o in the order that the caller names
    c[t] = sigmoid(f) c[t-1] + sigmoid(i) tanh(j)
    h[t] = sigmoid(o) tanh(c[t])
Two kernels give the same values and gradients; :func:`choose_kernel` holds the rule:
    "loop"   a ``while_loop`` with a gradient written by hand. The backward loop computes only dz, the gradient of the
             gates, of each frame; the gradients of all weights are then one matrix product each, over all frames.
             Frames are transposed to [n, B]: a gate is then a block of rows, which splits off without a copy, and the
             products w_re^T h and w_re dz read the weights in the order in which they are stored.
    "block"  TensorFlow's BlockLSTM: all frames in one op, no overhead per frame; but its gradient adds up that of the
             weights frame by frame, which is slow as soon as the weights leave the cache.
             (BlockLSTMV2 would not do: TensorFlow registers the gradient of version 1 for it, which is wrong.)
Neither masks inside of its loop: frames behind a sequence's end see an input of 0, and their results are dropped.
Measurements: ``benchmarks/README.md``.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from returnn.tf.compat import tf, v1
from returnn.tf.util import ops

from .graph_function import call
from .padding import enter_time, full_lens, last_frame, leave_time, reversed_in_time
from .shapes import shape_vector, size_of_axis

GateOrder = Literal["jifo", "ijfo"]
"""Columns of the weights: j cell input, i input gate, f forget gate, o output gate."""

Kernel = Literal["loop", "block"]


class LstmOutput(NamedTuple):
    """What :func:`lstm` gives."""

    h: tf.Tensor
    """Hidden states [T, B, n], 0 behind the end of a sequence."""
    last_h: tf.Tensor
    """[B, n] after the last frame of each sequence (direction -1: after frame 0); the initial one if it has none."""
    last_c: tf.Tensor
    """[B, n], the cell state, likewise."""


def lstm(
    x: tf.Tensor,
    w_re: tf.Tensor,
    *,
    w: tf.Tensor | None = None,
    b: tf.Tensor | None = None,
    lens: tf.Tensor | None = None,
    initial_h: tf.Tensor | None = None,
    initial_c: tf.Tensor | None = None,
    gate_order: GateOrder = "jifo",
    forget_bias: float = 0.0,
    direction: int = 1,
    kernel: Kernel | None = None,
) -> LstmOutput:
    """LSTM without peepholes over all frames.

    :param x: float32 [T, B, D]; without ``w``: what the input adds to the gates [T, B, 4n]
    :param w_re: [n, 4n], n static
    :param w: [D, 4n]; better given than applied outside, as small layers have a kernel that includes it
    :param b: [4n], default 0
    :param lens: int32 [B], at most T; default: all sequences have T frames
    :param initial_h: [B, n], default 0
    :param initial_c: [B, n], default 0
    :param gate_order: of the 4n columns
    :param forget_bias: added to the forget gate
    :param direction: 1, or -1 for each sequence from its own end
    :param kernel: default: by :func:`choose_kernel`
    """
    if gate_order not in ("jifo", "ijfo"):
        raise ValueError(f"gate_order must be 'jifo' or 'ijfo', not {gate_order!r}")
    if direction not in (1, -1):
        raise ValueError(f"direction must be 1 or -1, not {direction!r}")
    n = w_re.shape[0]
    if lens is None and x.shape[0] == 1 and kernel is None:
        return _one_frame(x, w, w_re, b, initial_h, initial_c, gate_order, forget_bias)
    for state in (initial_h, initial_c):  # in a loop, nothing may be known of the states before that is not known after
        if state is not None:
            x.set_shape([None, state.shape[0], None])
    in_dim = 4 * n if w is None else w.shape[0]
    options = {"gate_order": gate_order, "forget_bias": forget_bias}
    if direction == -1:
        lens = full_lens(x) if lens is None else lens
        x = reversed_in_time(x, lens)
    if (kernel or choose_kernel(in_dim=in_dim, num_units=n)) == "loop":
        inputs = (x, w, w_re, b, lens, initial_h, initial_c)
        # one function for any input and batch
        sizes = ((None, None, None), (None, 4 * n), (n, 4 * n), (4 * n,), (None,), (None, n), (None, n))
        shapes = {i: size for i, size in enumerate(sizes) if inputs[i] is not None}
        output = call(_by_loop, *inputs, shapes=shapes, gradient=_gradient_by_loop, **options).output
    else:
        h, c, lens, initial_h, initial_c = _run_block(x, w, w_re, b, lens, initial_h, initial_c, **options)
        output = call(_results, h, c, lens, tf.shape(x)[0], initial_h, initial_c)
    output.h.set_shape([*x.shape[:2], n])
    for state in (output.last_h, output.last_c):
        state.set_shape([x.shape[1], n])
    return output if direction == 1 else output._replace(h=reversed_in_time(output.h, lens))


def _one_frame(
    x: tf.Tensor,
    w: tf.Tensor | None,
    w_re: tf.Tensor,
    b: tf.Tensor | None,
    initial_h: tf.Tensor | None,
    initial_c: tf.Tensor | None,
    gate_order: GateOrder,
    forget_bias: float,
) -> LstmOutput:
    """One step, for instance of another loop: no loop of its own."""
    z = tf.squeeze(x, [0])
    z = z if w is None else tf.matmul(z, w)
    z = z if initial_h is None else z + tf.matmul(initial_h, w_re)
    z = z if b is None else tf.nn.bias_add(z, b)
    gates = dict(zip(gate_order, tf.split(z, 4, axis=1), strict=True))
    new = tf.sigmoid(gates["i"]) * tf.tanh(gates["j"])
    if initial_c is None:
        c = new
    else:
        c = new + tf.sigmoid(gates["f"] + forget_bias if forget_bias else gates["f"]) * initial_c
    h = tf.sigmoid(gates["o"]) * tf.tanh(c)
    return LstmOutput(tf.expand_dims(h, 0), h, c)


def _results(
    h: tf.Tensor,
    c: tf.Tensor,
    lens: tf.Tensor,
    num_frames: tf.Tensor,
    initial_h: tf.Tensor,
    initial_c: tf.Tensor,
) -> LstmOutput:
    """
    :param h: [max(T, 1), B, n]
    :param c: the same
    """
    last_h, last_c = last_frame(h, lens, initial=initial_h), last_frame(c, lens, initial=initial_c)
    return LstmOutput(leave_time(h, lens, num_frames=num_frames), last_h, last_c)


class _Entered(NamedTuple):
    """What both kernels work on."""

    x: tf.Tensor
    """[max(T, 1), B, D], see :func:`.padding.enter_time`"""
    b: tf.Tensor | None
    lens: tf.Tensor
    initial_h: tf.Tensor
    initial_c: tf.Tensor


def _entered(
    x: tf.Tensor,
    w_re: tf.Tensor,
    b: tf.Tensor | None,
    lens: tf.Tensor | None,
    initial_h: tf.Tensor | None,
    initial_c: tf.Tensor | None,
    *,
    gate_order: GateOrder,
    forget_bias: float,
) -> _Entered:
    lens = full_lens(x) if lens is None else lens
    if initial_h is None or initial_c is None:
        zeros = ops.fill([size_of_axis(x, 1), w_re.shape[0]], 0.0, tf.float32)
        initial_h, initial_c = (zeros if state is None else state for state in (initial_h, initial_c))
    if forget_bias:
        n = w_re.shape[0]
        extra = tf.concat([tf.fill([n], forget_bias if gate == "f" else 0.0) for gate in gate_order], axis=0)
        b = extra if b is None else b + extra
    return _Entered(enter_time(x, lens), b, lens, initial_h, initial_c)


def choose_kernel(*, in_dim: int, num_units: int) -> Kernel:
    """The faster kernel, as measured on x86 (``benchmarks/README.md``).

    What decides is whether all weights [D + n, 4n] and their gradient stay in a core's second-level cache (about half a
    MiB): then the block kernel wins, as the loop spends most of its time on starting ops.
    """
    return "block" if (in_dim + num_units) * 4 * num_units <= 50_000 else "loop"


# ---------------------------------------------------------------------------------------------------------------------
# Block kernel


def _run_block(
    x: tf.Tensor,
    w: tf.Tensor | None,
    w_re: tf.Tensor,
    b: tf.Tensor | None,
    lens: tf.Tensor | None,
    initial_h: tf.Tensor | None,
    initial_c: tf.Tensor | None,
    *,
    gate_order: GateOrder,
    forget_bias: float,
) -> tuple[tf.Tensor, ...]:
    """:return: h, c, both [max(T, 1), B, n]; lens, initial h and c, as they were given or by default"""
    x, b, lens, initial_h, initial_c = call(
        _entered, x, w_re, b, lens, initial_h, initial_c, gate_order=gate_order, forget_bias=forget_bias
    )
    n = w_re.shape[0]
    if w is None:  # the op always multiplies
        w = tf.eye(4 * n)
    if b is None:
        b = tf.zeros([4 * n])
    weights, bias = (_reordered(a, gate_order, "ijfo") for a in (tf.concat([w, w_re], axis=0), b))
    # Without any sequence the op leaves the gradient of both uninitialised; behind this it is 0.
    has_sequences = tf.shape(x)[1] > 0
    weights, bias = tf.where(has_sequences, weights, 0.0), tf.where(has_sequences, bias, 0.0)
    unused_peephole = tf.zeros([n])
    out = tf.raw_ops.BlockLSTM(
        seq_len_max=tf.shape(x, out_type=tf.int64)[0],
        x=x,
        cs_prev=initial_c,
        h_prev=initial_h,
        w=weights,
        wci=unused_peephole,
        wcf=unused_peephole,
        wco=unused_peephole,
        b=bias,
        forget_bias=0.0,
        cell_clip=-1.0,
        use_peephole=False,
    )
    return out.h, out.cs, lens, initial_h, initial_c


# ---------------------------------------------------------------------------------------------------------------------
# Loop kernel


class _Saved(NamedTuple):
    """Of the forward loop, for its gradient; frames of the first three are transposed: [.., n, B]."""

    j: tf.Tensor
    """[T, n, B], T > 0, behind its activation, as all gates"""
    ifo: tf.Tensor
    """[T, 3n, B]"""
    c: tf.Tensor
    """[T + 1, n, B], the initial state first"""
    h: tf.Tensor
    """[T + 1, B, n], likewise"""


class _ByLoop(NamedTuple):
    output: LstmOutput
    saved: _Saved


def _by_loop(
    x: tf.Tensor,
    w: tf.Tensor | None,
    w_re: tf.Tensor,
    b: tf.Tensor | None,
    lens: tf.Tensor | None,
    initial_h: tf.Tensor | None,
    initial_c: tf.Tensor | None,
    *,
    gate_order: GateOrder,
    forget_bias: float,
) -> _ByLoop:
    """See :func:`lstm`."""
    num_frames = size_of_axis(x, 0)
    x, b, lens, initial_h, initial_c = _entered(
        x, w_re, b, lens, initial_h, initial_c, gate_order=gate_order, forget_bias=forget_bias
    )
    w, w_re, b = (None if p is None else _reordered(p, gate_order, "jifo") for p in (w, w_re, b))
    # two axes: one product
    z = _reordered(x, gate_order, "jifo") if w is None else ops.matmul(ops.reshape(x, [-1, size_of_axis(x, 2)]), w)
    z = z if b is None else tf.nn.bias_add(z, b)
    z = ops.reshape(z, [*ops.split_vector(shape_vector(x), 2), w_re.shape[1]])
    saved = call(_forward_loop, z, w_re, initial_h, initial_c)
    y = leave_time(ops.slice_axis(saved.h, 0, 1, None), lens, num_frames=num_frames)
    return _ByLoop(LstmOutput(y, *_last_states(saved, lens)), saved)


def _reordered(x: tf.Tensor, before: GateOrder, after: GateOrder) -> tf.Tensor:
    """
    :param x: [.., 4n]
    """
    if before == after:
        return x
    gates = dict(zip(before, tf.split(x, 4, axis=-1), strict=True))
    return tf.concat([gates[gate] for gate in after], axis=-1)


def _last_states(saved: _Saved, lens: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """:return: h and c [B, n] behind the last frame of each sequence"""
    num_seqs, n = ops.op("Size", lens, T=lens.dtype, out_type=tf.int32), saved.j.shape[1]
    seqs = ops.range_to(num_seqs)
    index = ops.op("Pack", lens, seqs, N=2, T=tf.int32, axis=1)
    h = ops.op("GatherNd", saved.h, index, Tparams=tf.float32, Tindices=tf.int32)
    rows = [ops.broadcast_to(i, [n, num_seqs]) for i in (lens, ops.expand_dims(ops.range_to(n), 1), seqs)]
    index = ops.op("Pack", *rows, N=3, T=tf.int32, axis=2)  # of c, only this much has to be transposed
    c = ops.op("GatherNd", saved.c, index, Tparams=tf.float32, Tindices=tf.int32)
    return h, ops.transpose(c, [1, 0])


def _gradient_by_loop(
    inputs: list[tf.Tensor | None], outputs: _ByLoop, grads: _ByLoop, *, gate_order: GateOrder, forget_bias: float
) -> list[tf.Tensor | None]:
    """See :func:`lstm` for the inputs."""
    x, w, w_re, b, lens, initial_h, initial_c = inputs
    assert x is not None and w_re is not None
    dy, dlast_h, dlast_c = grads.output
    entered = _entered(x, w_re, b, lens, initial_h, initial_c, gate_order=gate_order, forget_bias=forget_bias)
    order: tuple[GateOrder, GateOrder] = (gate_order, "jifo")
    dy = enter_time(dy, entered.lens)  # what leave_time does, the other way
    own_w_re = _reordered(w_re, *order)
    dz, dw_re, dh, dc = call(_backward_loop, dy, dlast_h, dlast_c, entered.lens, own_w_re, *outputs.saved)
    rows = ops.reshape(dz, [-1, w_re.shape[1]])
    db = None if b is None else ops.reduce("Sum", rows, [0], keep_dims=False)
    if w is None:
        dw, dx = None, dz
    else:
        dw = ops.matmul(ops.reshape(entered.x, [-1, size_of_axis(x, 2)]), rows, transpose_a=True)
        dx = ops.matmul(rows, _reordered(w, *order), transpose_b=True)
        dx = ops.op("Reshape", dx, shape_vector(entered.x), T=tf.float32, Tshape=tf.int32)
    dx = leave_time(dx, entered.lens, num_frames=size_of_axis(x, 0))
    order = ("jifo", gate_order)
    dw, dw_re, db = (None if p is None else _reordered(p, *order) for p in (dw, dw_re, db))
    dx = dx if w is not None else _reordered(dx, *order)
    return [dx, dw, dw_re, db, None, None if initial_h is None else dh, None if initial_c is None else dc]


def _forward_loop(z: tf.Tensor, w_re: tf.Tensor, initial_h: tf.Tensor, initial_c: tf.Tensor) -> _Saved:
    """
    :param z: [T, B, 4n], T > 0: what the input adds to the gates j, i, f, o
    :param w_re: [n, 4n], of that order
    :param initial_h: [B, n]
    :param initial_c: [B, n]
    """
    num_frames, n = size_of_axis(z, 0), w_re.shape[0]
    z = _transpose_frames(z)
    w_re_transposed = ops.transpose(w_re, [1, 0])
    h, c = ops.transpose(initial_h, [1, 0]), ops.transpose(initial_c, [1, 0])
    sizes, axis = ops.constant((n, 3 * n)), ops.constant(0)

    after_last = num_frames + 1 if isinstance(num_frames, int) else ops.binary("AddV2", num_frames, ops.constant(1))
    state, part = h.shape, tf.TensorShape([3 * n, h.shape[1]])
    sizes_of_arrays = (after_last, state), (after_last, state), (num_frames, state), (num_frames, part)
    arrays = [ops.new_array(size, tf.float32, shape) for size, shape in sizes_of_arrays]

    def written(flow: tf.Tensor, *entries: tuple[tf.Tensor, tf.Tensor]) -> tf.Tensor:
        """all arrays share one flow, which is a variable of the loop"""
        for array, entry in zip(arrays, entries, strict=False):
            flow = array._replace(flow=flow).write(*entry).flow
        return flow

    def body(t: tf.Tensor, h: tf.Tensor, c: tf.Tensor, flow: tf.Tensor) -> tuple[tf.Tensor, ...]:
        (z_t,), after = ops.entries([z], t)
        gates = ops.binary("AddV2", z_t, ops.matmul(w_re_transposed, h))
        attrs = {"num_split": 2, "T": tf.float32, "Tlen": tf.int32}
        j, ifo = ops.make("SplitV", [gates, sizes, axis], attrs).outputs
        j, ifo = ops.unary("Tanh", j), ops.unary("Sigmoid", ifo)
        i, f, o = ops.make("Split", [axis, ifo], {"num_split": 3, "T": tf.float32}).outputs
        c = ops.binary("AddV2", ops.binary("Mul", f, c), ops.binary("Mul", i, j))
        h = ops.binary("Mul", o, ops.unary("Tanh", c))
        return after, h, c, written(flow, (after, h), (after, c), (t, j), (t, ifo))

    first, limit = ops.constant(0), tf.convert_to_tensor(num_frames)
    *_, flow = v1.while_loop(
        lambda t, *_: ops.compare("Less", t, limit),
        body,
        (first, h, c, written(arrays[0].flow, (first, h), (first, c))),
        parallel_iterations=1,
        back_prop=False,
    )
    states, frames = ops.range_to(after_last), ops.range_to(num_frames)
    h, c, j, ifo = (
        array._replace(flow=flow).gather(indices)
        for array, indices in zip(arrays, (states, states, frames, frames), strict=True)
    )
    return _Saved(j, ifo, c, _transpose_frames(h))


def _backward_loop(
    dy: tf.Tensor,
    dlast_h: tf.Tensor,
    dlast_c: tf.Tensor,
    lens: tf.Tensor,
    w_re: tf.Tensor,
    *saved_parts: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """
    :param dy: gradient of the hidden states [T, B, n], T > 0, 0 behind the end of a sequence; without what comes back
        from later frames
    :param dlast_h: gradient of h behind the last frame of each sequence [B, n]
    :param dlast_c: gradient of c there
    :param lens: int32 [B]
    :param w_re: [n, 4n]: gates j, i, f, o
    :param saved_parts: :class:`_Saved`
    :return: gradients of the gates before their activation [T, B, 4n], of w_re, of the initial h [B, n], of the initial
        c [B, n]
    """
    saved = _Saved(*saved_parts)
    num_frames = size_of_axis(saved.j, 0)
    dy = _transpose_frames(dy)
    dlast_h, dlast_c = ops.transpose(dlast_h, [1, 0]), ops.transpose(dlast_c, [1, 0])
    zero, axis = ops.constant(0.0), ops.constant(0)

    def at_end(t: tf.Tensor, dh: tf.Tensor, dc: tf.Tensor) -> list[tf.Tensor]:
        """
        :param t: number of frames
        :param dh: gradient of the state behind them
        :return: dh and dc, and what comes to them from the last states, of sequences that have as many frames
        """
        is_last = ops.compare("Equal", lens, t)
        return [
            ops.binary("AddV2", dx, ops.select(is_last, dlast, zero)) for dx, dlast in ((dh, dlast_h), (dc, dlast_c))
        ]

    array = ops.new_array(num_frames, tf.float32, tf.TensorShape([w_re.shape[1], dlast_h.shape[1]]))

    def body(t: tf.Tensor, dh: tf.Tensor, dc: tf.Tensor, flow: tf.Tensor) -> tuple[tf.Tensor, ...]:
        (j, ifo, c_before, dy_t), after = ops.entries([saved.j, saved.ifo, saved.c, dy], t)
        (c,), _ = ops.entries([saved.c], after)
        i, f, o = ops.make("Split", [axis, ifo], {"num_split": 3, "T": tf.float32}).outputs
        tanh_c = ops.unary("Tanh", c)
        dh, dc = at_end(after, dh, dc)
        dh = ops.binary("AddV2", dh, dy_t)
        dc = ops.binary("AddV2", dc, _tanh_grad(tanh_c, ops.binary("Mul", dh, o)))
        dgates = [
            _tanh_grad(j, ops.binary("Mul", dc, i)),
            _sigmoid_grad(i, ops.binary("Mul", dc, j)),
            _sigmoid_grad(f, ops.binary("Mul", dc, c_before)),
            _sigmoid_grad(o, ops.binary("Mul", dh, tanh_c)),
        ]
        dz = ops.concat(dgates, 0)
        before = ops.binary("Sub", t, ops.constant(1))
        written = array._replace(flow=flow).write(t, dz)
        return before, ops.matmul(w_re, dz), ops.binary("Mul", dc, f), written.flow

    nothing = ops.op("ZerosLike", dlast_h, T=tf.float32)
    last = num_frames - 1 if isinstance(num_frames, int) else ops.binary("Sub", num_frames, ops.constant(1))
    _, dh, dc, flow = v1.while_loop(
        lambda t, *_: ops.compare("GreaterEqual", t, ops.constant(0)),
        body,
        (tf.convert_to_tensor(last), nothing, nothing, array.flow),
        parallel_iterations=1,
        back_prop=False,
    )
    dh, dc = at_end(ops.constant(0), dh, dc)
    dz = _transpose_frames(array._replace(flow=flow).gather(ops.range_to(num_frames)))
    h_before = ops.slice_axis(saved.h, 0, None, -1)
    rows = [ops.reshape(x, [-1, size]) for x, size in zip((h_before, dz), w_re.shape, strict=True)]
    return dz, ops.matmul(*rows, transpose_a=True), ops.transpose(dh, [1, 0]), ops.transpose(dc, [1, 0])


def _tanh_grad(y: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:
    """:return: dy (1 - y^2)"""
    return ops.op("TanhGrad", y, dy, T=tf.float32)


def _sigmoid_grad(y: tf.Tensor, dy: tf.Tensor) -> tf.Tensor:
    """:return: dy y (1 - y)"""
    return ops.op("SigmoidGrad", y, dy, T=tf.float32)


def _transpose_frames(x: tf.Tensor) -> tf.Tensor:
    """:return: [T, B, n] -> [T, n, B] and back"""
    return ops.transpose(x, [0, 2, 1])
