"""A small file of the layout of Enwik8Corpus."""

import h5py
import numpy

enwik8 = {"class": "Enwik8Corpus", "path": ".", "subset": "training", "seq_len": 10}
datasets = {
    "all": dict(enwik8),
    "batches": dict(enwik8, batch_num_seqs=2),
    "more_batches": dict(enwik8, batch_num_seqs=3, seq_len=5),
    "validation": dict(enwik8, subset="validation", seq_len=6),
    "test": dict(enwik8, subset="test", seq_len=3),
    "first": dict(enwik8, subsubset=22),
    "range": dict(enwik8, subsubset=(10, 33)),
    "random": dict(enwik8, seq_ordering="random"),
}
epochs = [1, 2]
ignore = ["info.labels.data", "info.labels.classes"]  # ours: characters, not how Python writes bytes


def make_files(folder):
    """Three parts, seven characters."""
    with h5py.File("enwik8.hdf5", "w") as f:
        f.attrs["unique"] = numpy.array([10, 32, 65, 66, 67, 97, 98], dtype="uint8")
        for i, (name, num) in enumerate([("training", 53), ("validation", 20), ("test", 7)]):
            f.create_dataset(
                "split/%s/default" % name, data=numpy.random.RandomState(i).randint(0, 7, num).astype("u1")
            )
