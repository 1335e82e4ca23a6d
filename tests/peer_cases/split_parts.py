"""An axis in parts: equal ones, of given sizes, of given Dims; features, static axes, labels, frames first."""

from returnn.tf.util.data import FeatureDim, SpatialDim

extern_data = {
    "data": {"dim": 6},
    "image": {"shape": (None, 4, 3), "available_for_inference": True},
    "rows": {"shape": (None, 4), "dim": 7, "sparse": True, "available_for_inference": True},
}


def split(source="data", **options):
    return {"class": "split", "from": source, "is_output_layer": True, **options}


network = {
    "halves": split(num_splits=2),
    "sizes": split(size_splits=[1, 2, 3]),
    "dims": split(out_dims=[FeatureDim("a", 2), FeatureDim("b", 4)]),
    "spatial_dims": split(out_dims=[SpatialDim("c", 5), SpatialDim("d", 1)]),
    "rows": split("data:image", num_splits=2, axis="s:1"),
    "image": split("data:image", size_splits=(1, 2), axis="F"),
    "labels": split("data:rows", num_splits=4, axis="s:1"),
    "several": split(["data", "frames_first"], size_splits=[6, 4]),
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "lstm_parts": split("frames_first", num_splits=2),
    "gated": {"class": "combine", "kind": "mul", "from": ["lstm_parts/0", "lstm_parts/1"], "is_output_layer": True},
    "back": {"class": "copy", "from": ["sizes/2", "sizes/1", "sizes/0"], "is_output_layer": True},
    "inside": {
        "class": "subnetwork",
        "from": "frames_first",
        "subnetwork": {
            "two": {"class": "split", "num_splits": 2, "from": "data"},
            "output": {"class": "combine", "kind": "sub", "from": ["two/0", "two/1"]},
        },
    },
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["gated", "back", "halves/1", "inside", "several/1"],
        "loss": "as_is",
    },
}
fetch = [
    *("halves", "halves/0", "halves/1", "gated", "back", "inside", "output"),
    *("sizes/0", "sizes/1", "sizes/2", "dims/0", "dims/1", "spatial_dims/0", "spatial_dims/1"),
    *("rows", "rows/1", "image/1", "labels/0", "labels/3", "lstm_parts", "lstm_parts/1", "several/1"),
]
lens = {"data": [4, 2, 3], "image": [2, 1, 3], "rows": [1, 2, 2]}
train = True
