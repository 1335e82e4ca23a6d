"""Generated data: values depend on (seed, corpus index) alone, by the random numbers of fixed formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy
import pytest

from returnn.datasets.basic import Dataset, DatasetSeq, init_dataset
from returnn.datasets.generating import GeneratingDataset, Task12AXDataset
from returnn.util.errors import ConfigError


def in_epoch(epoch: int, **opts: Any) -> Dataset:
    """:return: all sequences loaded"""
    dataset = init_dataset(opts)
    dataset.init_seq_order(epoch)
    dataset.load_seqs(0, min(dataset.num_seqs, 10))
    return dataset


def text(dataset: Dataset, seq_idx: int, key: str = "data") -> str:
    """:return: characters of a sequence"""
    data = dataset.get_data(seq_idx, key)
    classes = dataset._input_classes if key == "data" else dataset._output_classes
    return "".join(classes[i] for i in (data.argmax(-1) if data.ndim > 1 else data))


def test_12ax() -> None:
    """Lengths 84, 15, 65 in epoch 1, and how the sequences start."""
    dataset = in_epoch(1, **{"class": "Task12AXDataset", "num_seqs": 3})
    assert [dataset.get_seq_length(i)["data"] for i in range(3)] == [84, 15, 65]
    assert (text(dataset, 1), text(dataset, 1, "classes")) == ("AXX3Y1BYXBYYX1B", "L" * 15)
    assert text(dataset, 2).startswith("2AXAXAX11AX31BY")
    assert text(dataset, 2, "classes").startswith("LLLLLLLLLLRL")
    dataset = in_epoch(2, **{"class": "Task12AXDataset", "num_seqs": 3})
    assert dataset.get_seq_length(0)["data"] == 77 and text(dataset, 0).startswith("2AX2AXBY2BY")
    assert dataset.num_outputs == {"classes": (2, 1), "data": (9, 2)}
    assert (dataset.get_data(0, "data").dtype, dataset.get_data(0, "classes").dtype) == ("float32", "int32")


def test_12ax_rule() -> None:
    """R for 1..A..X and 2..B..Y; X and Y forget the letter; 3, C and Z are nothing."""
    dataset = Task12AXDataset(num_seqs=1)
    seq = [dataset._input_classes.index(c) for c in "1AX1A3CZX2AXBXY2BY"]
    assert "".join("LR"[i] for i in dataset.make_output_seq(seq)) == "LLRLLLLLRLLLLLLLLR"
    priors = dataset.estimate_output_class_priors(100)
    assert sum(priors) == pytest.approx(1) and 0 < priors[1] < 0.5


def test_values_follow_the_corpus_index() -> None:
    """Order changes tags, not what belongs to a tag."""
    dataset = in_epoch(1, **{"class": "Task12AXDataset", "num_seqs": 5, "seq_ordering": "random"})
    assert [dataset.get_tag(i) for i in range(5)] == ["seq-2", "seq-1", "seq-4", "seq-0", "seq-3"]
    assert [dataset.get_seq_length(i)["data"] for i in (0, 1, 3)] == [65, 15, 84]
    assert dataset.get_corpus_seq(1).num_frames["data"] == 15 and dataset.get_corpus_seq_idx(0) == 2


def test_episodic_copy() -> None:
    """Six digits, ten blanks, 6 + 2 dots. Output: blanks up to the first dot, the digits, a dot."""
    dataset = in_epoch(1, **{"class": "TaskEpisodicCopyDataset", "num_seqs": 1})
    assert text(dataset, 0) == "270414" + " " * 10 + "." * 8
    assert text(dataset, 0, "classes") == " " * 17 + "270414" + "."


def test_xml() -> None:
    """Known are the "<" after a blank and after ">", the tag in a closing tag, and its end."""
    dataset = in_epoch(1, **{"class": "TaskXmlModelingDataset", "num_seqs": 1})
    assert text(dataset, 0) == " <chaebe></chaebe>"
    assert text(dataset, 0, "classes") == "<       < chaebe><"


def test_base_convert() -> None:
    """Octal 270414 is binary 10 111 000 100 001 100."""
    dataset = in_epoch(1, **{"class": "TaskNumberBaseConvertDataset", "num_seqs": 1})
    assert text(dataset, 0) == "270414" and text(dataset, 0, "classes") == "10111000100001100"
    with pytest.raises(ConfigError, match="a base must be 2 to 10, but is 16"):
        in_epoch(1, **{"class": "TaskNumberBaseConvertDataset", "num_seqs": 1, "input_base": 16})


def test_copy_task() -> None:
    """Input and target are the same, the lengths grow by epoch if wanted."""
    dataset = in_epoch(1, **{"class": "CopyTaskDataset", "nsymbols": 5, "minlen": 3, "maxlen": 8, "num_seqs": 1})
    for key in ("data", "classes"):
        assert dataset.get_data(0, key).tolist() == [2, 0, 4, 1, 4, 1, 3, 4] and dataset.get_data_dim(key) == 5
    opts = {"class": "CopyTaskDataset", "nsymbols": 200, "minlen_epoch_factor": 2, "maxlen_epoch_factor": 2}
    data = in_epoch(3, **opts, num_seqs=1).get_data(0, "data")
    assert data.shape == (6,) and data.dtype == "uint8"


def test_dummy() -> None:
    """((a + j) % 10 - 5) / 10 for sequence a; the classes count on after the four input values."""
    dataset = in_epoch(1, **{"class": "DummyDataset", "input_dim": 2, "output_dim": 3, "num_seqs": 4})
    numpy.testing.assert_allclose(dataset.get_data(0, "data"), [[-0.5, -0.4], [-0.3, -0.2]], rtol=1e-6)
    numpy.testing.assert_allclose(dataset.get_data(1, "data"), [[-0.4, -0.3], [-0.2, -0.1]], rtol=1e-6)
    assert dataset.get_data(0, "classes").tolist() == [1, 2] and dataset.get_data(1, "classes").tolist() == [2, 0]


def test_dummy_with_many_keys() -> None:
    """One counter: x takes 0, 1, 2 (of 4 classes), y goes on with 3, 4."""
    dataset = in_epoch(
        1,
        **{"class": "DummyDatasetMultipleDataKeys", "output_dim": {"x": (4, 1), "y": (2, 2)}, "num_seqs": 2},
        seq_len={"x": 3, "y": 1},
        data_keys=["x", "y"],
    )
    assert dataset.get_data(0, "x").tolist() == [0, 1, 2]
    numpy.testing.assert_allclose(dataset.get_data(0, "y"), [[-0.2, -0.1]], rtol=1e-6)
    assert dataset.get_data_keys() == ["x", "y"]


def test_window() -> None:
    """Frames t - 1, t, t + 1 side by side, zeros outside; an even window counts as the next odd one."""
    opts = {"class": "DummyDataset", "input_dim": 1, "output_dim": 2, "num_seqs": 1, "input_shift": 1, "input_scale": 1}
    dataset = in_epoch(1, **opts, window=2)
    assert dataset.get_data(0, "data").tolist() == [[0, 1, 2], [1, 2, 0]]
    assert (dataset.get_data_dim("data"), dataset.get_data_shape("data")) == (3, [3])


class Random(GeneratingDataset):
    """As a user writes it."""

    def __init__(self, **kwargs: Any):
        super().__init__(input_dim=2, output_dim=5, **kwargs)

    def generate_seq(self, seq_idx: int) -> DatasetSeq:
        return DatasetSeq(seq_idx, self.random.normal(size=(3, 2)).astype("float32"), targets=numpy.zeros(3, "int32"))


def test_infinite() -> None:
    """It never ends; only the default order makes sense."""
    dataset = init_dataset({"class": Random})
    dataset.init_seq_order(1)
    assert dataset.num_seqs == math.inf and dataset.is_less_than_num_seqs(10**9) and dataset.have_seqs()
    assert dataset.get_complete_frac(3) == pytest.approx(0.99 * (1 - 1 / (math.sqrt(3) / 100 + 1)))
    assert dataset.get_complete_frac(3, allow_only_lr_suitable=True) is None
    assert dataset.len_info() == "Random, sequences: unknown, frames: unknown"
    with pytest.raises(ConfigError, match="Random 'x' is infinite, so only"):
        init_dataset({"class": Random, "name": "x", "seq_ordering": "random"})


def test_epoch_is_read_again_the_same() -> None:
    """Also with a start in the middle of training."""
    dataset = init_dataset({"class": Random, "num_seqs": 4})
    values = []
    for epoch in (1, 2, 1):
        dataset.init_seq_order(epoch)
        values.append(numpy.array([dataset.get_data(i, "data") for i in range(4)]))
    assert (values[0] == values[2]).all() and (values[0] != values[1]).any()
