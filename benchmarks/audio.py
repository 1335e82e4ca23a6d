"""Hours of audio per second as log-mel features, alone and in worker processes; start and memory of a large zip file.

    python -m benchmarks.audio [--other PYTHON] [--rounds 3]

Audio: 300 FLAC files of 6 s in a zip file; OggZipDataset alone, and in a MultiProcDataset of 1 and 2 workers. The clock
runs from the first sequence on, so without the start of workers. Large: 200000 utterances without audio, from the
constructor to the first sequence of a shuffled epoch. ``--other`` is the Python of an environment with another package
``returnn`` of the same interface (and librosa).
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

import numpy

from benchmarks.child import run_child
from tests.data_cases.data_files import flac_bytes, tone

NUM_SEQS = 300
SECS = 6
NUM_LARGE = 200_000

CHILD = """
import gc, json, sys, time

def main():
    options, num_workers, max_seqs = json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
    from returnn.config import Config, set_global_config
    from returnn.datasets.basic import init_dataset
    set_global_config(Config())

    def resident():
        gc.collect()
        for line in open("/proc/self/smaps_rollup"):
            if line.startswith("Rss:"):
                return int(line.split()[1]) * 1024

    if num_workers:
        options = {"class": "MultiProcDataset", "dataset": options, "num_workers": num_workers, "buffer_size": 10}
    warm = init_dataset(options)
    if max_seqs > 1:  # imports
        warm.init_seq_order(1)
        warm.load_seqs(0, 1)
        warm.finish_epoch()
        dataset = warm
    else:
        dataset = init_dataset(options)
    before, start = resident(), time.perf_counter()
    dataset.init_seq_order(2)
    dataset.load_seqs(0, 1)
    started, memory = time.perf_counter() - start, resident() - before
    start = time.perf_counter()
    seq_idx = 1
    while seq_idx < max_seqs and dataset.is_less_than_num_seqs(seq_idx):
        dataset.load_seqs(seq_idx, seq_idx + 1)
        dataset.get_data(seq_idx, "data")
        seq_idx += 1
    secs = time.perf_counter() - start
    print("RESULT " + json.dumps({"start": started, "memory": memory, "rate": (seq_idx - 1) / secs}), flush=True)
    dataset.finish_epoch(free_resources=True)

if __name__ == "__main__":
    main()
"""


def write_audio(path: Path) -> None:
    """Writes FLAC files, ten different ones."""
    contents = [flac_bytes(tone(16000 * SECS, i)) for i in range(10)]
    with zipfile.ZipFile(path, "w") as archive:
        entries = []
        for i in range(NUM_SEQS):
            archive.writestr(f"audio/{i}.flac", contents[i % 10])
            entries.append({"text": "some words", "file": f"{i}.flac", "seq_name": f"s{i}", "duration": float(SECS)})
        archive.writestr("audio.txt", repr(entries))


def write_large(path: Path) -> None:
    """Writes only texts, of about 160 characters."""
    rng = numpy.random.RandomState(1)
    with (
        zipfile.ZipFile(path, "w", compression=zipfile.ZIP_DEFLATED) as archive,
        archive.open("large.txt", "w") as file,
    ):
        file.write(b"[\n")
        for i in range(NUM_LARGE):
            text = " ".join(f"WORD{n}" for n in rng.randint(0, 9999, 20))
            entry = {
                "text": text,
                "file": f"a/{i}.ogg",
                "seq_name": f"corpus/{i}",
                "duration": round(rng.uniform(1, 15), 2),
            }
            file.write(f"{entry!r},\n".encode())
        file.write(b"]\n")


def main() -> None:
    """Prints tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        write_audio(Path(folder) / "audio.zip")
        write_large(Path(folder) / "large.zip")
        base = {"class": "OggZipDataset", "seq_ordering": "random", "targets": {"class": "Utf8ByteTargets"}}
        features = {"features": "log_mel_filterbank", "num_feature_filters": 80}
        audio = {**base, "path": f"{folder}/audio.zip", "audio": features}
        large = {**base, "path": f"{folder}/large.zip", "audio": None}
        print("| | hours/s | other | ratio |\n|---|---|---|---|")
        for num_workers in (0, 1, 2):
            runs = _measure(args, audio, num_workers, NUM_SEQS)
            rates = [statistics.median(run["rate"] for run in side) * SECS / 3600 for side in runs]
            name = f"{num_workers} worker{'s' * (num_workers > 1)}" if num_workers else "alone"
            print(_row(name, ["%.3f" % rate for rate in rates], rates[0] / rates[-1] if len(rates) > 1 else None))
        runs = _measure(args, large, 0, 1)
        print(f"\n| {NUM_LARGE} utterances | ours | other | ratio |\n|---|---|---|---|")
        for key, form, unit in (("start", "%.2f s", 1.0), ("memory", "%.0f MB", 1e6)):
            values = [statistics.median(run[key] for run in side) / unit for side in runs]
            print(_row(key, [form % value for value in values], values[-1] / values[0] if len(values) > 1 else None))


def _measure(args: argparse.Namespace, options: dict[str, Any], num_workers: int, max_seqs: int) -> list[list[Any]]:
    """:return: results of ours, and of the other if there is one, measured in turn"""
    pythons = [(sys.executable, True)] + ([(args.other, False)] if args.other else [])
    runs: list[list[Any]] = [[] for _ in pythons]
    for _ in range(args.rounds):
        for side, (python, own) in zip(runs, pythons, strict=True):
            child_args = [json.dumps(options), str(num_workers), str(max_seqs)]
            side.append(run_child(python, CHILD, child_args, own=own))
    return runs


def _row(name: str, values: list[str], ratio: float | None) -> str:
    return f"| {name} | {values[0]} | {values[1] if ratio else ''} | {f'{ratio:.2f}' if ratio else ''} |"


if __name__ == "__main__":
    main()
