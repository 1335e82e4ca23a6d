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

from collections.abc import Callable
from typing import Any, Literal, NamedTuple

from returnn.tf.compat import tf, v1

from .graph_template import from_template
from .padding import enter_time, full_lens, last_frame, leave_time

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
    n = w_re.shape[0]
    if lens is None and x.shape[0] == 1 and kernel is None:
        return _one_frame(x, w, w_re, b, initial_h, initial_c, gate_order, forget_bias)
    lens = full_lens(x) if lens is None else lens
    num_frames, num_seqs = tf.unstack(tf.shape(x)[:2])
    x = from_template(enter_time, x, lens, direction=direction)
    initial_h = tf.zeros([num_seqs, n]) if initial_h is None else initial_h
    initial_c = tf.zeros([num_seqs, n]) if initial_c is None else initial_c
    for state in (initial_h, initial_c):  # in a loop, nothing may be known of the states before that is not known after
        x.set_shape([None, state.shape[0], None])
    if forget_bias:
        extra = tf.concat([tf.fill([n], forget_bias if gate == "f" else 0.0) for gate in gate_order], axis=0)
        b = extra if b is None else b + extra
    in_dim = 4 * n if w is None else w.shape[0]
    run = {"loop": _run_loop, "block": _run_block}[kernel or choose_kernel(in_dim=in_dim, num_units=n)]
    h, c = run(x, w, w_re, b, initial_h, initial_c, gate_order)
    return LstmOutput(*from_template(_results, h, c, lens, num_frames, initial_h, initial_c, direction=direction))


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
    *,
    direction: int,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """:return: see :class:`LstmOutput`"""
    last_h, last_c = last_frame(h, lens, initial=initial_h), last_frame(c, lens, initial=initial_c)
    return leave_time(h, lens, num_frames=num_frames, direction=direction), last_h, last_c


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
    initial_h: tf.Tensor,
    initial_c: tf.Tensor,
    gate_order: GateOrder,
) -> tuple[tf.Tensor, tf.Tensor]:
    """:return: h, c, both [T, B, n]"""
    n = w_re.shape[0]
    if w is None:  # the op always multiplies
        w = tf.eye(4 * n)
    if b is None:
        b = tf.zeros([4 * n])
    weights, bias = (_to_block_order(a, gate_order) for a in (tf.concat([w, w_re], axis=0), b))
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
    return out.h, out.cs


def _to_block_order(weights: tf.Tensor, gate_order: GateOrder) -> tf.Tensor:
    if gate_order == "ijfo":
        return weights
    gates = dict(zip(gate_order, tf.split(weights, 4, axis=-1), strict=True))
    return tf.concat([gates[gate] for gate in "ijfo"], axis=-1)


# ---------------------------------------------------------------------------------------------------------------------
# Loop kernel


def _run_loop(
    x: tf.Tensor,
    w: tf.Tensor | None,
    w_re: tf.Tensor,
    b: tf.Tensor | None,
    initial_h: tf.Tensor,
    initial_c: tf.Tensor,
    gate_order: GateOrder,
) -> tuple[tf.Tensor, tf.Tensor]:
    """:return: h, c, both [T, B, n]"""
    z = x if w is None else tf.matmul(tf.reshape(x, [-1, w.shape[0]]), w)  # two axes: one product
    z = z if b is None else tf.nn.bias_add(z, b)
    z = tf.reshape(z, [tf.shape(x)[0], tf.shape(x)[1], w_re.shape[1]])

    @tf.custom_gradient
    def loop(
        z: tf.Tensor, w_re: tf.Tensor, initial_h: tf.Tensor, initial_c: tf.Tensor
    ) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
        h, c, h_before, saved = from_template(_forward_loop, z, w_re, initial_h, initial_c, gate_order=gate_order)

        def grad(dh: tf.Tensor, dc: tf.Tensor) -> tuple[tf.Tensor, ...]:
            return from_template(_backward_loop, dh, dc, w_re, h_before, *saved, gate_order=gate_order)

        return (h, c), grad

    return loop(z, w_re, initial_h, initial_c)


class _Saved(NamedTuple):
    """Of the forward loop for the backward loop, with frames transposed: [T, n, B]."""

    j: tf.Tensor
    i: tf.Tensor
    f: tf.Tensor
    o: tf.Tensor
    c: tf.Tensor
    """[T+1, n, B], the initial state first."""


def _forward_loop(
    z: tf.Tensor, w_re: tf.Tensor, initial_h: tf.Tensor, initial_c: tf.Tensor, gate_order: GateOrder
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, _Saved]:
    """:return: h and c after each frame, h before each frame, all [T, B, n], and what else the gradient needs"""
    num_frames = tf.shape(z)[0]
    z = _transpose_frames(z)
    w_re_transposed = tf.transpose(w_re)
    h, c = tf.transpose(initial_h), tf.transpose(initial_c)

    def body(
        t: tf.Tensor,
        h: tf.Tensor,
        c: tf.Tensor,
        h_array: tf.TensorArray,
        c_array: tf.TensorArray,
        *gate_arrays: tf.TensorArray,
    ) -> tuple[Any, ...]:
        gates = z[t] + tf.matmul(w_re_transposed, h)
        gates = dict(zip(gate_order, tf.split(gates, 4, axis=0), strict=True))
        j, i, f, o = tf.tanh(gates["j"]), tf.sigmoid(gates["i"]), tf.sigmoid(gates["f"]), tf.sigmoid(gates["o"])
        c = f * c + i * j
        h = o * tf.tanh(c)
        written = (array.write(t, gate) for array, gate in zip(gate_arrays, (j, i, f, o), strict=True))
        return t + 1, h, c, h_array.write(t + 1, h), c_array.write(t + 1, c), *written

    _, _, _, h_array, c_array, *gate_arrays = v1.while_loop(
        lambda t, *_: t < num_frames,
        body,
        (
            0,
            h,
            c,
            tf.TensorArray(tf.float32, num_frames + 1).write(0, h),
            tf.TensorArray(tf.float32, num_frames + 1).write(0, c),
            *(tf.TensorArray(tf.float32, num_frames) for _ in "jifo"),
        ),
        parallel_iterations=1,
        back_prop=False,
    )
    c_transposed = c_array.stack()
    j, i, f, o = (array.stack() for array in gate_arrays)
    h, c = _transpose_frames(h_array.stack()), _transpose_frames(c_transposed)
    return h[1:], c[1:], h[:-1], _Saved(j, i, f, o, c_transposed)


def _backward_loop(
    dh_out: tf.Tensor,
    dc_out: tf.Tensor,
    w_re: tf.Tensor,
    h_before: tf.Tensor,
    *saved_parts: tf.Tensor,
    gate_order: GateOrder,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
    """
    :param dh_out: gradient of the hidden states [T, B, n], without what comes back from later frames
    :param dc_out: gradient of the cell states [T, B, n], likewise
    :param w_re: [n, 4n]
    :param h_before: hidden states before each frame [T, B, n]
    :param saved_parts: :class:`_Saved`
    :return: gradients of the gates before their activation [T, B, 4n], of w_re, of the initial h [B, n], of the initial
        c [B, n]
    """
    # If all of this is inside of another loop, its gradient keeps what the forward pass left in each of its frames; but
    # TensorFlow sees only what is used directly there, not in the loop below.
    w_re, saved = tf.nest.map_structure(tf.identity, (w_re, _Saved(*saved_parts)))
    num_frames = tf.shape(dh_out)[0]
    dh_out, dc_out = _transpose_frames(dh_out), _transpose_frames(dc_out)
    tanh_grad, sigmoid_grad = tf.raw_ops.TanhGrad, tf.raw_ops.SigmoidGrad  # (y, dy) -> dy (1 - y^2), dy y (1 - y)

    def body(t: tf.Tensor, dh: tf.Tensor, dc: tf.Tensor, dz_array: tf.TensorArray) -> tuple[Any, ...]:
        j, i, f, o = (gate[t] for gate in (saved.j, saved.i, saved.f, saved.o))
        c_before, tanh_c = saved.c[t], tf.tanh(saved.c[t + 1])
        dh += dh_out[t]
        dc = tf.add_n([dc, dc_out[t], tanh_grad(y=tanh_c, dy=dh * o)])
        dgates = {
            "j": tanh_grad(y=j, dy=dc * i),
            "i": sigmoid_grad(y=i, dy=dc * j),
            "f": sigmoid_grad(y=f, dy=dc * c_before),
            "o": sigmoid_grad(y=o, dy=dh * tanh_c),
        }
        dz = tf.concat([dgates[gate] for gate in gate_order], axis=0)
        return t - 1, tf.matmul(w_re, dz), dc * f, dz_array.write(t, dz)

    nothing = tf.zeros_like(saved.c[0])
    _, dh, dc, dz_array = v1.while_loop(
        lambda t, *_: t >= 0,
        body,
        (num_frames - 1, nothing, nothing, tf.TensorArray(tf.float32, num_frames)),
        parallel_iterations=1,
        back_prop=False,
    )
    dz = _transpose_frames(dz_array.stack())
    rows = tf.reshape(h_before, [-1, w_re.shape[0]])
    dw_re = tf.matmul(rows, tf.reshape(dz, [-1, w_re.shape[1]]), transpose_a=True)
    return dz, dw_re, tf.transpose(dh), tf.transpose(dc)


def _transpose_frames(x: tf.Tensor) -> tf.Tensor:
    """:return: [T, B, n] -> [T, n, B] and back"""
    return tf.transpose(x, [0, 2, 1])
