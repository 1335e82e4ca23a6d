"""Step time (forward and backward, weights and input) of an LSTM layer: 100 frames, batch 32, as many inputs as units.

    python -m benchmarks.lstm [--units 16 32 64 512] [--threads 2] [--cpu-time]

For each size one line: the layer, both of its kernels, and two yardsticks, all measured in turn in the same process:
"products" are the six matrix products of the layer, each as one product over all frames (input and recurrent part, and
the gradients of each part by data and by weights); "raw block" is the bare BlockLSTM op with its gradient.
"""

from __future__ import annotations

import argparse
import functools
import time
from collections.abc import Callable

import numpy

from benchmarks.measure import interleaved_medians
from returnn.tf.backend.lstm import choose_kernel, lstm
from returnn.tf.compat import tf, v1

FRAMES, BATCH = 100, 32


def layer_step(x: tf.Tensor, w: tf.Tensor, w_re: tf.Tensor, b: tf.Tensor, *, kernel: str | None) -> list[tf.Tensor]:
    lens = tf.fill([BATCH], FRAMES)
    h = lstm(x, w_re, w=w, b=b, lens=lens, gate_order="jifo", kernel=kernel).h
    return tf.gradients(h, [x, w, w_re, b], grad_ys=tf.ones_like(h))


def raw_block_step(x: tf.Tensor, w: tf.Tensor, w_re: tf.Tensor, b: tf.Tensor) -> list[tf.Tensor]:
    units = w_re.shape[0]
    weights, state, peephole = tf.concat([w, w_re], 0), tf.zeros([BATCH, units]), tf.zeros([units])
    h = tf.raw_ops.BlockLSTM(
        seq_len_max=FRAMES,
        x=x,
        cs_prev=state,
        h_prev=state,
        w=weights,
        wci=peephole,
        wcf=peephole,
        wco=peephole,
        b=b,
        forget_bias=0.0,
        cell_clip=-1.0,
        use_peephole=False,
    ).h
    return tf.gradients(h, [x, weights, b], grad_ys=tf.ones_like(h))


def products(x: tf.Tensor, w: tf.Tensor, w_re: tf.Tensor, b: tf.Tensor) -> list[tf.Tensor]:
    x = tf.reshape(x, [FRAMES * BATCH, -1])
    # Any values, but others than x: TensorFlow computes equal products once.
    h = v1.Variable(numpy.ones([FRAMES * BATCH, w_re.shape[0]], "float32")).read_value()
    dz = tf.matmul(x, w)
    backward = [tf.matmul(dz, weights, transpose_b=True) for weights in (w, w_re)]
    backward += [tf.matmul(data, dz, transpose_a=True) for data in (x, h)]
    return [dz, tf.matmul(h, w_re), *backward]


def measure(units: int, *, threads: int, clock: Callable[[], float]) -> dict[str, float]:
    """:return: seconds"""
    rng = numpy.random.RandomState(1)
    with v1.Graph().as_default():
        shapes = [(FRAMES, BATCH, units), (units, 4 * units), (units, 4 * units), (4 * units,)]
        variables = [v1.Variable(rng.normal(scale=0.05, size=shape).astype("float32")) for shape in shapes]
        inputs = [variable.read_value() for variable in variables]
        graphs: dict[str, Callable[..., list[tf.Tensor]]] = {
            "products": products,
            "raw block": raw_block_step,
            "layer": functools.partial(layer_step, kernel=None),
            "loop": functools.partial(layer_step, kernel="loop"),
            "block": functools.partial(layer_step, kernel="block"),
        }
        config = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
        with v1.Session(config=config) as session:
            # Ops, not tensors: nothing is copied out.
            fetches = {name: [tensor.op for tensor in build(*inputs)] for name, build in graphs.items()}
            session.run(v1.global_variables_initializer())
            steps = {name: session.make_callable(ops) for name, ops in fetches.items()}
            return interleaved_medians(steps, clock=clock)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--units", type=int, nargs="+", default=[16, 32, 64, 128, 256, 512])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cpu-time", action="store_true", help="processor time instead of wall time")
    args = parser.parse_args()
    clock = time.process_time if args.cpu_time else time.perf_counter
    print("| units | products | raw block | layer (kernel) | loop | block | layer / products | layer / raw block |")
    print("|---|---|---|---|---|---|---|---|")
    for units in args.units:
        seconds = measure(units, threads=args.threads, clock=clock)
        ms = {name: f"{value * 1e3:.1f} ms" for name, value in seconds.items()}
        kernel = choose_kernel(in_dim=units, num_units=units)
        ratios = [f"{seconds['layer'] / seconds[yardstick]:.2f}" for yardstick in ("products", "raw block")]
        cells = [ms["products"], ms["raw block"], f"{ms['layer']} ({kernel})", ms["loop"], ms["block"], *ratios]
        print(f"| {units} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
