"""Processor time to put a million sequences into batches, next to another implementation.

    python -m benchmarks.batching [--other PYTHON] [--num_seqs 1000000]

"dataset": a class of the user that knows lengths of two data keys; "HDF": HDFDataset, sequences of one to five bytes.
The first is also chunked (fewer sequences, several chunks of each).
``--other`` is the Python of an environment with another package ``returnn`` of the same interface.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import h5py
import numpy

from benchmarks.child import run_child

CHILD = """
import json, sys, time
import numpy
from returnn.datasets.basic import Dataset, init_dataset
from returnn.util.basic import NumbersDict
filename, num_seqs = sys.argv[2], int(sys.argv[3])

class Lengths(Dataset):
    def __init__(self, num, max_len, **kwargs):
        super().__init__(**kwargs)
        self.num, self.num_inputs, self.num_outputs = num, 1, {"data": (1, 2), "classes": (2, 1)}
        self.lens = numpy.random.RandomState(1).randint(1, max_len, size=num).tolist()
    @property
    def num_seqs(self):
        return self.num
    def get_seq_length(self, seq_idx):
        n = self.lens[seq_idx]
        return NumbersDict({"data": n, "classes": n})

def measure(dataset, max_seqs):
    dataset.initialize()
    dataset.init_seq_order(epoch=1)
    start = time.process_time()
    batches = dataset.generate_batches(
        recurrent_net=True, batch_size=20000, max_seqs=max_seqs, used_data_keys={"data", "classes"}
    )
    while batches.has_more():
        batches.peek_next_n(1)
        batches.advance(1)
    return time.process_time() - start

print("RESULT " + json.dumps({
    "dataset": measure(Lengths(num_seqs, 500), 200),
    "dataset, chunks": measure(Lengths(num_seqs // 10, 2000, chunking="200:100"), 200),
    "HDF": measure(init_dataset({"class": "HDFDataset", "files": [filename]}), 200),
}))
"""


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", help="Python of another implementation")
    parser.add_argument("--num_seqs", type=int, default=1_000_000)
    args = parser.parse_args()
    lens = numpy.random.RandomState(1).randint(1, 6, size=args.num_seqs).astype("int32")
    with tempfile.TemporaryDirectory() as folder:
        filename = str(Path(folder) / "a.hdf")
        with h5py.File(filename, "w") as file:
            file["seqTags"] = numpy.array([f"seq-{i}" for i in range(len(lens))], dtype="S12")
            file["seqLengths"] = numpy.stack([lens, lens], axis=1)
            file["inputs"] = file["targets/data/classes"] = numpy.zeros(lens.sum(), "int8")
            file.create_group("targets/size").attrs["classes"] = (2, 1)
            file.create_group("targets/labels")
            file.attrs["inputPattSize"] = 2
        results = {"ours": run_child(sys.executable, CHILD, [filename, str(len(lens))], own=True)}
        if args.other:
            results["other"] = run_child(args.other, CHILD, [filename, str(len(lens))], own=False)
    for what, secs in results["ours"].items():
        text = f"{what}: ours {secs:.2f} s"
        if "other" in results:
            text += f", other {results['other'][what]:.2f} s, ours/other {secs / results['other'][what]:.3f}"
        print(text)


if __name__ == "__main__":
    main()
