"""The demo of speech recognition: its data, its training and search through the command line, shortened."""

from __future__ import annotations

import ast
import io
import re
import runpy
import zipfile
from pathlib import Path
from typing import Any

import numpy
import pytest

from tests.program import root, run_program, run_python, scores

pytest.importorskip("espeakng_loader")
soundfile = pytest.importorskip("soundfile")

_demo = root / "demos" / "speech"
_make_data: dict[str, Any] = runpy.run_path(str(_demo / "make_data.py"))
_num_sentences = {"train": 300, "dev": 20, "eval": 36}


def _read_zip(file: Path) -> tuple[list[dict[str, Any]], list[numpy.ndarray]]:
    """:return: entries, and samples of each"""
    name = file.stem
    audio = []
    with zipfile.ZipFile(file) as archive:
        entries = ast.literal_eval(archive.read(f"{name}.txt").decode())
        for entry in entries:
            samples, rate = soundfile.read(io.BytesIO(archive.read(f"{name}/{entry['file']}")))
            assert rate == 16000
            audio.append(samples)
    return entries, audio


@pytest.fixture(scope="module")
def speech(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few sentences in ``speech/``."""
    folder = tmp_path_factory.mktemp("speech")
    args = [arg for name, num in _num_sentences.items() for arg in (f"--{name}", str(num))]
    result = run_python(_demo / "make_data.py", *args, cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.mark.slow
def test_sentences(speech: Path) -> None:
    """3 to 7 words of a tenth of a second at least; no voice is in two files, and 18 sentences have 18 voices."""
    voices: dict[str, set[str]] = {}
    for name, num in _num_sentences.items():
        entries, audio = _read_zip(speech / "speech" / f"{name}.zip")
        assert [entry["seq_name"] for entry in entries] == [f"{name}-{i:04}" for i in range(num)]
        for entry, samples in zip(entries, audio, strict=True):
            words = entry["text"].split()
            assert 3 <= len(words) <= 7
            assert set(words) <= set(_make_data["WORDS"])
            assert entry["duration"] == len(samples) / 16000
            assert 0.1 < entry["duration"] / len(words) < 1
            assert 0.1 < numpy.abs(samples).max() <= 1.2  # Vorbis may go beyond 1
        voices[name] = {entry["speaker_name"].split("+")[1] for entry in entries}
    assert len(voices["dev"]) == 12
    assert len(voices["eval"]) == 18
    assert len(voices["train"]) > 50
    assert len(set.union(*voices.values())) == sum(map(len, voices.values()))


def test_the_same_each_time(tmp_path: Path) -> None:
    """A second call replaces the files: the same sentences, speed and pitch, so the same lengths."""
    texts = []
    for _ in range(2):
        args = ["--train", "3", "--dev", "2", "--eval", "1"]
        assert run_python(_demo / "make_data.py", ".", *args, cwd=tmp_path).returncode == 0
        texts.append([_read_zip(tmp_path / f"{name}.zip")[0] for name in _num_sentences])
    assert texts[0] == texts[1]
    assert [len(entries) for entries in texts[0]] == [3, 2, 1]
    assert {path.name for path in tmp_path.iterdir()} == {"train.zip", "dev.zip", "eval.zip"}


def test_resample() -> None:
    """A tone of 1000 Hz stays what it is, one of 9000 Hz is above what 16 kHz can have. A second stays a second."""
    old, new = (numpy.arange(rate) / rate for rate in (22050, 16000))
    tone = 0.5 * numpy.sin(2 * numpy.pi * 1000 * old)
    resampled = _make_data["resample"](tone + 0.4 * numpy.sin(2 * numpy.pi * 9000 * old), 22050, 16000)
    numpy.testing.assert_allclose(resampled, 0.5 * numpy.sin(2 * numpy.pi * 1000 * new), atol=1e-9)
    assert _make_data["resample"](tone[:442], 22050, 16000).shape == (640,)  # 441 samples become 320


@pytest.mark.parametrize(
    ("module", "package"),
    [("espeakng_loader", "espeakng-loader, to speak"), ("soundfile", "soundfile, to write audio")],
)
def test_without_package(module: str, package: str, tmp_path: Path) -> None:
    """The message says what to install."""
    code = (
        f"import runpy, sys; sys.modules[{module!r}] = None;"
        f" runpy.run_path({str(_demo / 'make_data.py')!r}, run_name='__main__')"
    )
    result = run_python("-c", code, cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == f"make_data.py needs {package}. Install it: pip install -e '.[demo]'\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_learns(speech: Path, tmp_path: Path) -> None:
    """A tenth of the sentences, small batches; most words are right, and the search writes what the error says."""
    args = ["++data", speech / "speech", "++num_epochs", "4", "++batch_size", "600"]
    config = _demo / "speech.config"
    log = run_program(config, *args, cwd=tmp_path)
    assert "OggZipDataset, sequences: 300" in log
    errors = [error for _, error in scores(log, "eval")]
    assert len(errors) == 4
    assert errors[0] > 0.7
    assert errors[-1] < 0.25

    log = run_program(config, *args, "++task", "search", cwd=tmp_path)
    error = float(re.search(r"^Search done\..* error found (\S+)", log, flags=re.MULTILINE)[1])
    references = [entry["text"].split() for entry in _read_zip(speech / "speech" / "eval.zip")[0]]
    found = [line.split() for line in (tmp_path / "speech" / "search.txt").read_text().split("\n")[:-1]]
    edits = sum(_edit_distance(*pair) for pair in zip(found, references, strict=True))
    assert error == pytest.approx(edits / sum(map(len, references)), rel=1e-5)
    assert error < 0.25


def _edit_distance(a: list[str], b: list[str]) -> int:
    row = list(range(len(b) + 1))
    for i, x in enumerate(a):
        before, row = row, [i + 1]
        for j, y in enumerate(b):
            row.append(min(before[j] + (x != y), before[j + 1] + 1, row[j] + 1))
    return row[-1]


def test_numbers_of_the_readme() -> None:
    """The main README and that of the demo say the same."""
    texts = [(folder / "README.md").read_text() for folder in (root, _demo)]
    found = [
        re.findall(r"(\d+) epochs in ([\d.]+)\s+minutes,\s+word\s+error\s+rate\s+([\d.]+) %", text) for text in texts
    ]
    assert found[0] == found[1] != []
