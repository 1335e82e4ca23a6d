"""Sequences glued together; some epochs have only short ones."""

from data_files import floats, ints, write_hdf, write_text

seqs = {
    "class": "ConcatSeqsDataset",
    "dataset": {"class": "HDFDataset", "files": ["a.hdf"]},
    "epoch_wise_filter": {(2, 2): {"max_mean_len": 5}, (3, -1): {"max_mean_len": 7}},
    "seq_list_file": "list.txt",
    "seq_len_file": "lens.py",
}


dataset = dict(seqs, seq_ordering="random")


def make_files(folder):
    """Four sequences, whose last label is 0."""
    lens = [3, 2, 5, 4]
    classes = [ints(i, 5, n) for i, n in enumerate([2, 2, 3, 1])]
    for labels in classes:
        labels[-1] = 0
    tags = ["seq-%i" % i for i in range(4)]
    write_hdf(
        "a.hdf",
        tags,
        [floats(i, n, 2) for i, n in enumerate(lens)],
        {"classes": classes},
        dims={"classes": 5},
    )
    write_text("list.txt", "seq-0;seq-2\nseq-1\nseq-3;seq-3;seq-1\nseq-2;seq-0;seq-0\n")
    write_text("lens.py", "{'seq-0': 3, 'seq-1': 2, 'seq-2': 5, 'seq-3': 4}\n")
