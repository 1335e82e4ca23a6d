"""Zeros for streams that are not there."""

from data_files import simple_hdf

dataset = {
    "class": "MetaDataset",
    "datasets": {
        "a": {"class": "HDFDataset", "files": ["a.hdf"], "seq_ordering": "random"},
        "zeros": {
            "class": "AnythingDataset",
            "data_keys": {
                "labels": {
                    "dim": 5,
                    "sparse": True,
                    "shape": (None,),
                    "dtype": "int32",
                },
                "dense": {"dim": 3, "shape": (None, 3), "dtype": "float32"},
                "vector": {"dim": 4, "shape": (4,), "dtype": "int16"},
            },
        },
    },
    "data_map": {
        "data": ("a", "data"),
        "labels": ("zeros", "labels"),
        "dense": ("zeros", "dense"),
        "vector": ("zeros", "vector"),
    },
    "seq_order_control_dataset": "a",
}
ignore = [
    "info.shape.dense",
    "info.shape.labels",
]  # with time, unlike for all other datasets


def make_files(folder):
    """Four sequences."""
    simple_hdf("a.hdf", [4, 2, 6, 3], dim=2)
