"""Three datasets together, in orders by length, in parts, repeated; keys that not all of them have."""

from data_files import simple_hdf

hdf = {"class": "HDFDataset"}
combined = {
    "class": "CombinedDataset",
    "datasets": {
        "b": {
            **hdf,
            "files": ["b.hdf"],
            "partition_epoch": 2,
            "seq_ordering": "random",
        },
        "a": {**hdf, "files": ["a.hdf"], "seq_ordering": "laplace:2"},
        "c": {
            **hdf,
            "files": ["c.hdf"],
            "repeat_epoch": 2,
            "seq_ordering": "sorted_reverse",
        },
    },
    "data_map": {
        ("a", "data"): "data",
        ("a", "classes"): "classes",
        ("b", "data"): "data",
        ("b", "classes"): "other",
        ("c", "data"): "data",
        ("c", "classes"): "classes",
    },
}
orders = [
    "default",
    "laplace:3",
    "sort_bin_shuffle:2",
    "sorted_reverse",
    "random:2",
    "random_dataset",
]
datasets = {order: dict(combined, seq_ordering=order) for order in orders}
datasets["parts"] = dict(combined, seq_ordering="random", partition_epoch=3)
datasets["offset"] = dict(combined, seq_ordering="random_dataset", random_seed_offset=3)
datasets["fixed"] = dict(combined, seq_ordering="random_dataset", fixed_random_seed=3)


def make_files(folder):
    """Six, five and two sequences."""
    simple_hdf("a.hdf", [4, 2, 6, 3, 1, 5], dim=2, tag="a-%i")
    simple_hdf("b.hdf", [2, 5, 3, 3, 4], dim=2, seed=30, tag="b-%i", num_classes=7)
    simple_hdf("c.hdf", [7, 8], dim=2, seed=60, tag="c-%i")
