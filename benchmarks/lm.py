"""Start and memory of a LmDataset of a million lines, plain and packed, and the rate of its sequences.

    python -m benchmarks.lm [--other PYTHON] [--lines 1000000]

Start: from the constructor to the first sequence of a shuffled epoch. Memory: what the process holds more then than
before, next to the size of the text. Rate: sequences of the epoch, by words and by BPE. ``--other`` is the Python of an
environment with another package ``returnn`` of the same interface; its numbers are measured in turn with ours.
"""

from __future__ import annotations

import argparse
import gzip
import json
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy

from benchmarks.child import run_child

ROUNDS = 3
NUM_WORDS = 20_000

CHILD = """
import gc, json, sys, time
corpus_file, opts = sys.argv[2], json.loads(sys.argv[3])
import numpy
from returnn.config import Config, set_global_config
from returnn.datasets.basic import init_dataset
from returnn.datasets.lm import LmDataset
from returnn.datasets.util.vocabulary import Vocabulary
from returnn.log import log
log.initialize(verbosity=[1])

def resident():
    gc.collect()
    for line in open("/proc/self/smaps_rollup"):
        if line.startswith("Rss:"):
            return int(line.split()[1]) * 1024

opts = {"class": "LmDataset", "corpus_file": corpus_file, "seq_ordering": "random", **opts}
warm = init_dataset({**opts, "corpus_file": corpus_file.replace("text", "short")})
warm.init_seq_order(1)
warm.load_seqs(0, 1)
del warm
before = resident()
start = time.perf_counter()
dataset = init_dataset(opts)
dataset.init_seq_order(1)
dataset.load_seqs(0, 1)
start_s = time.perf_counter() - start
memory = resident() - before
number = 20000
start = time.perf_counter()
frames = 0
for i in range(1, number + 1):
    dataset.load_seqs(i, i + 1)
    frames += len(dataset.get_data(i, "data"))
print("RESULT", json.dumps({
    "start_s": start_s, "memory": memory, "seqs_per_s": number / (time.perf_counter() - start), "frames": frames,
}))
"""


def write_files(folder: Path, num_lines: int) -> dict[str, dict[str, Any]]:
    """
    :param folder: for the files
    :param num_lines: of the text
    :return: name of a case -> ``corpus_file``, and further options
    """
    rng = numpy.random.RandomState(1)
    letters = numpy.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = sorted({"".join(rng.choice(letters, rng.randint(2, 10))) for _ in range(NUM_WORDS)})
    (folder / "words").write_text("".join(f"{word}\n" for word in ["<sb>", "<unk>", *words]))
    merges = [f"{a} {b}" for a in letters for b in letters[:8]] + [f"{a} {b}</w>" for a in letters for b in letters[:8]]
    (folder / "codes").write_text("\n".join(["#version: 0.2", *merges]) + "\n")
    units = [a + b + end for a in letters for b in ["", *letters[:8]] for end in ("", "@@")]
    (folder / "units").write_text("".join(f"{unit}\n" for unit in ["<unk>", *units]))
    ranks = (NUM_WORDS * 0.5 * rng.power(0.3, size=(num_lines, 10))).astype(int)  # some words are much more frequent
    lens = rng.randint(3, 11, size=num_lines)
    lines = [" ".join([words[i] for i in row[:n]]) for row, n in zip(ranks.tolist(), lens.tolist(), strict=True)]
    content = "".join(line + "\n" for line in lines).encode("utf8")
    short = "".join(line + "\n" for line in lines[:10]).encode("utf8")
    for name, text in (("text.txt", content), ("short.txt", short)):
        (folder / name).write_bytes(text)
        (folder / f"{name}.gz").write_bytes(gzip.compress(text, 1))
    by_words = {
        "orth_symbols_file": str(folder / "words"),
        "word_based": True,
        "seq_end_symbol": "<sb>",
        "unknown_symbol": "<unk>",
        "auto_replace_unknown_symbol": True,
    }
    bpe = {"vocab_file": str(folder / "units"), "bpe_file": str(folder / "codes"), "unknown_label": "<unk>"}
    return {
        "words": {"corpus_file": str(folder / "text.txt"), **by_words},
        "words, packed": {"corpus_file": str(folder / "text.txt.gz"), **by_words},
        "bpe": {"corpus_file": str(folder / "text.txt"), "orth_vocab": bpe},
    }


def main() -> None:
    """Command line."""

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", help="Python with another implementation")
    parser.add_argument("--lines", type=int, default=1_000_000)
    args = parser.parse_args()
    pythons = {"ours": (sys.executable, True)}
    if args.other:
        pythons["other"] = (args.other, False)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        cases = write_files(folder, args.lines)
        size = (folder / "text.txt").stat().st_size
        for what, opts in cases.items():
            corpus_file = opts.pop("corpus_file")
            found: dict[str, list[dict[str, Any]]] = {name: [] for name in pythons}
            for _ in range(ROUNDS):
                for impl, (python, own) in pythons.items():
                    found[impl].append(run_child(python, CHILD, [corpus_file, json.dumps(opts)], own=own))
            medians = {
                impl: {key: statistics.median(result[key] for result in results) for key in results[0]}
                for impl, results in found.items()
            }
            report(what, size, medians)


def report(what: str, size: int, medians: dict[str, dict[str, float]]) -> None:
    """
    :param what: name of the case
    :param size: of the text, in bytes
    :param medians: by implementation
    """
    for impl, m in medians.items():
        print(
            "%s, %s: start %.2f s, memory %.0f MB / %.0f MB of text = %.2f, %.0f sequences/s"
            % (what, impl, m["start_s"], m["memory"] / 1e6, size / 1e6, m["memory"] / size, m["seqs_per_s"])
        )
    if "other" in medians:
        ours, other = medians["ours"], medians["other"]
        assert ours["frames"] == other["frames"], "not the same sequences"
        print(
            "%s: start ours / other = %.3f, sequences per second ours / other = %.2f"
            % (what, ours["start_s"] / other["start_s"], ours["seqs_per_s"] / other["seqs_per_s"])
        )


if __name__ == "__main__":
    main()
