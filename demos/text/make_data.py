#!/usr/bin/env python3
"""Makes the data of a language model from text: lines for LmDataset, and the labels, characters or parts of words.

Without a file it takes the reference manual that each Python brings along for help(), half a megabyte. White space in a
line becomes one blank, empty lines and those that were there before are left out. What remains goes to train.txt,
dev.txt and eval.txt, by chance. The labels are made from train.txt only:

    chars.txt            characters
    bpe.txt, bpe.codes   parts of words, by byte-pair encoding: again and again, the most frequent pair becomes one part
    counts.json          how many characters and labels each file has

The same arguments and text give the same files.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))  # it need not be installed
from returnn.datasets.util.vocabulary import BytePairEncoding, CharacterTargets

END, UNKNOWN = "<s>", "<unk>"  # the end of a line, also what comes before it; characters that are not in train.txt
HELD_OUT = 0.05  # of all lines, for dev and for eval each
END_OF_WORD = "</w>"


def read_text(files: list[str]) -> str:
    """
    :param files: UTF-8; none: topics of Python's help
    """
    if not files:
        from pydoc_data.topics import topics  # noqa: PLC0415 - large, and only needed without a file

        return "\n".join(topics[name] for name in sorted(topics))
    texts = []
    for name in files:
        try:
            with open(name, encoding="utf8") as file:
                texts.append(file.read())
        except OSError as exc:
            sys.exit(f"make_data.py: {name}: {exc.strerror}")
        except UnicodeDecodeError as exc:
            sys.exit(f"make_data.py: {name}: it is no UTF-8 text, at byte {exc.start}")
    return "\n".join(texts)


def split_lines(text: str) -> dict[str, list[str]]:
    """
    :param text: all of it
    :return: name of the file -> its lines, in the order of the text
    """
    lines = [" ".join(line.split()) for line in text.split("\n")]
    lines = [line for line in dict.fromkeys(lines) if line]
    order = list(range(len(lines)))
    random.Random(1).shuffle(order)
    num = round(HELD_OUT * len(lines))
    if not num:
        sys.exit(f"make_data.py: {len(lines)} different lines are too few")
    parts = {"train": order[2 * num :], "dev": order[:num], "eval": order[num : 2 * num]}
    return {name: [lines[i] for i in sorted(part)] for name, part in parts.items()}


def learn_bpe(lines: Iterable[str], num_merges: int) -> list[tuple[str, str]]:
    """
    :param lines: words with blanks between
    :param num_merges: how many pairs become one part; less, if all words are one part before
    :return: the pairs, as :class:`returnn.util.bpe.StandardBytePairEncoder` wants them
    """
    counts = Counter(word for line in lines for word in line.split())
    words = [[*word[:-1], word[-1] + END_OF_WORD] for word in counts]
    times = list(counts.values())
    pairs: Counter[tuple[str, str]] = Counter()
    where: defaultdict[tuple[str, str], set[int]] = defaultdict(set)  # the words in which a pair was once

    def count(i: int, sign: int) -> None:
        for pair in zip(words[i], words[i][1:], strict=False):
            pairs[pair] += sign * times[i]
            where[pair].add(i)

    for i in range(len(words)):
        count(i, 1)
    merges: list[tuple[str, str]] = []
    while len(merges) < num_merges:
        best = max(pairs, key=lambda pair: (pairs[pair], pair), default=None)
        if best is None or pairs[best] <= 0:
            break
        merges.append(best)
        for i in where.pop(best):
            count(i, -1)
            words[i] = merge(words[i], best)
            count(i, 1)
        del pairs[best]
    return merges


def merge(parts: list[str], pair: tuple[str, str]) -> list[str]:
    """
    :param parts: of a word
    :param pair: becomes one part, wherever it is
    """
    res: list[str] = []
    i = 0
    while i < len(parts):
        num = 2 if tuple(parts[i : i + 2]) == pair else 1
        res.append("".join(parts[i : i + num]))
        i += num
    return res


def bpe_labels(chars: Iterable[str], merges: Iterable[tuple[str, str]]) -> list[str]:
    """
    :param chars: all but the blank
    :param merges: see :func:`learn_bpe`
    :return: names of the labels: ``@@`` says that the word goes on behind this part
    """
    parts = [*(char + end for char in chars for end in ("", END_OF_WORD)), *(a + b for a, b in merges)]
    return [part.removesuffix(END_OF_WORD) if part.endswith(END_OF_WORD) else part + "@@" for part in parts]


def write_lines(filename: str, lines: Iterable[str]) -> None:
    """
    :param filename: replaced if it exists
    :param lines: without line breaks
    """
    with open(filename, "w", encoding="utf8", newline="\n") as file:
        file.writelines(line + "\n" for line in lines)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="text", help="for the files; default: %(default)s")
    parser.add_argument("--text", nargs="+", default=[], metavar="FILE", help="default: topics of Python's help")
    parser.add_argument("--merges", type=int, default=1000, help="of byte-pair encoding; default: %(default)s")
    args = parser.parse_args()
    files = split_lines(read_text(args.text))
    os.makedirs(args.folder, exist_ok=True)

    def path(name: str) -> str:
        return os.path.join(args.folder, name)

    for name, lines in files.items():
        write_lines(path(f"{name}.txt"), lines)
    chars = sorted(set("".join(files["train"])) | {" "})
    merges = learn_bpe(files["train"], args.merges)
    write_lines(path("chars.txt"), [END, UNKNOWN, *chars])
    write_lines(path("bpe.codes"), ["#version: 0.2", *(" ".join(pair) for pair in merges)])
    write_lines(path("bpe.txt"), [END, UNKNOWN, *bpe_labels([char for char in chars if char != " "], merges)])

    opts = {"unknown_label": UNKNOWN, "seq_postfix": [END]}
    vocabs = {
        "chars": CharacterTargets(path("chars.txt"), **opts),
        "bpe": BytePairEncoding(path("bpe.txt"), path("bpe.codes"), **opts),
    }
    counts = {}
    for name, lines in files.items():
        num_labels = {key: sum(len(vocab.get_seq(line)) for line in lines) for key, vocab in vocabs.items()}
        counts[name] = {"lines": len(lines), "characters": sum(len(line) + 1 for line in lines), "labels": num_labels}
        print(f"{path(name)}.txt: {counts[name]}")
    write_lines(path("counts.json"), [json.dumps(counts, indent=2)])


if __name__ == "__main__":
    main()
