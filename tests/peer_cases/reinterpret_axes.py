"""Axes with another meaning: which is time, which is feature, in which order, of which lengths, of which Dim."""

from returnn.tf.util.data import FeatureDim, SpatialDim

frames, column, row = SpatialDim("frames"), FeatureDim("column", 2), SpatialDim("row", 3)
extern_data = {
    "data": {"shape": (None, 2, 3)},
    "other": {"shape": (None, 4), "available_for_inference": True},
    "two_times": {"shape": (None, None, 2), "available_for_inference": True},
    "two_more": {"shape": (None, None, 1), "available_for_inference": True},
    "vector": {"shape": (2, 3), "available_for_inference": True},
}


def layer(source="data", **options):
    return {"class": "reinterpret_data", "from": source, "is_output_layer": True, **options}


network = {
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data:other"},
    "same": layer(),
    "several": layer(["data", "data"]),
    "batch_first": layer("frames_first", enforce_batch_major=True),
    "time_first": layer(enforce_time_major=True),
    "time_first_already": layer("frames_first", enforce_time_major=True),
    "switched": layer(switch_axes="tf"),
    "switched_list": layer(switch_axes=["t", "f"], enforce_time_major=True),
    "feature_is_static": layer(set_axes={"F": "static:0"}),
    "feature_is_time": layer(set_axes={"F": "T"}),
    "no_feature": layer(set_axes={"F": None}),
    "time_is_static": layer(set_axes={"T": "s:1"}),
    "time_is_feature": layer(set_axes={"T": "F"}),
    "no_time": layer(set_axes={"T": None}),
    "both": layer(set_axes={"T": "static:1", "F": "static:0"}),
    "one_after_the_other": layer(set_axes={"F": "s:1", "T": "F"}),
    "as_it_is": layer(set_axes={"B": "B", "f": "F", "T": "T"}),
    "set_and_switched": layer(set_axes={"F": "s:1"}, switch_axes="tf"),
    "number": layer(set_axes={"T": 2}, enforce_batch_major=True),
    "number_time_first": layer(set_axes={"F": 2}, enforce_time_major=True),
    "no_time_in_vector": layer("data:vector", set_axes={"T": "static:0"}),
    "lengths_of_other": layer(size_base="data:other"),
    "lengths_of_layer": layer(size_base="frames_first", enforce_time_major=True),
    "two_lengths": layer("data:two_times", size_base="data:two_more"),
    "no_lengths": layer("data:vector", size_base="data:other"),
    "new_time": layer(set_dim_tags={"T": frames}),
    "new_static": layer(set_dim_tags={"s:1": column, "F": row}),
    "batch_and_time": {"class": "merge_dims", "axes": "BT", "from": "data"},
    "batch_of_other": layer("batch_and_time", batch_dim_base="data"),
    "mapped": {
        "class": "linear",
        "activation": "tanh",
        "n_out": 4,
        "from": "feature_is_static",
        "is_output_layer": True,
    },
    "mapped_time": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "time_is_feature"},
    "added": {"class": "combine", "kind": "add", "from": ["frames_first", "other_lengths"], "is_output_layer": True},
    "narrow": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "two_lengths"},
    "narrow_sum": {"class": "reduce", "mode": "sum", "axis": "dyn:1", "from": "narrow"},
    "other_lengths": layer("narrow_sum", size_base="frames_first"),
    "maximum": {"class": "reduce", "mode": "sum", "axis": ["T", "dyn:0"], "from": "mapped_time"},
    "new_maximum": {"class": "reduce", "mode": "max", "axis": "T", "from": "new_time", "is_output_layer": True},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": ["added", "maximum"], "loss": "as_is"},
}
lens = {
    "data": [4, 2, 3],
    "other": [4, 2, 3],
    "two_times": [[4, 2, 3], [2, 1, 3]],
    "two_more": [[4, 2, 3], [2, 1, 3]],
}
train = True
