"""TIMIT, and Enwik8: what the stored cases do not say."""

from __future__ import annotations

import os
import urllib.request
import zipfile
from pathlib import Path
from typing import Any

import pytest

from returnn.datasets.basic import init_dataset
from returnn.datasets.generating import TimitDataset, enwik8
from returnn.util.errors import UserError
from tests.data_cases.data_files import tone, wav_bytes, write_text
from tests.datasets.reading import read_epoch


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_utterance(base: str, phones: str = "0 100 h#\n100 800 aa\n") -> None:
    """Audio and phones."""
    os.makedirs(os.path.dirname(base), exist_ok=True)
    Path(base + ".wav").write_bytes(wav_bytes(tone(800, 1)))
    write_text(base + ".phn", phones)


def test_nltk_part_is_cut_at_90_percent() -> None:
    """Of 20 sorted names, 18 are for training."""
    names = sorted(f"dr{i}-abc{i}/s{j}" for i in range(10) for j in range(2))
    for name in names:
        write_utterance(f"nltk/corpora/timit/{name}")
    options = {"class": "NltkTimitDataset", "nltk_download_dir": "nltk"}
    for train, expected in ((True, names[:18]), (False, names[18:])):
        dataset = init_dataset({**options, "train": train, "preload": train})
        seqs = read_epoch(dataset, 1)
        assert [seq.tag for seq in seqs] == expected
        assert seqs[0].data["classes"] == [TimitDataset.get_labels().index(phone) for phone in ("h#", "aa")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_phones": 40}, r"num_phones must be 61, 48 or 39, but is 40"),
        ({"demo_play_audio": True}, r"demo_play_audio is not supported"),
        ({"train": False}, r"list of files not found: .*filelist.core.phn"),
        ({}, r"a.phn', line 1: there is no phone 'xx'"),
    ],
)
def test_mistakes_are_explained(options: dict[str, Any], message: str) -> None:
    write_utterance("t/train/a", "0 1 xx\n")
    write_text("t/train/filelist.phn", "a.phn\n")
    with pytest.raises(UserError, match=message):
        read_epoch(init_dataset({"class": "TimitDataset", "timit_dir": "t", **options}), 1)


def test_phones_of_a_smaller_set_do_not_tell_a_larger_one() -> None:
    with pytest.raises(UserError, match=r"39 phones do not tell 61"):
        TimitDataset.get_label_map(39, 61)


def test_enwik8_is_made_of_the_zip(monkeypatch: pytest.MonkeyPatch) -> None:
    """Held out are the last two times 3 of "the cat sat on it": "on " (without the "t"), and " it"."""
    monkeypatch.setattr(enwik8, "_num_heldout", 3)
    with zipfile.ZipFile("enwik8.zip", "w") as archive:
        archive.writestr("enwik8", "the cat sat on it")
    expected = {"training": "the cat sat", "validation": " on", "test": " it"}
    for subset, text in expected.items():
        dataset = init_dataset({"class": "Enwik8Corpus", "path": ".", "subset": subset, "seq_len": 100})
        (seq,) = read_epoch(dataset, 1)
        assert dataset.labels["data"] == sorted(set("the cat sat on it"))
        data, classes = ("".join(dataset.labels["data"][i] for i in seq.data[key]) for key in ("data", "classes"))
        assert data == text[:-1] and classes == text[1:]
        assert seq.tag == f"offset_0_{len(text) - 1}"


def test_enwik8_without_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any, **_kwargs: Any) -> None:
        raise OSError("no network")

    monkeypatch.setattr(urllib.request, "urlopen", fail)
    options = {"class": "Enwik8Corpus", "path": ".", "subset": "test", "seq_len": 10}
    with pytest.raises(UserError, match=r"cannot download .*: no network\. Get it in another way, to '\./enwik8.zip'"):
        init_dataset(options)
    assert os.listdir(".") == []
    with pytest.raises(UserError, match=r"folder not found: 'x'"):
        init_dataset({**options, "path": "x"})
    with pytest.raises(UserError, match=r"subset must be one of training, validation, test, but is 'dev'"):
        init_dataset({**options, "subset": "dev"})
