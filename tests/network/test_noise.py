"""Noise is another one in each step, also of passes that do not train; and the same one each time."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.datasets.basic import init_dataset
from returnn.network import Network
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.tf.compat import v1
from returnn.tf.engine import Engine
from returnn.tf.runner import Runner

from .net import Net

BACKENDS = ["tf", "numpy", "torch"]
NOISE = {"class": "dropout", "dropout": 0.5, "dropout_on_forward": True, "from": "data"}
IN_LOOP = {
    "class": "rec",
    "from": "data",
    "optimize_move_layers_out": False,
    "unit": {
        "noise": {**NOISE, "from": "data:source"},
        "output": {"class": "combine", "kind": "add", "from": ["noise", "prev:noise"]},
    },
}
DIM = 50
ONES = numpy.ones((1, 2, DIM), "float32")


def draw(backend: str, layer: dict[str, Any], steps: list[tuple[bool, int, int]]) -> list[list[Any]]:
    """
    :param layer: options
    :param steps: train flag, global step, step of the pass
    :return: the output for ones, of each
    """
    extern_data = {"data": {"dim": DIM}}
    if backend == "tf":
        with Net({"output": layer}, extern_data, train="dynamic") as net:
            step_var = net.net.global_train_step_var
            outputs = []
            for train, global_step, epoch_step in steps:
                step_var.load(global_step, net.session)
                feed = {net.net.train_flag: train, net.net.get_epoch_step(): epoch_step}
                outputs.append(net.out(feed={**net.feed({"data": [2]}, data=ONES), **feed}).tolist())
            return outputs
    backend_module = numpy_backend
    if backend == "torch":
        backend_module = pytest.importorskip("returnn.torch.backend", reason="needs torch").backend
    run = Network(config=Config({"extern_data": extern_data}), backend=backend_module, train_flag=False)
    run.construct_from_dict({"output": layer})
    outputs = []
    for train, global_step, epoch_step in steps:
        feed = {"data": backend_module.convert(ONES), "data:size1": numpy.array([2], "int32")}
        with run.step(feed, train=train, global_train_step=global_step, epoch_step=epoch_step):
            outputs.append(backend_module.to_numpy(run.layers["output"].output.raw_tensor).tolist())
    return outputs


@pytest.mark.parametrize("layer", [NOISE, IN_LOOP])
@pytest.mark.parametrize("backend", BACKENDS)
def test_steps_of_a_pass(backend: str, layer: dict[str, Any]) -> None:
    """In training, the step of the pass says nothing, so that a resumed epoch goes on as it would have."""
    steps = [(False, 3, 0), (False, 3, 1), (False, 3, 2), (False, 3, 1), (True, 3, 0), (True, 3, 1), (True, 4, 0)]
    a, b, c, b_again, train, train_again, train_next = draw(backend, layer, steps)
    assert a != b and a != c and b != c and b_again == b
    assert train == train_again and train_next != train


def test_in_a_graph_for_one_purpose() -> None:
    """Nothing needs to be fed; and the placeholder has the name that it always had."""
    with Net({"output": NOISE}, {"data": {"dim": DIM}}) as net:
        feed = net.feed({"data": [2]}, data=ONES)
        first = net.out(feed=feed)
        assert numpy.array_equal(net.out(feed=feed), first)
        placeholder = v1.get_default_graph().get_tensor_by_name("epoch_step:0")
        assert placeholder is net.net.get_epoch_step() and placeholder.dtype == "int64"
        assert not numpy.array_equal(net.out(feed={**feed, placeholder: 1}), first)
        names = {op.name.split("/")[0] for op in v1.get_default_graph().get_operations()}
        assert "step_for_noise_1" not in names  # made once


def test_batches_of_a_search() -> None:
    """The engine tells which step of the pass it is: another draw for each batch, the same when all is repeated."""
    config = Config(
        {
            **{"task": "forward", "device": "cpu", "allow_random_model_init": True, "tf_log_dir": None},
            **{"extern_data": {"data": {"dim": DIM}}, "network": {"output": NOISE}},
            "eval": {"class": "StaticDataset", "data": [{"data": ONES[0]}] * 3, "output_dim": {"data": (DIM, 2)}},
        }
    )
    engine = Engine(config)
    engine.init_network_from_config(config)
    try:
        passes = []
        for _ in range(2):
            found: list[Any] = []
            dataset = init_dataset(config.typed_dict["eval"])
            dataset.init_seq_order(epoch=1)
            output = engine.network.layers["output"].output
            runner = Runner(
                engine,
                dataset=dataset,
                batches=dataset.generate_batches(batch_size=2, max_seqs=1),
                train=False,
                eval=False,
                extra_fetches={"output": output},
                extra_fetches_callback=lambda output, found=found: found.append([x.tolist() for x in output]),
            )
            runner.run("pass", raise_exception=True)
            passes.append(found)
    finally:
        engine.finalize()
    assert len(passes[0]) == 3 and passes[0] == passes[1]
    assert all(passes[0][i] != passes[0][j] for i, j in [(0, 1), (0, 2), (1, 2)])
