"""HDF files with an array a sequence: real outputs, classes, normalised."""

import h5py
from data_files import floats, ints, write_text

from returnn.datasets.normalization_data import NormalizationData

stereo = {"class": "StereoHdfDataset", "hdfFile": "s.hdf"}
datasets = {
    "one": dict(stereo),
    "bundle": dict(stereo, hdfFile="s.bundle"),
    "normalized": dict(stereo, normalizationFile="n.hdf"),
    "inputs": dict(stereo, normalizationFile="n.hdf", flag_normalizeTargets=False),
    "targets": dict(stereo, normalizationFile="n.hdf", flag_normalizeInputs=False),
    "classes": dict(stereo, hdfFile="c.hdf", num_outputs=7),
}
epochs = [1, 2]
dump_hdf = ["n.hdf"]
ignore = ["info.num_outputs.data"]  # ours has it there, too


def write(filename, dim, num_seqs, seed):
    """Sequences of 4, 5, ... frames; `dim` of the outputs, 1: classes."""
    with h5py.File(filename, "w") as f:
        for i in range(num_seqs):
            f.create_dataset("inputs/%i" % i, data=floats(seed + i, 4 + i, 3))
            outputs = ints(seed + i, 7, 4 + i, 1) if dim == 1 else floats(seed + i + 50, 4 + i, dim)
            f.create_dataset("outputs/%i" % i, data=outputs)


def make_files(folder):
    """Three files, a bundle, and its moments."""
    write("s.hdf", 2, 3, 1)
    write("s2.hdf", 2, 2, 11)
    write("c.hdf", 1, 3, 21)
    write_text("s.bundle", "s.hdf\ns2.hdf\n")
    NormalizationData.create_normalization_file("s.bundle", "n.hdf")
