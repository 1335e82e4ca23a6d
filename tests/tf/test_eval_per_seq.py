"""Scores by sequence: the fields, their order, and a file that is there whole or not at all."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.datasets.basic import Dataset, init_dataset
from returnn.tf.engine import Engine
from returnn.util.errors import ConfigError

ALL_FIELDS = ["seq_tag", "seq_len", "score", "error", "pos_score", "pos_error"]
LOGITS = {"class": "linear", "activation": None, "with_bias": False, "from": "data", "n_out": 2}


def _frames(*right: bool) -> dict[str, numpy.ndarray]:
    """
    :return: one frame for each: the label is 0, and the logits with identity as weights (1, 0) where it is right
    """
    data = numpy.array([(1, 0) if x else (0, 1) for x in right], "float32")
    return {"data": data, "classes": numpy.zeros(len(right), "int32"), "labels": numpy.zeros(2, "int32")}


def _dataset(seqs: list[dict[str, numpy.ndarray]], **opts: Any) -> Dataset:
    dims = {"data": (2, 2), "classes": (2, 1), "labels": (2, 1)}
    return init_dataset({"class": "StaticDataset", "data": seqs, "output_dim": dims, "name": "dev", **opts})


def _engine(dataset: Dataset, *, network: dict[str, Any] | None = None, **opts: Any) -> Engine:
    """
    :return: frames go through a softmax with identity as weights
    """
    extern_data = {"data": {"dim": 2}, "classes": {"dim": 2, "sparse": True}, "labels": {"dim": 2, "sparse": True}}
    network = network or {"output": {"class": "softmax", "with_bias": False, "from": "data", "loss": "ce"}}
    config = Config(
        {
            **{"task": "eval", "device": "cpu", "allow_random_model_init": True, "tf_log_dir": None},
            **{"network": network, "extern_data": extern_data, "batch_size": 6, "learning_rate_file": None, **opts},
        }
    )
    engine = Engine(config)
    engine.init_train_from_config(config, dev_data=dataset)
    for weights in engine.network.get_params_list():
        weights.load(numpy.eye(*weights.shape), engine.tf_session)
    return engine


@pytest.fixture
def dataset() -> Iterator[Dataset]:
    """Sequences of 3, 1 and 4 frames, evaluated from the longest to the shortest."""
    yield _dataset(
        [_frames(True, True, False), _frames(True), _frames(False, False, True, True)], seq_ordering="sorted_reverse"
    )


def _evaluate(engine: Engine, path: Path, fields: list[str], **opts: Any) -> str:
    engine.eval_model(
        output_per_seq_file=str(path), output_per_seq_format=fields, lr_control_update_scores=False, **opts
    )
    engine.finalize()
    return path.read_text()


def test_txt(dataset: Dataset, tmp_path: Path) -> None:
    """In corpus order; 1/3 in single precision is written as 0.33333334."""
    text = _evaluate(_engine(dataset), tmp_path / "f", ["seq_tag", "seq_len", "error", "pos_error"])
    assert text == "seq-0;3;0.33333334;0.0 0.0 1.0\nseq-1;1;0.0;0.0\nseq-2;4;0.5;1.0 1.0 0.0 0.0\n"
    assert [file.name for file in tmp_path.iterdir()] == ["f"]


def test_score_is_the_default(dataset: Dataset, tmp_path: Path) -> None:
    """Cross entropy of logits (1, 0): log(1 + e^-1) = 0.3133 where right, log(1 + e) = 1.3133 where wrong."""
    right, wrong = math.log(1 + math.exp(-1)), math.log(1 + math.e)
    engine = _engine(dataset)
    engine.eval_model(output_per_seq_file=str(tmp_path / "f"), lr_control_update_scores=False)
    scores = [float(line) for line in (tmp_path / "f").read_text().splitlines()]
    assert scores == pytest.approx([(2 * right + wrong) / 3, right, (2 * right + 2 * wrong) / 4], rel=1e-6)


def test_py(dataset: Dataset, tmp_path: Path) -> None:
    """A line a sequence, plain numbers, readable as an expression."""
    text = _evaluate(_engine(dataset), tmp_path / "f", ALL_FIELDS, output_per_seq_file_format="py", loss_name="output")
    lines = text.splitlines()
    assert lines[0] == "{" and lines[-1] == "}" and len(lines) == 5
    assert lines[1].startswith("'seq-0': {'seq_tag': 'seq-0', 'seq_len': 3, 'score': 0.6")
    values = ast.literal_eval(text)
    assert list(values) == ["seq-0", "seq-1", "seq-2"]
    for value in values.values():
        assert list(value) == ALL_FIELDS and len(value["pos_score"]) == value["seq_len"]
        assert value["score"] == pytest.approx(sum(value["pos_score"]) / value["seq_len"], rel=1e-6)
    assert values["seq-2"]["pos_error"] == [1, 1, 0, 0]


def test_nan_is_an_expression_too(tmp_path: Path) -> None:
    """As in other files of the program."""
    seq = _frames(True)
    seq["data"][:] = math.nan
    engine = _engine(_dataset([seq]), stop_on_nonfinite_train_score=False)
    text = _evaluate(engine, tmp_path / "f", ["score"], output_per_seq_file_format="py")
    assert text == "{\n'seq-0': {'score': float('nan')},\n}\n"


def test_weighted_with_the_frames_it_is_the_score_of_the_dataset(dataset: Dataset, tmp_path: Path) -> None:
    """ctc has one value a sequence and counts target frames; these have 2 labels each."""
    network = {"output": {"class": "softmax", "with_bias": False, "from": "data", "loss": "ctc", "target": "labels"}}
    seqs = [_frames(*[True] * 5), _frames(True, False, True, False), _frames(*[False, True] * 4)]
    engine = _engine(_dataset(seqs), network=network)
    engine.eval_model(output_file=str(tmp_path / "all"), lr_control_update_scores=False)
    lines = _evaluate(engine, tmp_path / "f", ["score", "error"]).splitlines()
    scores, errors = numpy.array([line.split(";") for line in lines], "float64").T
    total = eval((tmp_path / "all").read_text())["dev"]
    assert scores.mean() == pytest.approx(total["score"]["cost:output"], rel=1e-5)
    assert errors.mean() == pytest.approx(total["error"]["error:output"], rel=1e-5)


def test_one_of_several_losses(dataset: Dataset, tmp_path: Path) -> None:
    """By its name; the scale of the loss has no part in it."""
    network = {
        "output": {"class": "softmax", "with_bias": False, "from": "data", "loss": "ce"},
        "b": {"class": "softmax", "with_bias": False, "from": "data", "loss": "ce", "loss_scale": 0.5},
    }
    texts = [
        _evaluate(_engine(dataset, network=network), tmp_path / name, ["score"], loss_name=name)
        for name in ("output", "b")
    ]
    assert texts[0] == texts[1] and len(texts[0].splitlines()) == 3


@pytest.mark.parametrize(
    ["opts", "message"],
    [
        ({"loss_name": "outputs"}, r"Unknown loss defined. Got 'outputs'. Possible losses are \['output'\]. Did you"),
        ({"output_per_seq_format": ["pos_scores"]}, "output_per_seq_format: 'pos_scores' is unknown. Did you mean"),
        ({"output_per_seq_file_format": "json"}, "output_per_seq_file_format: 'json' is unknown.* txt, py"),
    ],
)
def test_mistakes_are_found_before_the_pass(
    dataset: Dataset, tmp_path: Path, opts: dict[str, Any], message: str
) -> None:
    """With what there is instead."""
    engine = _engine(dataset)
    with pytest.raises(ConfigError, match=message):
        engine.eval_model(output_per_seq_file=str(tmp_path / "f"), **opts)
    assert list(tmp_path.iterdir()) == []


def test_exactly_one_dataset(dataset: Dataset, tmp_path: Path) -> None:
    """Else it would not be clear whose sequences they are."""
    engine = _engine(dataset)
    engine.eval_data = dataset
    with pytest.raises(ConfigError, match="exactly one dataset to evaluate is needed, but there are 2: dev, eval"):
        engine.eval_model(output_per_seq_file=str(tmp_path / "f"))
    engine.eval_datasets.clear()
    with pytest.raises(ConfigError, match="there are 0: none"):
        engine.eval_model(output_per_seq_file=str(tmp_path / "f"))


def test_loss_without_score(dataset: Dataset, tmp_path: Path) -> None:
    """as_is as error has no score."""
    network = {"output": {**LOGITS, "loss": "as_is", "loss_opts": {"as_error": True}}}
    with pytest.raises(ConfigError, match="the loss 'output' has no score"):
        _engine(dataset, network=network).eval_model(output_per_seq_file=str(tmp_path / "f"))


def test_sequences_in_pieces_are_an_error(tmp_path: Path) -> None:
    """Chunks of 2 frames."""
    dataset = _dataset([_frames(True, True, False)], chunking="2:2")
    with pytest.raises(ConfigError, match="sequence 'seq-0' comes in pieces. .* StaticDataset 'dev'"):
        _engine(dataset).eval_model(output_per_seq_file=str(tmp_path / "f"))


def test_error_in_the_middle_leaves_the_old_file(dataset: Dataset, tmp_path: Path) -> None:
    """The second batch cannot be read."""
    (tmp_path / "f").write_text("old")
    engine = _engine(dataset)

    get_data_slice = dataset.get_data_slice

    def fail_at_2(seq_idx: int, *args: Any) -> numpy.ndarray:
        if seq_idx == 2:
            raise OSError("disk gone")
        return get_data_slice(seq_idx, *args)

    dataset.get_data_slice = fail_at_2
    with pytest.raises(OSError, match="disk gone"):
        engine.eval_model(output_per_seq_file=str(tmp_path / "f"))
    assert (tmp_path / "f").read_text() == "old" and len(list(tmp_path.iterdir())) == 1
