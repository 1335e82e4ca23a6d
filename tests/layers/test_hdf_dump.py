"""The layer ``hdf_dump``: content of its files, and when they appear."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from returnn.config import Config
from returnn.datasets.hdf.dataset import HDFDataset
from returnn.layers import hdf_dump
from returnn.network import Network
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.util.errors import ConfigError
from tests.network.net import Net, X
from tests.tf.engine_case import make_config, make_dataset, run_training

EXTERN_DATA = {
    "data": {"dim": 2},
    "classes": {"dim": 3, "sparse": True},
    "image": {"shape": (None, None, 2)},
}
SUM = {"class": "reduce", "mode": "sum", "axes": ["T", "F"], "from": "data"}
CLASSES = [[2, 1, 0], [0, 0, 1]]


@pytest.fixture(autouse=True)
def other_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Files of other tests are not ours."""
    monkeypatch.setattr(hdf_dump, "_written", set())
    yield


class Dump:
    """A net with one dump; a context manager that closes the net."""

    def __init__(self, **layer: Any):
        layer = {"class": "hdf_dump", "from": "data", "is_output_layer": True, **layer}
        is_positive = {"class": "compare", "from": "sum_of_all", "kind": "greater", "value": 0.0}
        network = {
            "sum": SUM,
            "sum_of_all": {"class": "reduce", "mode": "sum", "axes": ["B", "T", "F"], "from": "data"},
            "is_positive": is_positive,
            "feature_sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "data"},
            "dump": layer,
            "output": {"class": "copy", "from": "data"},
        }
        self.net = Net(network, EXTERN_DATA, evaluation=True)

    def __enter__(self) -> Dump:
        self.net.__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        self.net.net.call_graph_reset_callbacks()
        self.net.__exit__(*exc)

    def step(self, *tags: str) -> None:
        """with two sequences"""
        self.net.fetches(self.feed(*tags))

    def feed(self, *tags: str, data: numpy.ndarray = X) -> dict[Any, Any]:
        """of two sequences"""
        image = numpy.arange(24).reshape(2, 3, 2, 2)
        lens = {"data": [2, 3], "classes": [2, 3], "image": [[2, 3], [1, 2]]}
        feed = self.net.feed(lens, data=data, classes=CLASSES, image=image)
        feed[self.net.net.extern_data.data["seq_tag"].placeholder] = list(tags)
        return feed


def content(path: Path) -> dict[str, Any]:
    """all datasets and attributes"""
    res: dict[str, Any] = {}
    with h5py.File(path) as file:
        res.update(file.attrs)

        def visit(name: str, item: Any) -> None:
            if isinstance(item, h5py.Dataset):
                value = item[()]
                res[name] = [x.decode() for x in value.tolist()] if value.dtype.kind in "OS" else value.tolist()
            res.update({name + ":" + key: list(value) for key, value in item.attrs.items()})

        file.visititems(visit)
    return res


def test_within_a_condition(tmp_path: Path) -> None:
    """Only the steps with a positive sum of all data."""
    path = tmp_path / "x.hdf"
    branches = {
        "true_layer": {"class": "hdf_dump", "from": "data", "filename": str(path)},
        "false_layer": {"class": "copy", "from": "data"},
    }
    with Dump(**{"class": "cond", "from": [], "condition": "is_positive", **branches}) as dump:
        output = dump.net.layers["dump"].output.raw_tensor
        dump.net.session.run(output, dump.feed("a", "b"))
        dump.net.session.run(output, dump.feed("c", "d", data=-X))
    assert content(path)["seqTags"] == ["a", "b"]


def test_content(tmp_path: Path) -> None:
    """Sequences are cut to their lengths; sc is one number a sequence; the lengths come with it."""
    path = tmp_path / "x.hdf"
    with Dump(filename=str(path), extra={"sc": "sum"}) as dump:
        dump.step("a", "b")
        assert not path.exists()
    got = content(path)
    assert got["inputs"] == [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10]]
    assert got["seqTags"] == ["a", "b"]
    assert got["seqLengths"] == [[2, 1, 1], [3, 1, 1]]
    assert got["targets/data/sc"] == [10, 45]
    assert got["targets/data/seq_sizes"] == [2, 3]
    assert [got[key] for key in ("numTimesteps", "inputPattSize", "numDims", "numLabels", "numSeqs")] == [5, 2, 1, 2, 2]
    assert got["targets/size:sc"] == got["targets/size:seq_sizes"] == [1, 1]


def test_several_steps_and_a_dataset_that_reads_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.hdf"
    with Dump(filename=str(path)) as dump:
        dump.step("a", "b")
        dump.step("c", "d")
    assert "HDFDumpLayer, wrote 4 seqs to file %r.\n" % str(path) in capsys.readouterr().out
    dataset = HDFDataset([str(path)])
    dataset.initialize()
    dataset.init_seq_order(epoch=1)
    dataset.load_seqs(0, 4)
    assert [dataset.get_tag(i) for i in range(4)] == ["a", "b", "c", "d"]
    assert dataset.get_data(3, "data").tolist() == X[1].tolist()


def test_labels(tmp_path: Path) -> None:
    """One-dimensional; the dim is that of the classes."""
    path = tmp_path / "x.hdf"
    with Dump(**{"from": "data:classes"}, filename=str(path), labels=["a", "b", "c"]) as dump:
        dump.step("a", "b")
    got = content(path)
    assert (got["inputs"], got["inputPattSize"], got["labels"]) == ([2, 1, 0, 0, 1], 3, ["a", "b", "c"])


def test_extra_with_lengths(tmp_path: Path) -> None:
    """
    Frames of the batch, with padding, and their lengths; without time one frame. (Another implementation fails for the
    latter.)
    """
    path = tmp_path / "x.hdf"
    with Dump(filename=str(path), extra={"cl": "data:classes", "fs": "feature_sum"}) as dump:
        dump.step("a", "b")
    got = content(path)
    assert got["targets/data/cl"] == [2, 1, 0, 0, 0, 1]
    assert got["targets/data/cl_seq_lens"] == [2, 3]
    assert got["targets/data/fs"] == [[4, 6], [21, 24]]
    assert got["seqLengths"] == [[2, 3, 1, 1, 1], [3, 3, 1, 1, 1]]
    assert got["targets/size:cl"] == [3, 1] and got["targets/size:fs"] == [2, 2]


def test_two_axes_of_lengths(tmp_path: Path) -> None:
    """2 x 1 and 3 x 2 frames, row-major; the lengths of both axes."""
    path = tmp_path / "x.hdf"
    with Dump(**{"from": "data:image"}, filename=str(path)) as dump:
        dump.step("a", "b")
    got = content(path)
    image = numpy.arange(24).reshape(2, 3, 2, 2)
    assert got["inputs"] == [*image[0, :2, 0].tolist(), *image[1].reshape(-1, 2).tolist()]
    assert got["targets/data/sizes"] == got["targets/data/seq_sizes"] == [2, 1, 3, 2]
    assert got["seqLengths"] == [[2, 2, 2], [6, 2, 2]]


def test_whole_batches(tmp_path: Path) -> None:
    path = tmp_path / "x.hdf"
    with Dump(filename=str(path), dump_whole_batches=True, extra={"cl": "data:classes", "sc": "sum"}) as dump:
        dump.step("a", "b")
        dump.step("c", "d")
    got = content(path)
    assert got["seqTags"] == ["a<->b", "c<->d"] and got["numSeqs"] == 2
    assert got["inputs"] == X.reshape(-1, 2).tolist() * 2
    assert got["targets/data/cl"] == [2, 1, 0, 0, 0, 1] * 2
    assert got["targets/data/sc"] == [10, 45] * 2
    assert got["targets/data/seq_sizes"] == got["targets/data/cl_seq_lens"] == [[2], [3]] * 2
    assert got["targets/data/seq_tags"] == ["a", "b", "c", "d"]
    assert got["seqLengths"] == [[6, 6, 2, 2, 2, 2]] * 2


@pytest.mark.parametrize("as_function", [False, True])
def test_file_per_run(tmp_path: Path, as_function: bool) -> None:
    """A pass over a dataset closes its file; a pass that is done again replaces it."""
    pattern = str(tmp_path / "{dataset_name}.{epoch}.hdf")
    with Dump(filename=pattern.format if as_function else pattern, dump_per_run=True) as dump:
        for tags, epoch, name in [("ab", 1, "dev"), ("cd", 2, "dev"), ("ef", 1, "dev")]:
            dump.net.net.set_run_opts(epoch=epoch, dataset_name=name)
            dump.step(*tags)
            dump.net.net.call_run_finished_callbacks()
            assert content(tmp_path / ("%s.%i.hdf" % (name, epoch)))["seqTags"] == list(tags)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["dev.1.hdf", "dev.2.hdf"]


def test_existing_file(tmp_path: Path) -> None:
    """It is an error, before the first step; unless it is to be extended, or this process wrote it."""
    path = tmp_path / "x.hdf"
    with pytest.raises(ConfigError, match="does not exist, so extend_existing_file is not possible"):
        Dump(filename=str(path), extend_existing_file=True)
    for tags in ("ab", "cd"):
        with Dump(filename=str(path)) as dump:
            dump.step(*tags)
    assert content(path)["seqTags"] == ["a", "b", "c", "d"]
    hdf_dump._written.clear()
    with pytest.raises(
        ConfigError, match="exists already. Delete it, choose another filename, or set extend_existing_file"
    ):
        Dump(filename=str(path))
    with Dump(filename=str(path), extend_existing_file=True) as dump:
        dump.step("e", "f")
    assert content(path)["seqTags"] == ["a", "b", "c", "d", "e", "f"]


def test_no_step_no_file(tmp_path: Path) -> None:
    with Dump(filename=str(tmp_path / "x.hdf")):
        pass
    assert list(tmp_path.iterdir()) == []


def test_dry_run(tmp_path: Path) -> None:
    network = {"output": {"class": "hdf_dump", "from": "data", "filename": str(tmp_path / "x.hdf")}}
    with Net(network, EXTERN_DATA, dry_run=True) as net:
        net.out(feed=net.feed(data=X))
        net.net.call_graph_reset_callbacks()
    assert list(tmp_path.iterdir()) == []


def test_without_a_graph(tmp_path: Path) -> None:
    path = tmp_path / "x.hdf"
    net = Network(config=Config({"extern_data": EXTERN_DATA}), backend=numpy_backend)
    net.construct_from_dict(
        {"sum": SUM, "output": {"class": "hdf_dump", "from": "data", "filename": str(path), "extra": {"sc": "sum"}}}
    )
    data = {"data": X, "data:size1": numpy.array([2, 3], "int32"), "seq_tag": numpy.array(["a", "b"])}
    with net.step(data, train=False):
        pass
    net.call_graph_reset_callbacks()
    got = content(path)
    assert got["seqTags"] == ["a", "b"] and got["targets/data/sc"] == [10, 45]


@pytest.mark.parametrize(
    ("layer", "message"),
    [
        ({}, "filename must be a string, or with dump_per_run a function, but is None"),
        ({"filename": "x.hdf", "from": "sum"}, "needs a source with batch and time, but it is"),
        ({"filename": "x.hdf", "from": ["data", "data"]}, "the layer needs exactly one source, but has 2"),
        ({"filename": "x.hdf", "extra": ["sum"]}, "extra must be a dict, data key -> layer"),
        ({"filename": "x.hdf", "extra": {"seq_sizes": "sum"}}, "must not have the data key 'seq_sizes'"),
        ({"filename": "x.hdf", "extra": {"x": "summ"}}, "layer 'summ' not found.*sum"),
    ],
)
def test_mistakes(layer: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        Dump(**layer)


def test_in_a_training(tmp_path: Path) -> None:
    """A file for each pass, of two epochs on train and dev; and one of all of them, when the program ends."""
    dump = {"class": "hdf_dump", "from": "output", "is_output_layer": True}
    network = {
        "output": {"class": "softmax", "loss": "ce", "from": "data"},
        "each": {**dump, "filename": str(tmp_path / "{dataset_name}.{epoch}.hdf"), "dump_per_run": True},
        "all": {**dump, "filename": str(tmp_path / "all.hdf")},
    }
    config = make_config(tmp_path, network=network, num_epochs=2)
    run_training(config, train=make_dataset("train", num_seqs=5))
    names = ["train.1", "dev.1", "train.2", "dev.2"]
    sizes = [content(tmp_path / (name + ".hdf"))["numSeqs"] for name in names]
    assert sizes == [5, 10, 5, 10]
    assert content(tmp_path / "all.hdf")["numSeqs"] == 30
