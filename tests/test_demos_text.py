"""The demo of language models on text: its data, its training through the command line, shortened, and its numbers."""

from __future__ import annotations

import json
import math
import random
import re
import runpy
from collections import Counter
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

import pytest

from returnn.datasets.util.vocabulary import BytePairEncoding, CharacterTargets
from returnn.learning_rate_file import read_learning_rate_file
from tests.program import root, run_program, run_python

_demo = root / "demos" / "text"
_make_data: dict[str, Any] = runpy.run_path(str(_demo / "make_data.py"))


def _lines(file: Path) -> list[str]:
    return file.read_text(encoding="utf8").split("\n")[:-1]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the data of a small text in ``text/``, which is ``small.txt``: some topics of Python's help."""
    folder = tmp_path_factory.mktemp("text")
    small = "\n".join(topics[name] for name in ("compound", "expressions" if "expressions" in topics else "numbers"))
    (folder / "small.txt").write_text(small, encoding="utf8")
    result = run_python(_demo / "make_data.py", "--text", "small.txt", "--merges", "200", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder


def test_each_line_is_in_one_file(text: Path) -> None:
    """Together they are the lines of the text, each once, with single blanks; a twentieth in dev and in eval."""
    files = {name: _lines(text / "text" / f"{name}.txt") for name in ("train", "dev", "eval")}
    wanted = {" ".join(line.split()) for line in (text / "small.txt").read_text(encoding="utf8").split("\n")} - {""}
    assert sum(map(len, files.values())) == len(wanted)
    assert set().union(*files.values()) == wanted
    assert len(files["dev"]) == len(files["eval"]) == round(len(wanted) / 20)


def test_labels_give_back_the_lines(text: Path) -> None:
    """Of both kinds; no character of train is unknown; the counts are those of the files."""
    folder = text / "text"
    opts: dict[str, Any] = {"unknown_label": "<unk>", "seq_postfix": ["<s>"]}
    chars = CharacterTargets(str(folder / "chars.txt"), **opts)
    bpe = BytePairEncoding(str(folder / "bpe.txt"), str(folder / "bpe.codes"), **opts)
    train = _lines(folder / "train.txt")
    num_labels = 0
    for line in train:
        assert chars.get_seq_labels(chars.get_seq(line)) == line + "<s>"
        seq = bpe.get_seq(line)
        assert bpe.get_seq_labels(seq).replace("@@ ", "") == line + " <s>"
        num_labels += len(seq)
    num_chars = sum(len(line) + 1 for line in train)
    assert num_labels < 0.6 * num_chars
    counts = json.loads((folder / "counts.json").read_text())
    assert counts["train"] == {
        "lines": len(train),
        "characters": num_chars,
        "labels": {"chars": num_chars, "bpe": num_labels},
    }


def test_without_a_file_it_is_the_help_of_python(tmp_path: Path) -> None:
    """And a second call gives the same files."""
    for folder in ("a", "b"):
        assert run_python(_demo / "make_data.py", folder, "--merges", "20", cwd=tmp_path).returncode == 0
    lines = _lines(tmp_path / "a" / "train.txt")
    assert set(lines) <= {" ".join(line.split()) for topic in topics.values() for line in topic.split("\n")}
    assert len(lines) > 5000
    names = {path.name for path in (tmp_path / "a").iterdir()}
    assert names == {"train.txt", "dev.txt", "eval.txt", "chars.txt", "bpe.txt", "bpe.codes", "counts.json"}
    for name in names:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "make_data.py: my.txt: No such file or directory\n"),
        (b"abc\xff", "make_data.py: my.txt: it is no UTF-8 text, at byte 3\n"),
        (b"a\nb\n\na\n", "make_data.py: 2 different lines are too few\n"),
    ],
)
def test_bad_text(content: bytes | None, message: str, tmp_path: Path) -> None:
    """One line says what is wrong; nothing is written."""
    if content is not None:
        (tmp_path / "my.txt").write_bytes(content)
    result = run_python(_demo / "make_data.py", "--text", "my.txt", cwd=tmp_path)
    assert result.returncode == 1
    assert result.stderr == message
    assert {path.name for path in tmp_path.iterdir()} <= {"my.txt"}


def test_characters_that_are_not_in_train_are_unknown(tmp_path: Path) -> None:
    """Each line has a character of its own, so there is one unknown label in each line of dev and eval."""
    (tmp_path / "my.txt").write_text("".join(f"{chr(0x4E00 + i)} $ab {{ c\n" for i in range(100)), encoding="utf8")
    assert run_python(_demo / "make_data.py", ".", "--text", "my.txt", cwd=tmp_path).returncode == 0
    vocab = CharacterTargets(str(tmp_path / "chars.txt"), unknown_label="<unk>")
    for name, num_unknown in {"train": 0, "dev": 5, "eval": 5}.items():
        seqs = [vocab.get_seq(line) for line in _lines(tmp_path / f"{name}.txt")]
        assert sum(seq.count(vocab.unknown_label_id) for seq in seqs) == num_unknown


def test_bpe_of_the_textbook() -> None:
    """low 5, lower 2, newest 6, widest 3 times: "st" and with it "est" ends 9 words, "lo" and with it "low" is in 7.

    Of equally frequent pairs the alphabet's last one comes first. At the end: "ne", "new", "newest" 6 times each.
    """
    lines = ["low " * 5, "lower " * 2, "newest " * 6, "widest " * 3]
    merges = _make_data["learn_bpe"](lines, 4)
    assert merges == [("s", "t</w>"), ("e", "st</w>"), ("l", "o"), ("w", "est</w>")]
    # lo + w</w> 5 times; lo + w 2 times
    assert _make_data["learn_bpe"](lines, 7)[4:] == [("n", "e"), ("ne", "west</w>"), ("lo", "w</w>")]
    assert len(_make_data["learn_bpe"](lines, 1000)) < 20  # then each word is one part


def test_merge_from_left_to_right() -> None:
    """As the encoder does it."""
    merge = _make_data["merge"]
    assert merge(["a", "a", "a"], ("a", "a")) == ["aa", "a"]
    assert merge(["a", "a", "a", "a"], ("a", "a")) == ["aa", "aa"]
    assert merge(["b", "a", "b", "a", "b"], ("a", "b")) == ["b", "ab", "ab"]
    assert merge(["a"], ("a", "b")) == ["a"]


@pytest.mark.parametrize("seed", range(5))
def test_bpe_counts_as_if_from_scratch(seed: int) -> None:
    """Counting all pairs again for each merge gives the same."""
    rnd = random.Random(seed)
    line = " ".join("".join(rnd.choices("aab", k=rnd.randint(1, 8))) for _ in range(50))
    words = [[*word[:-1], word[-1] + "</w>"] for word in line.split()]
    expected = []
    for _ in range(30):
        pairs = Counter(pair for word in words for pair in zip(word, word[1:], strict=False))
        if not pairs:
            break
        expected.append(max(pairs, key=lambda pair: (pairs[pair], pair)))
        words = [_make_data["merge"](word, expected[-1]) for word in words]
    assert _make_data["learn_bpe"]([line], 30) == expected


@pytest.mark.slow
@pytest.mark.parametrize("labels", ["chars", "bpe"])
def test_learns(labels: str, text: Path, tmp_path: Path) -> None:
    """Better than any model that does not look at the characters before."""
    config = _demo / "text.config"
    args = ["++data", text / "text", "++labels", labels, "++num_epochs", "4", "++batch_size", "500"]
    log = run_program(config, *args, cwd=tmp_path)
    assert "LmDataset, sequences: " in log
    assert "Finished training in epoch 4." in log

    folder = tmp_path / f"text-{labels}"
    errors = read_learning_rate_file(str(folder / "learning_rates"))[4].error
    counts = json.loads((text / "text" / "counts.json").read_text())["eval"]
    expected = math.exp(errors["eval_score_output"] * counts["labels"][labels] / counts["characters"])
    result = run_python(_demo / "perplexity.py", labels, "--data", text / "text", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    rows = [line.split() for line in result.stdout.splitlines()]
    assert [row[0] for row in rows] == ["epoch", "1", "2", "3", "4"]
    assert float(rows[-1][2]) == pytest.approx(expected, abs=1e-3)

    frequencies = Counter("\n".join(_lines(text / "text" / "eval.txt")) + "\n")
    total = sum(frequencies.values())
    without_memory = math.exp(-sum(n * math.log(n / total) for n in frequencies.values()) / total)
    assert total == counts["characters"]
    assert expected < 0.7 * without_memory


def test_perplexity_without_files(tmp_path: Path) -> None:
    """It says what to do before."""
    result = run_python(_demo / "perplexity.py", "bpe", cwd=tmp_path)
    assert result.returncode == 1
    assert "counts.json does not exist; first run make_data.py" in result.stderr


def test_numbers_of_the_readme() -> None:
    """Perplexity per character of both kinds of labels, in a table."""
    rows = re.findall(
        r"^\| `(chars|bpe)` .*\| ([\d.]+) \| ([\d.]+) \|$", (_demo / "README.md").read_text(), re.MULTILINE
    )
    assert [labels for labels, _, _ in rows] == ["chars", "bpe"]
    assert all(2 < float(value) < 6 for _, *values in rows for value in values)
