"""Several epochs of a dataset as one; another dataset in each epoch."""

from data_files import simple_hdf


def get_dataset(epoch, **_kwargs):
    """Two files by turns."""
    return {
        "class": "HDFDataset",
        "files": ["a.hdf" if epoch % 2 else "b.hdf"],
        "seq_ordering": "random",
    }


hdf = {
    "class": "HDFDataset",
    "files": ["a.hdf"],
    "partition_epoch": 3,
    "seq_ordering": "random",
}
datasets = {
    "multi": {"class": "MultiEpochDataset", "dataset": hdf, "multi_epoch": 2},
    "variable": {"class": "VariableDataset", "get_dataset": get_dataset},
}


def make_files(folder):
    """Seven and two sequences."""
    simple_hdf("a.hdf", [4, 2, 6, 3, 1, 5, 2], dim=2)
    simple_hdf("b.hdf", [2, 5], dim=2, seed=30, first=20)
