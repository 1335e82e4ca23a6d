"""Axes of another shape by their Dims, repeated, merged in a given order and into a given Dim, filled up."""

from returnn.tf.util.data import Dim, FeatureDim, SpatialDim, batch_dim

time, rows, columns, features = SpatialDim("time"), SpatialDim("rows", 2), SpatialDim("columns", 4), FeatureDim("f", 3)
six, merged, chunks = FeatureDim("six", 6), SpatialDim("merged", 24), SpatialDim("chunks")
extern_data = {
    "data": {"dim_tags": [batch_dim, time, rows, columns, features]},
    "flat": {"dim_tags": [batch_dim, time, six], "available_for_inference": True},
    "labels": {"shape": (None, 3), "dim": 5, "sparse": True, "available_for_inference": True},
}


def reshape(in_dims, out_dims, source="data", **options):
    options = {"in_dims": in_dims, "out_dims": out_dims, "from": source, "is_output_layer": True, **options}
    return {"class": "reshape", **options}


def layer(name, source="data", **options):
    return {"class": name, "from": source, "is_output_layer": True, **options}


network = {
    "split": reshape([six], [rows, features], "data:flat"),
    "split_other": reshape([six], [features, rows], "data:flat"),
    "merge": reshape([rows, features], [six]),
    "merge_other_order": reshape([features, rows], [six]),
    "exchange": reshape([rows, columns], [columns, rows]),
    "exchange_far": reshape([rows, features], [features, rows]),
    "with_time": reshape([time, rows], [time * rows]),
    "by_description": reshape(["stag:rows", "F"], [six]),
    "with_dependency": reshape([rows, features], [six], extra_deps=["split"]),
    "tile": layer("tile", multiples={"F": 3}),
    "tile_two": layer("tile", multiples={"stag:rows": 2, "F": 2}),
    "tile_dim": layer("tile", "data:flat", multiples={"F": 2}, out_dims={"F": FeatureDim("twelve", 12)}),
    "tile_once": layer("tile", multiples={"F": 1}),
    "tile_labels": layer("tile", "data:labels", multiples={"static:0": 2}),
    "combine": layer("combine_dims", axes=["stag:rows", "stag:columns"]),
    "combine_turned": layer("combine_dims", axes=["F", "stag:rows"]),
    "combine_batch": layer("combine_dims", "data:flat", axes=["B", "T"]),
    "combine_time_batch": layer("combine_dims", "data:flat", axes=["T", "B"]),
    "combine_n_out": layer("combine_dims", axes=["stag:rows", "F"], n_out=6),
    "merge_into": layer("merge_dims", axes="static", out_dim=merged),
    "merge_time_into": layer("merge_dims", axes=["T", "stag:rows"], out_dim=SpatialDim("long")),
    "split_into": layer("split_dims", axis="F", dims=(features, SpatialDim("one", 1))),
    "split_time_into": layer("split_dims", "data:flat", axis="T", dims=(chunks, Dim(2, name="two"))),
    "split_time_thrice": layer("split_dims", "data:flat", axis="T", dims=(-1, 2, 2), pad_value=2.0),
    "split_time_inner": layer("split_dims", "data:flat", axis="T", dims=(2, -1)),
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data:flat"},
    "tile_frames_first": layer("tile", "frames_first", multiples={"F": 2}),
    "combine_frames_first": layer("combine_dims", "frames_first", axes=["B", "T"]),
    "split_frames_first": reshape(["F"], [SpatialDim("outer", 2), FeatureDim("inner", 2)], "frames_first"),
    "mapped": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "split_frames_first"},
    "back": {"class": "merge_dims", "axes": "static", "from": "mapped"},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["back", "tile_frames_first"],
        "loss": "as_is",
    },
}
lens = {"data": [4, 2, 3], "flat": [4, 2, 3], "labels": [1, 2, 2]}
train = True
