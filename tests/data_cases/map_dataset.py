"""A map-style dataset of the config, and a list."""

from data_files import floats, ints, lens

from returnn.datasets.map import MapDatasetBase


class Numbers(MapDatasetBase):
    """Ten sequences."""

    def __init__(self):
        super().__init__(
            data_types={"data": {"shape": (None, 2), "dim": 2}, "classes": {"shape": (None,), "dim": 9, "sparse": True}}
        )

    def __len__(self):
        return len(lens)

    def __getitem__(self, i):
        return {"data": floats(i, lens[i], 2), "classes": ints(i, 9, 1 + i % 3)}

    def get_seq_len(self, i):
        """:return: frames of data"""
        return lens[i]

    def get_seq_tag(self, i):
        """:return: name"""
        return "number-%i" % i


class Ordered(Numbers):
    """The same with an order of its own."""

    def get_seq_order(self, epoch):
        """:return: indices"""
        return [epoch, 0, 7]


datasets = {
    "default": {"class": "MapDatasetWrapper", "map_dataset": Numbers()},
    "laplace": {
        "class": "MapDatasetWrapper",
        "map_dataset": Numbers,
        "seq_ordering": "laplace:.5",
        "partition_epoch": 2,
    },
    "own": {"class": "MapDatasetWrapper", "map_dataset": Ordered()},
}
batches = {"batch_size": 16}
