"""Lengths of axes, and numbers that count: length, range, range_in_axis, range_from_length."""

from returnn.tf.util.data import SpatialDim

extern_data = {
    "data": {"dim": 3},
    "two_times": {"shape": (None, None, 2), "available_for_inference": True},
    "labels": {"dim": 5, "sparse": True, "available_for_inference": True},
}


def length(source="data", **options):
    return {"class": "length", "from": source, "is_output_layer": True, **options}


def numbers(limit, **options):
    return {"class": "range", "limit": limit, "is_output_layer": True, **options}


def places(axis, source="data", **options):
    return {"class": "range_in_axis", "axis": axis, "from": source, "is_output_layer": True, **options}


def frames(source, **options):
    return {"class": "range_from_length", "from": source, "is_output_layer": True, **options}


network = {
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "batch_and_time": {"class": "merge_dims", "axes": "BT", "from": "data"},
    "pooled": {"class": "pool", "mode": "max", "pool_size": (2,), "padding": "same", "from": "data"},
    "length": length(),
    "length_as_float": length(dtype="float32"),
    "length_as_labels": length(sparse=True),
    "length_with_time": length(add_time_axis=True),
    "length_of_features": length(axis="F"),
    "length_of_features_float": length(axis="F", dtype="float32"),
    "length_of_features_labels": length(axis="static:0", sparse=True),
    "length_of_batch": length(axis="B"),
    "length_of_merged_batch": length("batch_and_time", axis="B"),
    "length_of_second_time": length("data:two_times", axis="dyn:1"),
    "length_of_labels": length("data:labels"),
    "length_of_pooled": length("pooled"),
    "length_frames_first": length("frames_first"),
    "length_frames_first_with_time": length("frames_first", add_time_axis=True),
    "range": numbers(4),
    "range_start": numbers(8, start=2, delta=3),
    "range_down": numbers(0, start=4, delta=-1),
    "range_float": numbers(4, dtype="float32"),
    "range_int64": numbers(4, dtype="int64"),
    "range_labels": numbers(4, sparse=True),
    "range_empty": numbers(0),
    "range_dim": numbers(4, out_spatial_dim=SpatialDim("four", 4)),
    "range_with_source": numbers(2, **{"from": "data"}),
    "place_in_time": places("T"),
    "place_in_time_labels": places("T", sparse=True),
    "place_in_time_float": places("T", dtype="float32"),
    "place_in_time_int64": places("T", dtype="int64"),
    "place_in_features": places("F"),
    "place_in_features_labels": places("F", sparse=True),
    "place_in_batch": places("B"),
    "place_in_batch_labels": places("B", sparse=True),
    "place_in_second_time": places("dyn:1", "data:two_times"),
    "place_frames_first": places("T", "frames_first"),
    "position": {"class": "combine", "kind": "add", "from": ["frames_first", "place_in_time_float"]},
    "frames": frames("length"),
    "frames_int64": frames("length", dtype="int64"),
    "frames_labels": frames("length", sparse=True),
    "frames_float": frames("length", dtype="float32"),
    "frames_dim": frames("length", out_spatial_dim=SpatialDim("frames")),
    "frames_of_pooled": frames("length_of_pooled"),
    "three": {"class": "constant", "value": 3},
    "frames_of_three": frames("three"),
    "with_frames": {"class": "combine", "kind": "add", "from": ["position", "frames_float"]},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": "with_frames", "loss": "as_is"},
}
lens = {"data": [4, 2, 3], "two_times": [[2, 1, 3], [2, 3, 1]], "labels": [1, 2, 2]}
train = True
