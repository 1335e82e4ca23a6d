"""From a Bliss corpus to a zip file, and back by the dataset."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.datasets.basic import init_dataset
from tests.data_cases.data_files import tone, wav_bytes, write_text
from tests.datasets.reading import read_epoch

_tool = Path(__file__).parent.parent.parent / "tools" / "bliss-to-ogg-zip.py"

corpus = """<?xml version="1.0" encoding="utf-8"?>
<corpus name="c"><recording name="r" audio="r.wav">
<segment name="1" start="0.1" end="0.3"><speaker name="anna"/><orth> hello  wörld </orth></segment>
<segment name="2" start="0.3" end="inf"><orth>bye</orth></segment>
</recording></corpus>
"""


@pytest.fixture(autouse=True)
def _files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_text("c.xml.gz", corpus)
    Path("r.wav").write_bytes(wav_bytes(tone(8000, 1)))


def run(*args: str, path: str = "/nowhere") -> subprocess.CompletedProcess[str]:
    """:return: of the command, without ffmpeg"""
    env = {**os.environ, "PATH": path}
    command = [sys.executable, str(_tool), *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, env=env)


def read(**options: Any) -> dict[str, Any]:
    """:return: tag -> data"""
    dataset = init_dataset(
        {"class": "OggZipDataset", "path": "x.ogg.zip", "audio": {"features": "raw"}, "targets": None, **options}
    )
    return {seq.tag: seq.data for seq in read_epoch(dataset, 1)}


def test_segments_are_cut_and_compressed() -> None:
    """0.2 s are 3200 samples of 16000 a second; Ogg Vorbis comes near to the original."""
    proc = run("c.xml.gz", "--output", "x.ogg.zip")
    assert proc.returncode == 0, proc.stderr
    assert "x.ogg.zip: 2 segments, 0.00 hours" in proc.stdout
    seqs = read(audio={"features": "raw", "peak_normalization": False})
    assert list(seqs) == ["c/r/1", "c/r/2"]
    assert seqs["c/r/1"]["raw"] == "hello wörld"
    first, second = (numpy.array(seq["data"])[:, 0] for seq in seqs.values())
    assert len(first) == 3200 and len(second) == 3200
    original = tone(8000, 1)[1600:4800]
    assert numpy.abs(first - original).mean() < 0.1 * numpy.abs(original).mean()


def test_text_only_of_some_segments() -> None:
    write_text("segments", "c/r/1\n")
    proc = run("c.xml.gz", "--output", "x.ogg.zip", "--no_ogg", "--subset_segment_file", "segments")
    assert proc.returncode == 0, proc.stderr
    assert {tag: data["raw"] for tag, data in read(audio=None).items()} == {"c/r/1": "hello wörld"}


def test_whole_recordings_as_they_are() -> None:
    write_text(
        "c.xml.gz", corpus.replace('start="0.3"', "").replace('<segment name="1" start="0.1"', '<segment name="0"')
    )
    write_text("segments", "c/r/2\n")
    proc = run("c.xml.gz", "--output", "x.ogg.zip", "--no_conversion", "--subset_segment_file", "segments")
    assert proc.returncode == 0, proc.stderr
    assert len(read()["c/r/2"]["data"]) == 8000


def test_another_sample_rate() -> None:
    proc = run("c.xml.gz", "--output", "x.ogg.zip", "--ffmpeg_resample", "8000", "--number_of_channels", "1")
    assert proc.returncode == 0, proc.stderr
    assert len(read(audio={"features": "raw", "sample_rate": 8000})["c/r/1"]["data"]) == 1600


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--output", "x"], "--output must end in .zip, but is 'x'"),
        (["--no_conversion"], "segment 'c/r/1' starts within its recording, so --no_conversion is not possible"),
        (["--sprint_cache", "x"], "--sprint_cache is not supported"),
        (["--ffmpeg_acodec", "flac"], "--ffmpeg_acodec needs the program ffmpeg"),
        (["--no_ogg"], "segment 'c/r/2' has no end time"),
    ],
)
def test_mistakes_leave_nothing(args: list[str], message: str) -> None:
    before = sorted(os.listdir("."))
    proc = run("c.xml.gz", *(["--output", "x.zip"] if "--output" not in args else []), *args)
    assert proc.returncode == 1
    assert proc.stderr.startswith(f"Error: {message}") and "Traceback" not in proc.stderr
    assert sorted(os.listdir(".")) == before


def test_missing_audio_is_named() -> None:
    Path("r.wav").unlink()
    proc = run("c.xml.gz", "--output", "x.zip")
    assert proc.returncode == 1
    assert proc.stderr.startswith("Error: segment 'c/r/1': audio file not found: 'r.wav'")


def test_ffmpeg_is_called_where_it_is(tmp_path: Path) -> None:
    """A script stands for it: it writes its arguments down, and a file as it should."""
    os.mkdir("bin")
    script = f"#!{sys.executable}\nimport shutil, sys\nopen('args', 'a').write(repr(sys.argv[1:]) + chr(10))\n"
    write_text("bin/ffmpeg", script + "shutil.copy('r.wav', sys.argv[-1])\n")
    os.chmod("bin/ffmpeg", 0o755)
    assert shutil.which("ffmpeg", path=str(tmp_path / "bin"))
    options = ["--ffmpeg_acodec", "libvorbis", "--ffmpeg_resample", "8000", "--ffmpeg_loglevel", "error"]
    proc = run("c.xml.gz", "--output", "x.ogg.zip", *options, path=str(tmp_path / "bin"))
    assert proc.returncode == 0, proc.stderr
    first, second = map(eval, Path("args").read_text().splitlines())
    assert first[:-1] == [
        *["-hide_banner", "-loglevel", "error", "-nostdin", "-y", "-ss", "0.1", "-t", "0.19999999999999998"],
        *["-i", str(tmp_path / "r.wav"), "-vn", "-acodec", "libvorbis", "-ar", "8000"],
    ]
    assert "-t" not in second
    assert len(read()["c/r/1"]["data"]) == 8000
