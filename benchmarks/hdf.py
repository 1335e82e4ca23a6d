"""Frames of HDF files in padded batches, next to copying the same bytes, and to another implementation.

    python -m benchmarks.hdf [--other PYTHON] [--rounds 3]

Files: float32 features and classes of 4000 sequences with 20 to 400 frames. "whole": written in one go, contiguous;
"appended": by SimpleHDFWriter, in chunks. Batches of 20000 frames, in the order of the file, and shuffled.
The floor reads slices of 16 MiB with h5py and copies them into zeroed arrays with numpy. ``--other`` is the Python of
an environment with another package ``returnn`` of the same interface. Each measurement is a fresh process, and its
processor time; the files are in the page cache.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
from pathlib import Path

import h5py
import numpy

from benchmarks.child import run_child
from returnn.datasets.hdf import SimpleHDFWriter

NUM_SEQS = 4000
NUM_FEATURES = 40
ORDERS = ("default", "laplace:.100")

CHILD = """
import json, sys, time
import numpy
filename, what, order = sys.argv[2:]

def padded_batches():
    from returnn.datasets.basic import init_dataset
    dataset = init_dataset({"class": "HDFDataset", "files": [filename], "seq_ordering": order})
    start = time.process_time()
    dataset.init_seq_order(epoch=1)
    batches = dataset.generate_batches(recurrent_net=True, batch_size=20000, max_seqs=200)
    num_frames = 0
    while batches.has_more():
        (batch,) = batches.peek_next_n(1)
        batches.advance(1)
        dataset.load_seqs(batch.start_seq, batch.end_seq)
        for key, frame_shape, dtype in (("data", (40,), "float32"), ("classes", (), "int32")):
            shape = (batch.num_slices, int(batch.max_num_frames_per_slice[key]), *frame_shape)
            array = numpy.zeros(shape, dtype)
            for part in batch.seqs:
                begin, end = int(part.seq_start_frame[key]), int(part.seq_end_frame[key])
                array[part.batch_slice, : end - begin] = dataset.get_data_slice(part.seq_idx, key, begin, end)
                if key == "data":
                    num_frames += end - begin
    return num_frames, time.process_time() - start

def copied_slices():
    import h5py
    with h5py.File(filename, "r") as file:
        start = time.process_time()
        data, classes = file["inputs"], file["targets/data/classes"]
        block = 2**24 // (40 * 4)
        for begin in range(0, len(data), block):
            for values in (data[begin : begin + block], classes[begin : begin + block]):
                array = numpy.zeros(values.shape, values.dtype)
                array[:] = values
        return len(data), time.process_time() - start

run = copied_slices if what == "floor" else padded_batches
run()
num_frames, seconds = min((run() for _ in range(3)), key=lambda result: result[1])
print("RESULT " + json.dumps({"frames": num_frames, "secs": seconds}))
"""


def write_files(folder: Path) -> dict[str, str]:
    """
    :return: kind -> file name
    """
    rng = numpy.random.RandomState(1)
    lens = rng.randint(20, 401, size=NUM_SEQS)
    data = rng.normal(size=(int(lens.sum()), NUM_FEATURES)).astype("float32")
    classes = rng.randint(0, 100, size=len(data)).astype("int32")
    tags = [f"corpus/recording-{i}/{i}" for i in range(NUM_SEQS)]
    files = {kind: str(folder / f"{kind}.hdf") for kind in ("whole", "appended")}
    with h5py.File(files["whole"], "w") as file:
        file["seqTags"] = numpy.array(tags, dtype="S40")
        file["seqLengths"] = numpy.stack([lens, lens], axis=1).astype("int32")
        file["inputs"] = data
        file["targets/data/classes"] = classes
        file.create_group("targets/size").attrs["classes"] = (100, 1)
        file.create_dataset("targets/labels/classes", data=numpy.array([b"%i" % i for i in range(100)]))
        file.attrs["inputPattSize"] = NUM_FEATURES
    with SimpleHDFWriter(files["appended"], dim=NUM_FEATURES, extra_type={"classes": (100, 1, "int32")}) as writer:
        end = 0
        for tag, n in zip(tags, lens.tolist(), strict=True):
            begin, end = end, end + n
            writer.insert_batch(data[None, begin:end], [n], [tag], extra={"classes": classes[None, begin:end]})
    return files


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--other", help="Python of another implementation")
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for kind, filename in write_files(Path(folder)).items():
            for order in ORDERS:
                rates: dict[str, list[float]] = {}
                for _ in range(args.rounds):
                    for name, python in (("ours", sys.executable), ("floor", sys.executable), ("other", args.other)):
                        if python:
                            what = "floor" if name == "floor" else "batches"
                            result = run_child(python, CHILD, [filename, what, order], own=name != "other")
                            rates.setdefault(name, []).append(result["frames"] / result["secs"])
                medians = {name: statistics.median(values) for name, values in rates.items()}
                text = ", ".join(f"{name} {rate / 1e6:.2f}M frames/s" for name, rate in medians.items())
                ratios = ", ".join(f"ours/{n} {medians['ours'] / medians[n]:.2f}" for n in medians if n != "ours")
                print(f"{kind}, {order}: {text}; {ratios}", flush=True)


if __name__ == "__main__":
    main()
