"""One sequence, or all of a small dataset, through the network."""

from __future__ import annotations

from collections.abc import Iterator

import numpy
import pytest

from returnn.tf.engine import Engine
from tests.tf.engine_case import make_config, make_dataset


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Not for training."""
    config = make_config(task="forward", allow_random_model_init=True)
    engine = Engine(config)
    engine.init_network_from_config(config)
    yield engine
    engine.finalize()


def test_all_sequences_are_one_batch(engine: Engine) -> None:
    """Padded; up to its length each is what it is alone."""
    dataset = make_dataset("dev", num_seqs=4)
    dataset.init_seq_order(epoch=1)
    layer = engine.network.layers["output"]
    outputs = {"layer": layer, "data": layer.output, "raw": layer.output.placeholder, "none": None}
    values = engine.run_single(dataset, -1, outputs)
    lens = [len(seq["data"]) for seq in dataset.data]
    assert list(values) == list(outputs) and values["none"] is None
    assert values["layer"].shape == (4, max(lens), 2) and len(set(lens)) > 1
    numpy.testing.assert_array_equal(values["layer"], values["data"])
    numpy.testing.assert_array_equal(values["layer"], values["raw"])
    dataset.init_seq_order(epoch=1)
    for i, seq_len in enumerate(lens):
        alone = engine.run_single(dataset, i, {"output": layer})["output"]
        assert alone.shape == (1, seq_len, 2)
        numpy.testing.assert_allclose(alone[0], values["layer"][i, :seq_len], rtol=1e-6)


def test_targets_are_fed_too(engine: Engine) -> None:
    """Losses of one sequence, by hand, from the output."""
    dataset = make_dataset("dev", num_seqs=2)
    dataset.init_seq_order(epoch=1)
    (loss,) = engine.network.get_losses()
    values = engine.run_single(dataset, 1, {"loss": loss.get_loss_value(), "output": engine.network.layers["output"]})
    classes = dataset.data[1]["classes"]
    expected = -numpy.log(values["output"][0, range(len(classes)), classes]).sum()
    assert values["loss"] == pytest.approx(expected, rel=1e-5)


def test_feed_can_be_replaced(engine: Engine) -> None:
    """Zeros instead of the data: without bias, each class has probability 1/2."""
    dataset = make_dataset("dev", num_seqs=1)
    dataset.init_seq_order(epoch=1)
    placeholder = engine.network.extern_data.data["data"].placeholder
    feed = engine.get_specific_feed_dict(dataset, 0)
    numpy.testing.assert_array_equal(feed[placeholder][0], dataset.data[0]["data"])
    zeros = numpy.zeros_like(feed[placeholder])
    values = engine.run_single(dataset, 0, {"output": engine.network.layers["output"]}, {placeholder: zeros})
    numpy.testing.assert_array_equal(values["output"], numpy.full(values["output"].shape, 0.5))
