"""Step time of an LSTM layer in a network, next to its six matrix products alone: 100 frames, batch 32, batch-major.

    python -m benchmarks.lstm_network [--units 512] [--threads 2]

Forward and backward, to the parameters and to the data, from the loss "as_is" on the layer's output.
"""

from __future__ import annotations

import argparse

import numpy

from benchmarks.lstm import BATCH, FRAMES, products
from benchmarks.measure import interleaved_medians
from returnn.config import Config
from returnn.tf.compat import tf, v1
from returnn.tf.network import TFNetwork


def measure(units: int, *, threads: int) -> dict[str, float]:
    """:return: seconds"""
    rng = numpy.random.RandomState(1)
    with v1.Graph().as_default():
        net = TFNetwork(config=Config({"extern_data": {"data": {"dim": units}}}), train_flag=True)
        layer = {"class": "rec", "unit": "nativelstm2", "n_out": units, "from": "data", "loss": "as_is"}
        net.construct_from_dict({"lstm": layer})
        data = net.extern_data.data["data"]
        grads = tf.gradients(net.get_objective(), [*net.get_params_list(), data.placeholder])
        shapes = [(FRAMES, BATCH, units), (units, 4 * units), (units, 4 * units), (4 * units,)]
        operands = [v1.Variable(rng.normal(scale=0.05, size=shape).astype("float32")) for shape in shapes]
        bare = products(*[variable.read_value() for variable in operands])
        config = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=threads)
        with v1.Session(config=config) as session:
            session.run(v1.global_variables_initializer())
            feed = {
                data.placeholder: rng.normal(size=(BATCH, FRAMES, units)).astype("float32"),
                data.size_placeholder[0]: numpy.full(BATCH, FRAMES, "int32"),
            }
            ops = [grad.op for grad in grads]  # ops, not tensors: nothing is copied out
            steps = {
                "products": session.make_callable([tensor.op for tensor in bare]),
                "layer in a network": lambda: session.run(ops, feed),
            }
            return interleaved_medians(steps)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--units", type=int, default=512)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()
    medians = measure(args.units, threads=args.threads)
    for name, seconds in medians.items():
        print("%-20s %.0f ms" % (name, 1000 * seconds))
    print("layer in a network / products: %.2f" % (medians["layer in a network"] / medians["products"]))


if __name__ == "__main__":
    main()
