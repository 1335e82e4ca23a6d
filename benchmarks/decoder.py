"""An attention decoder with LSTM: time to build it, of a training step, and of a beam search; next to another
implementation.

    python -m benchmarks.decoder [--other PYTHON] [--encoder]

``--other`` is the Python of an environment in which another package ``returnn`` with the same interface is installed;
its numbers are measured in turn with ours, each in fresh processes. ``--encoder``: with six bidirectional LSTM layers
in front, else with one linear layer.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from benchmarks.child import run_child

ROUNDS = 3

CHILD = """
import json, os, resource, sys, time
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, sys.argv[1])
from decoders import EXTERN_DATA, INPUTS, CLASSES, network
import numpy
from returnn.config import Config
from returnn.log import log
log.initialize(verbosity=[1])
import returnn.tf.compat as tf_compat
tf, v1 = tf_compat.tf, tf_compat.v1
from returnn.tf.network import TFNetwork
v1.disable_eager_execution()
v1.disable_control_flow_v2()
import returnn.tf.layers.basic, returnn.tf.layers.rec

def memory_mb():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

imported_mb = memory_mb()  # which depends on what else is installed
net_dict = network(with_encoder=sys.argv[2] == "1")
config = Config({"extern_data": EXTERN_DATA, "network": net_dict})
BATCH, FRAMES, LABELS, STEPS = 8, 100, 25, 6
rng = numpy.random.RandomState(1)
inputs = rng.normal(size=(BATCH, FRAMES, INPUTS)).astype("float32")
labels = rng.randint(1, CLASSES, size=(BATCH, LABELS)).astype("int32")
opts = v1.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2)
result = {}

def build(**flags):
    net = TFNetwork(config=config, **flags)
    net.construct_from_dict(net_dict)
    return net

def feed_dict(net):
    data, classes = net.extern_data.data["data"], net.extern_data.data["classes"]
    feed = {data.placeholder: inputs, data.size_placeholder[0]: numpy.array([FRAMES - 3 * i for i in range(BATCH)])}
    feed[classes.placeholder] = labels
    feed[classes.size_placeholder[0]] = numpy.array([LABELS - i for i in range(BATCH)])
    for op in tf.compat.v1.get_default_graph().get_operations():
        if op.type == "Placeholder" and op.name.endswith("batch_dim"):
            feed[op.outputs[0]] = BATCH
    return feed

def timed(session, fetches, feed):
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        session.run(fetches, feed)
        times.append(time.perf_counter() - start)
    return sorted(times[1:])[(STEPS - 1) // 2]

with tf.Graph().as_default():  # once, so that nothing is loaded for the first time later
    TFNetwork(config=config, train_flag=True).construct_from_dict(
        {"output": {"class": "softmax", "from": "data", "target": "classes", "n_out": CLASSES}})
with tf.Graph().as_default() as graph:
    start = time.perf_counter()
    net = build(train_flag=True)
    loss = net.get_objective()
    result["build_s"] = time.perf_counter() - start
    params = net.get_params_list()
    start = time.perf_counter()
    grads = tf.gradients(loss, params)
    result["gradients_s"] = time.perf_counter() - start
    result["ops"] = len(graph.get_operations())
    with v1.Session(config=opts) as session:
        session.run(v1.global_variables_initializer())
        ops = [g.op if isinstance(g, tf.Tensor) else g.values.op for g in grads]
        result["step_s"] = timed(session, ops, feed_dict(net))
result["memory_mb"] = memory_mb() - imported_mb
with tf.Graph().as_default() as graph:
    start = time.perf_counter()
    net = build(train_flag=False, search_flag=True, eval_flag=True)
    result["build_search_s"] = time.perf_counter() - start
    with v1.Session(config=opts) as session:
        session.run(v1.global_variables_initializer())
        out = net.get_layer("decision").output
        fetches = [out.placeholder, out.get_sequence_lengths()]
        feed = feed_dict(net)
        result["search_s"] = timed(session, fetches, feed)
        result["search_labels"] = int(sum(session.run(fetches, feed)[1]))
print("RESULT", json.dumps(result))
"""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", help="Python with another implementation")
    parser.add_argument("--encoder", action="store_true", help="with an encoder of LSTM layers")
    args = parser.parse_args()
    pythons = {"ours": (sys.executable, True)}
    if args.other:
        pythons["other"] = (args.other, False)
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
    for _ in range(ROUNDS):
        for name, (python, own) in pythons.items():
            found[name].append(run_child(python, CHILD, ["1" if args.encoder else "0"], own=own))
    medians = {
        name: {key: statistics.median(x[key] for x in results) for key in results[0]} for name, results in found.items()
    }
    for name, m in medians.items():
        print(
            "%s: build %.2f s, gradients %.2f s (%i ops), step %.0f ms, memory %.0f MB; search: build %.2f s, %.0f ms, "
            "%i labels"
            % (
                *(name, m["build_s"], m["gradients_s"], m["ops"], 1000 * m["step_s"], m["memory_mb"]),
                *(m["build_search_s"], 1000 * m["search_s"], m["search_labels"]),
            )
        )
    if args.other:
        for key in medians["ours"]:
            print("%s: ours / other = %.2f" % (key, medians["ours"][key] / max(medians["other"][key], 1e-9)))


if __name__ == "__main__":
    main()
