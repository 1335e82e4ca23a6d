"""What SimpleHDFWriter writes, with labels, extra keys, two dynamic axes; and what the reader makes of it."""

import numpy
from data_files import floats, ints

from returnn.datasets.hdf import SimpleHDFWriter

dump_hdf = ["dense.hdf", "sparse.hdf", "matrix.hdf"]
datasets = {name[:-4]: {"class": "HDFDataset", "files": [name]} for name in dump_hdf}
epochs = [1]


def make_files(folder):
    """Two batches each."""
    with SimpleHDFWriter("dense.hdf", dim=3, extra_type={"classes": (5, 1, "int32")}) as writer:
        for i, lens in enumerate([[2, 3], [4, 1, 2]]):
            classes = ints(i, 5, len(lens), 2)
            tags = ["b%i-s%i" % (i, j) for j in range(len(lens))]
            writer.insert_batch(floats(i, len(lens), max(lens), 3), lens, tags, extra={"classes": classes})
    writer = SimpleHDFWriter("sparse.hdf", dim=4, ndim=1, labels=["<s>", "a", "ö", "c"])
    writer.insert_batch(ints(3, 4, 2, 5), {0: [5, 3]}, ["x", "y"])
    writer.close()
    writer = SimpleHDFWriter("matrix.hdf", dim=None, ndim=2)
    writer.insert_batch(floats(5, 2, 3, 4), {0: [3, 2], 1: [4, 3]}, numpy.array(["m1", "m2"]))
    writer.close()
