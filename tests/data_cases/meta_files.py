"""Lists of sequences in a file per dataset; a control dataset of another kind; a dataset of datasets."""

from data_files import simple_hdf, write_text

subs = {
    "A": {
        "class": "HDFDataset",
        "files": ["a.hdf"],
        "seq_ordering": "random",
        "partition_epoch": 2,
    },
    "B": {"class": "HDFDataset", "files": ["b.hdf"]},
}
meta = {
    "class": "MetaDataset",
    "datasets": subs,
    "data_map": {"data": ("A", "data"), "classes": ("B", "classes")},
}
datasets = {
    "files": dict(
        meta,
        seq_list_file={"A": "a.txt", "B": "b.txt"},
        seq_ordering="laplace:2",
        partition_epoch=2,
    ),
    "random": dict(meta, seq_ordering="random", repeat_epoch=2),
    "swallowed": dict(meta, seq_order_control_dataset="A", seq_ordering="sorted"),
    "sorted": dict(meta, seq_ordering="sorted"),
    "nested": {
        "class": "MetaDataset",
        "datasets": {
            "m": dict(meta, seq_order_control_dataset="A"),
            "C": {"class": "HDFDataset", "files": ["b.hdf"]},
        },
        "data_map": {
            "data": ("m", "data"),
            "classes": ("m", "classes"),
            "again": ("C", "data"),
        },
        "seq_order_control_dataset": "m",
    },
}
batches = {"batch_size": 12, "max_seqs": 3}


def make_files(folder):
    """Six sequences each."""
    simple_hdf("a.hdf", [4, 2, 6, 3, 1, 5], dim=2)
    simple_hdf("b.hdf", [4, 2, 6, 3, 1, 5], dim=1, seed=30)
    write_text("a.txt", "seq-3\nseq-1\nseq-5\nseq-0\n")
    write_text("b.txt", "seq-0\nseq-2\nseq-4\nseq-1\n")
