"""The demos of recurrent units, sub-networks and search run through the command line, shortened, and learn."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

from returnn.config import Config
from returnn.datasets import init_dataset
from returnn.learning_rate_file import read_learning_rate_file
from tests.program import root, run_program, scores

_demos = root / "demos"


@pytest.mark.parametrize(
    ("unit", "num_params"),
    [
        ("basicrnn", 29 * 20 + 20),
        ("zoneoutlstm", 29 * 80 + 80),
        ("layernormvariantslstm", 29 * 80 + 3 * 80 + 2 * 20),
    ],
)
def test_12ax_with_another_unit(unit: str, num_params: int, tmp_path: Path) -> None:
    """9 inputs and 20 outputs, so kernels of 9 + 20 rows, and biases or scales; then 20 x 2 + 2 of the softmax."""
    train = '{"class": "Task12AXDataset", "num_seqs": 40}'
    log = run_program(_demos / "demo-12ax.config", "++unit", unit, "++train", train, "++num_epochs", "1", cwd=tmp_path)
    assert f"net params #: {num_params + 42}\n" in log
    ((score, _),) = scores(log, "dev")
    assert score < 1
    assert "Finished training in epoch 1." in log


def test_12ax_with_gru_learns(tmp_path: Path) -> None:
    """Guessing L always is wrong in 14 % of the frames."""
    log = run_program(_demos / "demo-12ax.config", "++unit", "gru", "++num_epochs", "3", cwd=tmp_path)
    assert f"net params #: {29 * 60 + 60 + 42}\n" in log  # two gates and the new state
    assert scores(log, "dev")[-1][1] < 0.01


def test_lstm_of_layers_learns(tmp_path: Path) -> None:
    """It has as many parameters as any LSTM; only the last layer can be computed behind the loop."""
    log = run_program(_demos / "demo-explicit-lstm.config", "++num_epochs", "3", cwd=tmp_path)
    assert f"net params #: {29 * 80 + 80 + 42}\n" in log
    assert "Layers in loop: (#: 9)" in log
    assert "  Output layers moved out of loop: (#: 1)\n    output\n" in log
    assert scores(log, "dev")[-1][1] < 0.01


@pytest.mark.parametrize(("name", "layers_in_loop"), [("copy-attention", 5), ("selfatt-decoder", 0), ("transducer", 0)])
def test_decoder_runs(name: str, layers_in_loop: int, tmp_path: Path) -> None:
    """Ten steps of 50 sequences: it begins to learn, and makes many errors in the search, which are counted."""
    config = _demos / f"demo-{name}.config"
    log = run_program(config, "++num_epochs", "1", "++num_seqs", "500", cwd=tmp_path)
    assert f"Layers in loop: (#: {layers_in_loop})\n" in log
    ((train_score, _),) = scores(log, "train")
    ((dev_score, _),) = scores(log, "dev")
    assert dev_score < train_score
    assert dev_score < math.log(11)  # eleven symbols
    assert _error_of_search(name, cwd=tmp_path) > 0.01


@pytest.mark.parametrize(("name", "num_epochs"), [("selfatt-decoder", 4), ("transducer", 2)])
@pytest.mark.slow
def test_decoder_learns(name: str, num_epochs: int, tmp_path: Path) -> None:
    """These need only a part of their epochs to make no error."""
    log = run_program(_demos / f"demo-{name}.config", "++num_epochs", str(num_epochs), cwd=tmp_path)
    assert scores(log, "dev")[-1][1] == 0
    assert _error_of_search(name, cwd=tmp_path) == 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_attention_decoder_learns(tmp_path: Path) -> None:
    """All epochs: no error in the frames of dev, and none in the search."""
    log = run_program(_demos / "demo-copy-attention.config", cwd=tmp_path, timeout=580)
    assert "Finished training in epoch 8." in log
    assert scores(log, "dev")[-1][1] == 0
    assert _error_of_search("copy-attention", cwd=tmp_path) == 0


def _error_of_search(name: str, *, cwd: Path) -> float:
    """
    Searches, and compares what the program says with its output file and the data.

    :param name: of a demo whose model is below ``cwd``
    :return: edits per letter
    """
    config = _demos / f"demo-{name}.config"
    log = run_program(config, "++task", "search", cwd=cwd)
    error = float(re.search(r"^Search done\. Num steps \d+, Final: score None error (\S+)$", log, flags=re.M)[1])
    found = (cwd / name / "search.txt").read_text().splitlines()
    refs = _dev_texts(config, "classes")
    assert len(found) == len(refs) == 200
    edits = sum(_edit_distance(hyp, ref) for hyp, ref in zip(found, refs, strict=True))
    assert error == pytest.approx(edits / sum(map(len, refs)), rel=1e-5)
    return error


def _dev_texts(config_file: Path, key: str) -> list[str]:
    """
    :param key: of labels that are characters
    :return: sequences of the dev data, as text
    """
    config = Config()
    config.load_file(str(config_file))
    dataset = init_dataset(config.typed_value("dev"))
    dataset.init_seq_order(epoch=1)
    texts = []
    while dataset.is_less_than_num_seqs(len(texts)):
        dataset.load_seqs(len(texts), len(texts) + 1)
        texts.append("".join(dataset.labels[key][i] for i in dataset.get_data(len(texts), key)))
    return texts


def _edit_distance(a: str, b: str) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        before, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(before[j] + (x != y), before[j + 1] + 1, row[j] + 1))
    return row[-1]


def test_language_model_learns_and_speaks(tmp_path: Path) -> None:
    """Two epochs bring it near to the best that is possible; it would be 18 / 14 of that without memory."""
    config = _demos / "demo-lm.config"
    run_program(config, "++num_epochs", "2", cwd=tmp_path)
    errors = read_learning_rate_file(str(tmp_path / "lm" / "learning_rates"))[2].error
    (score,) = [value for key, value in errors.items() if key.startswith("dev_score") and "exp" not in key]
    sentences = _dev_texts(config, "data")
    best = sum(map(_bits_of_sentence, sentences)) * math.log(2) / sum(len(text) + 1 for text in sentences)
    assert best == pytest.approx(14 / 9 * math.log(2), rel=0.02)
    assert best < score < 1.03 * best

    run_program(config, "++task", "search", cwd=tmp_path)
    said = (tmp_path / "lm" / "sentences.txt").read_text().splitlines()
    assert len(said) == 50
    assert len(set(said)) > 25  # short ones come up more than once
    assert sum(_sentence.fullmatch(text) is not None for text in said) > 40


_phrase = r"\([ab]+\)|\[[ab]+\]|\{[ab]+\}|<[ab]+>"
_sentence = re.compile(f"({_phrase})+")


def _bits_of_sentence(text: str) -> int:
    """2 to begin with; of a phrase the first letter 1, each other one 2, its end 1; then 3 for another one, or 1."""
    assert _sentence.fullmatch(text)
    phrases = re.findall(_phrase, text)
    return 2 + sum(1 + 2 * (len(phrase) - 3) + 1 for phrase in phrases) + 3 * (len(phrases) - 1) + 1


def test_all_demos_are_in_the_manual() -> None:
    """With their names."""
    page = (root / "docs" / "getting_started.md").read_text()
    names = [path.name for path in _demos.glob("*.config")]
    assert len(names) == 6
    assert [name for name in names if name not in page] == []
