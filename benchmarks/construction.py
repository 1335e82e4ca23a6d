"""Time to build two encoders, and of a training step of them; next to bare TensorFlow, and to another implementation.

    python -m benchmarks.construction [--other PYTHON] [--step]

The floor is what TensorFlow itself needs to make as many operations: additions forward, and the gradients of additions.
``--other`` is the Python of an environment in which another package ``returnn`` with the same interface is installed;
its numbers are measured in turn with ours, each in fresh processes.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from typing import Any

from benchmarks.child import run_child

ROUNDS = 3

CHILD = """
import json, os, sys, time
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
sys.path.insert(0, sys.argv[1])
from encoders import EXTERN_DATA, INPUTS, CLASSES, NETWORKS
what, with_step = sys.argv[2], sys.argv[3] == "1"
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
net_dict = NETWORKS[what]()
config = Config({"extern_data": EXTERN_DATA, "network": net_dict})

def build():
    net = TFNetwork(config=config, train_flag=True)
    net.construct_from_dict(net_dict)
    return net, net.get_objective()

def num_ops(graph):  # those within its functions, too
    library = graph.as_graph_def().library
    return len(graph.get_operations()) + sum(len(function.node_def) for function in library.function)

with tf.Graph().as_default():  # once, so that nothing is loaded for the first time later
    small = {"output": dict(net_dict["output"], **{"from": "data"})}
    TFNetwork(config=config, train_flag=True).construct_from_dict(small)
graph = tf.Graph()
with graph.as_default():
    start = time.perf_counter()
    net, loss = build()
    forward_s = time.perf_counter() - start
    forward_ops = num_ops(graph)
    params = net.get_params_list()
    start = time.perf_counter()
    grads = tf.gradients(loss, params)
    gradients_s = time.perf_counter() - start
    all_ops = num_ops(graph)
    steps = []
    if with_step:
        rng = numpy.random.RandomState(1)
        data, classes = net.extern_data.data["data"], net.extern_data.data["classes"]
        lens = numpy.array([200 - 5 * i for i in range(8)], "int32")
        feed = {
            data.placeholder: rng.normal(size=(8, 200, INPUTS)).astype("float32"),
            data.size_placeholder[0]: lens,
            classes.placeholder: rng.randint(0, CLASSES, size=(8, 200)).astype("int32"),
            classes.size_placeholder[0]: lens,
        }
        for op in graph.get_operations():
            if op.type == "Placeholder" and op.name.endswith("batch_dim"):
                feed[op.outputs[0]] = 8
        opts = v1.ConfigProto(intra_op_parallelism_threads=2, inter_op_parallelism_threads=2)
        with v1.Session(config=opts) as session:
            session.run(v1.global_variables_initializer())
            ops = [g.op if isinstance(g, tf.Tensor) else g.values.op for g in grads]
            for i in range(8):
                start = time.perf_counter()
                session.run(ops, feed)
                steps.append(time.perf_counter() - start)
floor = tf.Graph()
with floor.as_default():
    x = v1.placeholder(tf.float32, [None, 8])
    start = time.perf_counter()
    y = x
    for _ in range(1000):
        y = y + x
    add_s = (time.perf_counter() - start) / 1000
    before = len(floor.get_operations())
    start = time.perf_counter()
    tf.gradients(y, x)
    grad_s = (time.perf_counter() - start) / (len(floor.get_operations()) - before)
print("RESULT", json.dumps({
    "forward_s": forward_s, "gradients_s": gradients_s, "forward_ops": forward_ops,
    "gradient_ops": all_ops - forward_ops, "params": len(params), "add_s": add_s, "grad_op_s": grad_s,
    "step_s": sorted(steps)[len(steps) // 2] if steps else None,
}))
"""


def median_of(results: list[dict[str, Any]]) -> dict[str, Any]:
    """
    :param results: of :func:`benchmarks.child.run_child`
    :return: the median of each number
    """
    keys = [key for key, value in results[0].items() if value is not None]
    return {key: statistics.median(result[key] for result in results) for key in keys}


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", help="Python with another implementation")
    parser.add_argument("--step", action="store_true", help="also measure training steps")
    parser.add_argument("--network", choices=["transformer", "blstm"], help="default: both")
    args = parser.parse_args()
    for what in [args.network] if args.network else ["transformer", "blstm"]:
        pythons = {"ours": (sys.executable, True)}
        if args.other:
            pythons["other"] = (args.other, False)
        found: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
        for _ in range(ROUNDS):
            for name, (python, own) in pythons.items():
                found[name].append(run_child(python, CHILD, [what, "1" if args.step else "0"], own=own))
        report(what, {name: median_of(results) for name, results in found.items()})


def report(what: str, medians: dict[str, dict[str, Any]]) -> None:
    """
    :param what: name of the network
    :param medians: by implementation
    """
    for name, m in medians.items():
        print(
            "%s, %s: build %.2f s (%i ops), gradients %.2f s (%i ops)%s"
            % (
                *(what, name, m["forward_s"], m["forward_ops"], m["gradients_s"], m["gradient_ops"]),
                ", step %.0f ms" % (1000 * m["step_s"]) if "step_s" in m else "",
            )
        )
    ours = medians["ours"]
    floors = {
        "build": ours["forward_ops"] * ours["add_s"],
        "gradients": ours["gradient_ops"] * ours["grad_op_s"],
    }
    seconds = {"build": ours["forward_s"], "gradients": ours["gradients_s"]}
    for kind in ("build", "gradients"):
        print("%s, %s: ours / floor = %.2f" % (what, kind, seconds[kind] / floors[kind]))
    both = sum(seconds.values())
    print("%s, build and gradients: ours / floor = %.2f" % (what, both / sum(floors.values())))
    if "other" in medians:
        other = medians["other"]
        print("%s, build: other / ours = %.2f" % (what, other["forward_s"] / ours["forward_s"]))
        total = other["forward_s"] + other["gradients_s"]
        print("%s, build and gradients: other / ours = %.2f" % (what, total / both))
        if "step_s" in ours:
            print("%s, step: ours / other = %.2f" % (what, ours["step_s"] / other["step_s"]))


if __name__ == "__main__":
    main()
