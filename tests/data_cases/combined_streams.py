"""Sequences of three datasets by turns, with chance."""

from data_files import simple_hdf

combined = {
    "class": "CombinedDataset",
    "datasets": {name: {"class": "HDFDataset", "files": [name + ".hdf"]} for name in ["en", "de", "fr"]},
    "data_map": {
        ("en", "data"): "data",
        ("en", "classes"): "classes",
        ("de", "data"): "data",
        ("fr", "data"): "data",
    },
    "seq_ordering": "interleave",
}
datasets = {
    "chance": dict(combined, interleave_gumbel_scale=1.0),
    "remaining": dict(combined, interleave_gumbel_scale="remaining"),
    "offset": dict(combined, interleave_gumbel_scale=0.5, random_seed_offset=7),
}
epochs = [1, 2, 3, 4, 5, 6]


def make_files(folder):
    """Nine, five and two sequences."""
    simple_hdf("en.hdf", [4, 2, 6, 3, 1, 5, 2, 2, 3], dim=2, tag="en-%i")
    simple_hdf("de.hdf", [2, 5, 3, 1, 1], dim=2, seed=30, tag="de-%i")
    simple_hdf("fr.hdf", [2, 1], dim=2, seed=60, tag="fr-%i")
