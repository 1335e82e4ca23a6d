"""Sets of files that stay together, more parts, random order."""

from data_files import simple_hdf

letters = "abcdefghijk"


def get_sub_epoch_dataset(files):
    """:return: options"""
    return {"class": "HDFDataset", "files": [f for pair in files for f in pair], "seq_ordering": "random"}


datasets = {
    "pairs": {
        "class": "DistributeFilesDataset",
        "files": [("%s0.hdf" % c, "%s1.hdf" % c) for c in letters],
        "get_sub_epoch_dataset": get_sub_epoch_dataset,
        "partition_epoch": 4,
        "seq_ordering": "random",
        "preload_next_n_sub_epochs": 2,
        "buffer_size": 3,
    },
}
epochs = [1, 2, 3, 4, 5, 9]
info = False


def make_files(folder):
    """Pairs of files of different size."""
    for i, c in enumerate(letters):
        for j in range(2):
            simple_hdf(
                "%s%i.hdf" % (c, j), [3 + i, 2 + j, 7 * i * i + 1], dim=2, seed=10 * i + j, tag=c + str(j) + "-%i"
            )
