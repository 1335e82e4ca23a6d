"""Outputs reach the file whole, in the order of the data, without padding."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy
import pytest

from returnn.config import Config
from returnn.datasets.basic import Dataset, init_dataset
from returnn.tf.engine import Engine
from returnn.util.errors import ConfigError


@pytest.fixture
def dataset() -> Dataset:
    """Five sequences with 84, 15, 65, 97 and 45 frames in epoch 1."""
    return init_dataset({"class": "Task12AXDataset", "num_seqs": 5, "name": "eval"})


@pytest.fixture
def engine() -> Iterator[Engine]:
    """Two layers; ``states`` is sparse."""
    network = {
        "hidden": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
        "output": {"class": "softmax", "loss": "ce", "from": "hidden"},
        "states": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "output", "is_output_layer": True},
    }
    config = Config(
        {
            **{"task": "forward", "device": "cpu", "allow_random_model_init": True, "tf_log_dir": None},
            **{"network": network, "num_inputs": 9, "num_outputs": 2},
        }
    )
    engine = Engine(config)
    engine.init_network_from_config(config)
    yield engine
    engine.finalize()


def test_forward_to_hdf(engine: Engine, dataset: Dataset, tmp_path: Path) -> None:
    """306 frames of 2 classes, the same values as sequence by sequence, nothing beside the file."""
    path = tmp_path / "out.hdf"
    engine.forward_to_hdf(dataset, str(path), batch_size=200)
    with h5py.File(path) as f:
        assert f["inputs"].shape == (306, 2)
        numpy.testing.assert_array_equal(f["seqLengths"], [[n, 0] for n in (84, 15, 65, 97, 45)])
        assert dict(f.attrs) == {
            **{"numTimesteps": 306, "numSeqs": 5, "inputPattSize": 2, "numLabels": 2, "numDims": 1},
        }
        assert [tag.decode() for tag in f["seqTags"]] == ["seq-%i" % i for i in range(5)]
        outputs = numpy.split(f["inputs"][:], numpy.cumsum([84, 15, 65, 97]))
    dataset.init_seq_order(epoch=1)
    for i, output in enumerate(outputs):
        single = engine.forward_single(dataset, i)
        numpy.testing.assert_allclose(output, single, rtol=1e-6)
        numpy.testing.assert_allclose(single.sum(axis=1), 1, rtol=1e-5)
    assert list(tmp_path.iterdir()) == [path]


def test_forward_of_a_sparse_layer(engine: Engine, dataset: Dataset, tmp_path: Path) -> None:
    """Class indices: one number a frame, numLabels the number of classes."""
    engine.forward_to_hdf(dataset, str(tmp_path / "out.hdf"), batch_size=200, output_layer="states")
    with h5py.File(tmp_path / "out.hdf") as f:
        assert f["inputs"].shape == (306,) and f["inputs"].dtype.kind == "i"
        assert f.attrs["numLabels"] == 2


def test_targets_that_the_dataset_lacks_are_not_needed(engine: Engine, tmp_path: Path) -> None:
    """Only a loss wants them."""
    frames = numpy.zeros((3, 9), "float32")
    dataset = init_dataset({"class": "StaticDataset", "data": [{"data": frames}], "name": "eval"})
    engine.forward_to_hdf(dataset, str(tmp_path / "out.hdf"), batch_size=200)
    with h5py.File(tmp_path / "out.hdf") as f:
        assert f["inputs"].shape == (3, 2)


def test_sequences_without_frames_are_named(engine: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The second of three and the last are empty: the file has the others, the log the tags of these."""
    seqs = [{"data": numpy.zeros((n, 9), "float32")} for n in (3, 0, 2, 0)]
    dataset = init_dataset({"class": "StaticDataset", "data": seqs, "name": "eval"})
    engine.forward_to_hdf(dataset, str(tmp_path / "out.hdf"), batch_size=200)
    assert "warning: no output for sequences without frames: seq-1, seq-3\n" in capsys.readouterr().out
    with h5py.File(tmp_path / "out.hdf") as f:
        assert f["inputs"].shape == (5, 2)


def test_extern_data_may_come_from_the_dataset(dataset: Dataset, tmp_path: Path) -> None:
    """The config says nothing about it: 9 features as the dataset has them, 306 frames."""
    network = {"output": {"class": "linear", "n_out": 2, "from": "data"}}
    opts = {"task": "forward", "device": "cpu", "allow_random_model_init": True, "tf_log_dir": None}
    config = Config({**opts, "network": network})
    engine = Engine(config)
    engine.init_network_from_config(config, dataset=dataset)
    engine.forward_to_hdf(dataset, str(tmp_path / "out.hdf"), batch_size=200)
    engine.finalize()
    with h5py.File(tmp_path / "out.hdf") as f:
        assert f["inputs"].shape == (306, 2)


def test_error_in_the_middle_leaves_no_file(engine: Engine, dataset: Dataset, tmp_path: Path) -> None:
    """Sequence 3 cannot be read."""
    get_data_slice = dataset.get_data_slice

    def fail_at_3(seq_idx: int, *args: object) -> numpy.ndarray:
        if seq_idx == 3:
            raise OSError("disk gone")
        return get_data_slice(seq_idx, *args)

    dataset.get_data_slice = fail_at_3
    with pytest.raises(OSError, match="disk gone"):
        engine.forward_to_hdf(dataset, str(tmp_path / "out.hdf"), batch_size=100)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "out.hdf").write_text("old")
    with pytest.raises(OSError, match="disk gone"):
        engine.forward_to_hdf(dataset, str(tmp_path / "out.hdf"), batch_size=100, overwrite=True)
    assert list(tmp_path.iterdir()) == [tmp_path / "out.hdf"] and (tmp_path / "out.hdf").read_text() == "old"


def test_unknown_output_layer_is_a_user_error(engine: Engine, dataset: Dataset, tmp_path: Path) -> None:
    """With those that there are, and the nearest."""
    with pytest.raises(ConfigError, match="output layer 'hiden' not found, available layers: .*hidden.*Did you mean"):
        engine.forward_to_hdf(dataset, str(tmp_path / "out.hdf"), batch_size=100, output_layer="hiden")
