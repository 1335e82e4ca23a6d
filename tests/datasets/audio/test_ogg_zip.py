"""Utterances in zip files and folders."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.config import Config, global_config_ctx
from returnn.datasets.audio import OggZipDataset
from returnn.datasets.basic import Dataset, init_dataset
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import UserError
from tests.data_cases.data_files import tone, wav_bytes, write_ogg_zip, write_text
from tests.datasets.reading import read_epoch

text_only = {"class": "OggZipDataset", "path": "a.zip", "audio": None, "targets": None}
raw = {"class": "OggZipDataset", "path": "a.zip", "audio": {"features": "raw"}, "targets": None}
scaled = {"rnd_zoom_switch": 0, "rnd_stretch_switch": 0, "rnd_pitch_switch": 0}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def tags(dataset: Dataset, epoch: int = 1, **kwargs: Any) -> list[str]:
    """:return: those of an epoch"""
    return [seq.tag for seq in read_epoch(dataset, epoch, **kwargs)]


def write_tags(num: int) -> None:
    """s0, s1, ..."""
    write_ogg_zip("a.zip", [{"text": "x", "seq_name": f"s{i}"} for i in range(num)], audio=None)


def test_text_sorted_by_duration() -> None:
    texts, durations = ["hello wörld", "b", "c"], [2.5, 0.5, 1.0]
    entries = [
        {"text": t, "duration": d, "seq_name": f"s{i}"} for i, (t, d) in enumerate(zip(texts, durations, strict=True))
    ]
    write_ogg_zip("a.zip", entries, audio=None)
    dataset = init_dataset({**text_only, "targets": {"class": "Utf8ByteTargets"}, "seq_ordering": "sorted"})
    assert dataset.get_data_keys() == dataset.get_target_list() == ["classes", "orth", "raw"]
    seqs = read_epoch(dataset, 1)
    assert [seq.tag for seq in seqs] == ["s1", "s2", "s0"]
    expected = [104, 101, 108, 108, 111, 32, 119, 195, 182, 114, 108, 100]
    assert seqs[2].data == {"classes": expected, "orth": expected, "raw": "hello wörld"}


@pytest.mark.parametrize(("size", "expected"), [(4, ["s8", "s1", "s5", "s0"]), (0.3, ["s8", "s1", "s5"])])
def test_fixed_random_subset(size: float, expected: list[str]) -> None:
    write_tags(10)
    assert tags(init_dataset({**text_only, "fixed_random_subset": size})) == expected


def test_segment_file() -> None:
    write_tags(10)
    write_text("segments", "s3\ns1\nzz\n")
    assert tags(init_dataset({**text_only, "segment_file": "segments"})) == ["s1", "s3"]


def test_wav_features() -> None:
    """800 samples, one frame each 160, and one at the end."""
    write_ogg_zip("a.zip", [{"text": "x", "num_samples": 800}])
    dataset = init_dataset({**raw, "audio": {}})
    assert dataset.get_data_keys() == ["data", "orth", "raw"] and dataset.get_data_dim("data") == 40
    assert numpy.shape(read_epoch(dataset, 1)[0].data["data"]) == (6, 40)
    samples = numpy.array(read_epoch(init_dataset(raw), 1)[0].data["data"])
    assert samples.shape == (800, 1) and numpy.abs(samples).max() == 1.0


def test_nothing_is_read_before_the_first_epoch() -> None:
    write_tags(3)
    dataset = init_dataset(text_only)
    Path("a.zip").rename("b.zip")
    assert dataset.num_seqs == 0
    Path("b.zip").rename("a.zip")
    assert tags(dataset) == ["s0", "s1", "s2"]
    dataset.finish_epoch(free_resources=True)
    assert tags(dataset, epoch=2) == ["s0", "s1", "s2"]


def test_folder_without_a_slash() -> None:
    write_ogg_zip("folder.zip", [{"text": "x", "num_samples": 100}])
    with zipfile.ZipFile("folder.zip") as archive:
        archive.extractall(".")
    Path("folder.zip").unlink()
    for path in ("folder", "./folder", "folder/"):
        assert numpy.shape(read_epoch(init_dataset({**raw, "path": path}), 1)[0].data["data"]) == (100, 1)


def test_channels_of_a_file() -> None:
    """[time, channels, 1], whose number is known."""
    samples = numpy.stack([tone(50, 1), tone(50, 2)], axis=1)
    write_ogg_zip("a.zip", [{"text": "x", "samples": samples}])
    dataset = init_dataset({**raw, "audio": {"features": "raw", "num_channels": 2}})
    assert dataset.get_data_shape("data") == [2, 1]
    assert numpy.shape(read_epoch(dataset, 1)[0].data["data"]) == (50, 2, 1)


def test_random_changes_depend_on_epoch_and_sequence_alone() -> None:
    """In whatever order, and by random access."""
    BehaviorVersion._reset(31)
    try:
        write_ogg_zip("a.zip", [{"text": "x", "num_samples": 100, "seq_name": f"s{i}"} for i in range(4)])
        options = {**raw, "audio": {"features": "raw", "random_permute": scaled}}
        dataset = init_dataset(options)
        first = {seq.tag: seq.data for seq in read_epoch(dataset, 1)}
        assert {seq.tag: seq.data for seq in read_epoch(dataset, 1, seq_order=[2, 0, 3, 1])} == first
        second = {seq.tag: seq.data for seq in read_epoch(dataset, 2)}
        assert all(second[tag]["data"] != first[tag]["data"] for tag in first)
        dataset.init_seq_order(1)
        assert dataset.get_corpus_seq(3).features["data"].tolist() == first["s3"]["data"]
    finally:
        BehaviorVersion._reset()


def test_random_changes_of_old_versions_depend_on_the_order_of_loading() -> None:
    """One stream: the first sequence gets the first number of the seed 1, which makes 0.8834044."""
    write_ogg_zip("a.zip", [{"text": "x", "num_samples": 100, "seq_name": f"s{i}"} for i in range(2)])
    dataset = init_dataset({**raw, "audio": {"features": "raw", "random_permute": scaled}})
    for order in ([0, 1], [1, 0]):
        peaks = [numpy.abs(seq.data["data"]).max() for seq in read_epoch(dataset, 1, seq_order=order)]
        assert abs(peaks[0] - 0.8834044) < 1e-6 and abs(peaks[1] - 0.8834044) > 1e-3


def test_epoch_wise_filter_by_duration() -> None:
    """Lengths 100, 200, 300: the shortest ones with the mean 150 are two."""
    write_ogg_zip("a.zip", [{"text": "x", "duration": d, "seq_name": f"s{d}"} for d in (3, 1, 2)], audio=None)
    dataset = init_dataset({**text_only, "epoch_wise_filter": {(1, 1): {"max_mean_len": 150}}})
    assert tags(dataset) == ["s1", "s2"]
    assert tags(dataset, epoch=2) == ["s3", "s1", "s2"]


def test_json_lines_in_the_zip() -> None:
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr(
            "a.txt", '{"text": "x", "duration": 1, "file": "f"}\n{"text": "y", "duration": 2, "file": "g"}\n'
        )
    assert [seq.data["raw"] for seq in read_epoch(init_dataset(text_only), 1)] == ["x", "y"]


def _zip_with(index: str, **files: bytes) -> None:
    with zipfile.ZipFile("a.zip", "w") as archive:
        archive.writestr("a.txt", index)
        for name, content in files.items():
            archive.writestr(f"a/{name}", content)


entry = "{'text': 'x', 'duration': 1.0, 'file': 'f'}"


@pytest.mark.parametrize(
    ("index", "options", "message"),
    [
        ("[]", raw, r"'a': there is no utterance"),
        ("[{'text': 'x', 'duration': 1.0}]", raw, r"a.txt in a.zip, entry 0: 'file' must be a str, but is missing"),
        ("[{'text': 1, 'duration': 1.0, 'file': 'f'}]", text_only, r"entry 0: 'text' must be a str, but is 1"),
        ("[{'text': '', 'duration': 'x', 'file': 'f'}]", text_only, r"'duration' must be a number, but is 'x'"),
        (f"[{entry}, ", text_only, r"'a': a.txt in a.zip, line 1: .*maybe the file is truncated"),
        (f"[{entry}]", raw, r"^There is no file 'a/f' in a.zip\. There is for example 'a.txt'\.$"),
        (f"[{entry}]", {**text_only, "targets": {"labels": ["a"], "vocab_file": None, "unknown_label": None}}, r"'f'"),
        (f"[{entry}]", {**text_only, "content_name": "b"}, r"there is no 'b.txt' in a.zip\. Set content_name='a'\?"),
        (f"[{entry}]", {**text_only, "path": "b.zip"}, r"zip file \(or folder\) not found: 'b.zip'.*\"a.zip\""),
        (f"[{entry}]", {**text_only, "fixed_random_subset": 2}, r"fixed_random_subset must be .* up to 1, .* but is 2"),
        (f"[{entry}]", {**text_only, "path": 3}, r"path must be a file name or a list of them, but is 3"),
        (f"[{entry}]", {**raw, "path": "a.txt.gz"}, r"a.txt.gz has no zip file a.zip beside it"),
        (f"[{entry}]", {**raw, "audio": 3}, r"audio must be a dict or None, but is 3"),
        (f"[{entry}]", {**raw, "audio": {"feature": 3}}, r"audio has no option 'feature'"),
        (f"[{entry}]", {**raw, "targets": 3}, r"targets must be a dict or a Vocabulary, but is 3"),
        (f"[{entry}]", {**text_only, "targets_post_process": "lower"}, r"there is no function 'lower'"),
    ],
)
def test_mistakes_are_explained(index: str, options: dict[str, Any], message: str) -> None:
    _zip_with(index)
    with pytest.raises(UserError, match=message):
        read_epoch(init_dataset(options), 1)


def test_damaged_audio_is_named() -> None:
    good = wav_bytes(tone(1000, 1))
    for content, message in (
        (b"abc", r"^Cannot read the audio file a/f in a.zip \(sequence 'f' of OggZipDataset 'a'\) \(3 bytes\): "),
        (b"", r"^Cannot read the audio file a/f in a.zip"),
        (wav_bytes(tone(100, 1), rate=8000), r"a/f in a.zip .* has 8000 samples a second, but the audio option"),
        (wav_bytes(numpy.zeros((9, 2))), r"a/f in a.zip .* has 2 channels, expected 1"),
    ):
        _zip_with(f"[{entry}]", f=content)
        with pytest.raises(UserError, match=message):
            read_epoch(init_dataset({**raw, "audio": {"sample_rate": 16000}}), 1)
    _zip_with(f"[{entry}]", f=good)
    content = bytearray(Path("a.zip").read_bytes())
    content[content.index(good[:40]) + 100] ^= 1  # the zip has a checksum
    Path("a.zip").write_bytes(content)
    with pytest.raises(UserError, match=r"^Cannot read 'a/f' in a.zip, maybe it is truncated: Bad CRC-32"):
        read_epoch(init_dataset(raw), 1)
    Path("a.zip").write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match=r"^Cannot read zip file a.zip, maybe it is truncated"):
        read_epoch(init_dataset(raw), 1)


def test_missing_soundfile_is_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    write_ogg_zip("a.zip", [{"text": "x", "num_samples": 100}])
    monkeypatch.setitem(__import__("sys").modules, "soundfile", None)
    with pytest.raises(UserError, match=r"^Audio needs the package soundfile: pip install returnn\[audio\]"):
        read_epoch(init_dataset(raw), 1)


def test_it_is_also_where_configs_import_it_from() -> None:
    from returnn.datasets import generating  # noqa: PLC0415

    assert generating.OggZipDataset is OggZipDataset


@pytest.mark.parametrize("num_workers", [1, 2])
def test_workers_change_nothing(num_workers: int) -> None:
    """Random changes of audio included."""
    write_ogg_zip("a.zip", [{"text": "x", "num_samples": 100, "seq_name": f"s{i}"} for i in range(5)])
    options = {**raw, "audio": {"features": "raw", "random_permute": scaled}, "seq_ordering": "random"}
    BehaviorVersion._reset(31)
    try:
        with global_config_ctx(Config({"behavior_version": 31})):
            alone = init_dataset(options)
            workers = init_dataset(
                {"class": "MultiProcDataset", "dataset": options, "num_workers": num_workers, "buffer_size": 2}
            )
            for epoch in (1, 2):
                assert read_epoch(workers, epoch) == read_epoch(alone, epoch)
            workers.finish_epoch(free_resources=True)
    finally:
        BehaviorVersion._reset()
