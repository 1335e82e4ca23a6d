"""Axes dropped and ordered anew: squeeze, swap_axes, transpose; time and feature axis follow or stay."""

extern_data = {
    "data": {"dim": 3},
    "image": {"shape": (None, 2, 3), "available_for_inference": True},
    "thin": {"shape": (None, 1, 3, 1), "available_for_inference": True},
    "labels": {"dim": 5, "sparse": True, "available_for_inference": True},
    "one_frame": {"shape": (1, 3), "time_dim_axis": 1, "available_for_inference": True},
    "late_time": {"shape": (1, None, 3), "time_dim_axis": 1, "available_for_inference": True},
}


def layer(name, source="data:image", **options):
    return {"class": name, "from": source, "is_output_layer": True, **options}


network = {
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "one": {"class": "linear", "activation": None, "n_out": 1, "from": "data:image"},
    "squeeze_feature": layer("squeeze", "one", axis="F"),
    "squeeze_auto": layer("squeeze", "data:thin", axis="auto"),
    "squeeze_static": layer("squeeze", "data:thin", axis="static:0"),
    "squeeze_two": layer("squeeze", "data:thin", axis=["s:1", "F"]),
    "squeeze_number": layer("squeeze", "data:thin", axis=2),
    "squeeze_number_batch_second": layer("squeeze", "data:thin", axis=2, enforce_batch_dim_axis=1),
    "squeeze_batch_last": layer("squeeze", "data:thin", axis="static:0", enforce_batch_dim_axis=3),
    "squeeze_nothing": layer("squeeze", axis="auto"),
    "squeeze_none_allowed": layer("squeeze", axis=None, allow_no_op=True),
    "squeeze_labels": layer("squeeze", "data:labels", axis="F"),
    "squeeze_time": layer("squeeze", "data:one_frame", axis="T"),
    "squeeze_first_time": layer("squeeze", "data:late_time", axis="T"),
    "wide": {"class": "expand_dims", "axis": "spatial", "from": "frames_first"},
    "squeeze_frames_first": layer("squeeze", "wide", axis=2),
    "swap_time_feature": layer("swap_axes", axis1="T", axis2="F"),
    "swap_static": layer("swap_axes", axis1="static:0", axis2="static:1"),
    "swap_spatial_feature": layer("swap_axes", axis1="s:1", axis2="f"),
    "swap_dynamic_static": layer("swap_axes", axis1="s:0", axis2="s:1"),
    "swap_batch_time": layer("swap_axes", axis1="B", axis2="T"),
    "swap_batch_feature": layer("swap_axes", axis1="F", axis2="B"),
    "swap_numbers": layer("swap_axes", axis1=1, axis2=2),
    "swap_labels": layer("swap_axes", "data:labels", axis1="T", axis2="B"),
    "swap_frames_first": layer("swap_axes", "frames_first", axis1="T", axis2="B"),
    "swap_frames_first_features": layer("swap_axes", "frames_first", axis1="T", axis2="F"),
    "swap_again": layer("swap_axes", "swap_static", axis1="static:0", axis2="static:1"),
    "heads": {"class": "split_dims", "axis": "F", "dims": (3, 1), "from": "data"},
    "swap_heads": layer("swap_axes", "heads", axis1="static:0", axis2="static:1"),
    "swap_heads_time": layer("swap_axes", "heads", axis1="T", axis2="static:0"),
    "transpose_two": layer("transpose", perm={"T": "s:1", "s:1": "T"}),
    "transpose_feature": layer("transpose", perm={"T": "F", "F": "T"}),
    "transpose_one": layer("transpose", perm={"T": "F"}),
    "transpose_batch": layer("transpose", perm={"B": "T", "T": "B"}),
    "transpose_all": layer("transpose", perm=["F", "T", "B", "s:1"]),
    "transpose_none": layer("transpose", perm={}),
    "transpose_static": layer("transpose", perm={"F": "s:1", "s:1": "F"}),
    "transpose_frames_first": layer("transpose", "frames_first", perm=["B", "T", "F"]),
    "mapped": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "transpose_frames_first"},
    "mapped_image": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "swap_spatial_feature"},
    "mapped_turned": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "transpose_static"},
    "flat": {"class": "merge_dims", "axes": "static", "from": "mapped_image"},
    "maximum": {"class": "reduce", "mode": "max", "axis": "T", "from": "flat"},
    "turned_maximum": {"class": "reduce", "mode": "sum", "axis": ["T", "static:1"], "from": "mapped_turned"},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["mapped", "maximum", "turned_maximum"],
        "loss": "as_is",
    },
}
lens = {"data": [4, 2, 3], "image": [3, 1, 2], "thin": [2, 3, 1], "labels": [4, 1, 2], "late_time": [2, 1, 2]}
train = True
