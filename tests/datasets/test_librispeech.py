"""LibriSpeech's layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from returnn.datasets.basic import init_dataset
from returnn.log import log
from returnn.util.errors import UserError
from tests.data_cases.data_files import write_text
from tests.datasets.reading import read_epoch

libri = {"class": "LibriSpeechCorpus", "path": ".", "prefix": "train", "audio": None}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write_part(name: str, texts: dict[str, str]) -> None:
    """Transcriptions ``speaker-chapter-seq`` -> text, no audio."""
    for seq, text in texts.items():
        speaker, chapter, _ = seq.split("-")
        folder = Path(name) / speaker / chapter
        folder.mkdir(parents=True, exist_ok=True)
        with open(folder / f"{speaker}-{chapter}.trans.txt", "a") as file:
            file.write(f"{seq} {text}\n")


def order(epoch: int = 1, **options: Any) -> list[int]:
    """:return: corpus indices of the epoch"""
    dataset = init_dataset({**libri, **options})
    dataset.init_seq_order(epoch)
    return [int(i) for i in dataset.get_current_seq_order()]


def test_numeric_order_and_length_in_characters() -> None:
    write_part("train-clean-100", {"10-2-0000": "HELLO", "10-2-0001": "A B", "9-1-0000": "XYZ XYZ"})
    expected = ["train-clean-100-9-1-0000", "train-clean-100-10-2-0000", "train-clean-100-10-2-0001"]
    dataset = init_dataset(libri)
    assert [seq.tag for seq in read_epoch(dataset, 1)] == expected
    dataset = init_dataset({**libri, "seq_ordering": "sorted_reverse"})
    assert [seq.data["raw"] for seq in read_epoch(dataset, 1)] == ["XYZ XYZ", "HELLO", "A B"]
    dataset = init_dataset({**libri, "fixed_random_subset": 2})
    assert [seq.tag for seq in read_epoch(dataset, 1)] == expected[:2]


def write_ten() -> None:
    """Of 5, 3, 9, ... characters, as in the specification."""
    lens = [5, 3, 9, 1, 7, 3, 8, 2, 6, 4]
    write_part("train-a", {f"1-1-{i:04}": "X" * n for i, n in enumerate(lens)})


@pytest.mark.parametrize(
    ("limit", "expected"),
    [
        (2.8, [3, 7, 1]),
        (1.5, [3, 7]),
        (0.5, [3]),
        (3, [3, 7, 1, 5, 9, 0]),
        (4, [3, 7, 1, 5, 9, 0]),
        (100, [3, 7, 1, 5, 9, 0]),
    ],
)
def test_old_filter_loses_sequences_and_order(
    limit: float, expected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    warnings: list[str] = []
    monkeypatch.setattr(log, "print_warning", lambda text, **_: warnings.append(text))
    write_ten()
    assert order(epoch_wise_filter={(1, 1): {"max_mean_len": limit}}, seq_ordering="random") == expected
    assert len(warnings) == 1 and "Set use_new_filter=True" in warnings[0]


@pytest.mark.parametrize(
    ("limit", "expected"),
    [(2.8, [0, 1, 3, 5, 7, 9]), (3.1, [0, 1, 3, 5, 7, 8, 9]), (100, list(range(10)))],
)
def test_new_filter_keeps_the_order(limit: float, expected: list[int]) -> None:
    """The mean of the shortest six is 3, of the shortest seven 24 / 7 = 3.4."""
    write_ten()
    opts = {"max_mean_len": limit, "use_new_filter": True}
    assert order(epoch_wise_filter={(1, 1): opts}) == expected
    assert order(epoch=2, epoch_wise_filter={(1, 1): opts}) == list(range(10))


def test_filter_by_part() -> None:
    write_part("train-a", {"1-1-0000": "A"})
    write_part("train-b", {"1-1-0000": "B"})
    assert order(epoch_wise_filter={(1, 1): {"subdirs": ["train-b"]}}) == [1]
    with pytest.raises(UserError, match=r"subdirs has 'train-c', which is not there, only train-a, train-b"):
        order(epoch_wise_filter={(1, 1): {"subdirs": ["train-c"]}})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prefix": "clean"}, r"'prefix:clean': prefix must start with train, dev or test, but is 'clean'"),
        ({"prefix": "dev"}, r"there is no folder dev\* in '\.', only \['train-a'\]"),
        ({"use_zip": True}, r"there is no zip file train\*\.zip in '\.'"),
        ({"path": "x"}, r"in 'x', only no such folder"),
        (
            {"targets": "bpe"},
            r"targets must be a dict of options, \"bpe\" or \"chars\", but is 'bpe', and the option bpe",
        ),
        (
            {"epoch_wise_filter": {(1, 2): {"subdir": 3}}},
            r"unknown option 'subdir' of the epochs \(1, 2\)\. Did you mean",
        ),
        ({"audio": {}}, r"^file not found: .*1-1-0000\.flac"),
    ],
)
def test_mistakes_are_explained(options: dict[str, Any], message: str) -> None:
    write_part("train-a", {"1-1-0000": "A"})
    with pytest.raises(UserError, match=message):
        read_epoch(init_dataset({**libri, **options}), 1)


def test_transcription_of_another_form_is_named() -> None:
    write_part("train-a", {"1-1-0000": "A"})
    write_text("train-a/1/1/1-1.trans.txt", "hello\n")
    with pytest.raises(
        UserError, match=r"1/1/1-1.trans.txt in .*train-a: expected SPEAKER-CHAPTER-SEQ TEXT, but there"
    ):
        read_epoch(init_dataset(libri), 1)
