"""Sources along a new axis: where it is, what is repeated, which axis is the feature axis then."""

from returnn.tf.util.data import SpatialDim

extern_data = {
    "data": {"dim": 3},
    "image": {"shape": (None, 2, 3), "available_for_inference": True},
    "labels": {"dim": 5, "sparse": True, "available_for_inference": True},
}


def stack(*sources, **options):
    return {"class": "stack", "from": list(sources), "is_output_layer": True, **options}


network = {
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "maximum": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "no_feature": {"class": "reduce", "mode": "max", "axis": "F", "from": "data"},
    "per_sequence": {"class": "reduce", "mode": "max", "axis": ["T", "F"], "from": "data"},
    "constant": {"class": "constant", "value": 3.0},
    "turned": {"class": "swap_axes", "axis1": "T", "axis2": "F", "from": "data"},
    "two": stack("data", "data"),
    "three": stack("data", "frames_first", "data"),
    "one": stack("data"),
    "images": stack("data:image", "data:image"),
    "labels": stack("data:labels", "data:labels"),
    "first": stack("data:image", "data:image", axis=0),
    "second": stack("data:image", "data:image", axis=1),
    "fourth": stack("data:image", "data:image", axis=3),
    "last": stack("data:image", "data:image", axis=4),
    "from_the_end": stack("data:image", "data:image", axis=-2),
    "very_last": stack("data:image", "data:image", axis=-1),
    "given_dim": stack("data", "data", out_spatial_dim=SpatialDim("pair", 2)),
    "repeated": stack("data", "maximum"),
    "repeated_first": stack("maximum", "data"),
    "no_time": stack("maximum", "maximum"),
    "new_feature": stack("no_feature", "no_feature"),
    "only_batch": stack("per_sequence", "per_sequence"),
    "scalars": stack("constant", "constant"),
    "both_frames_first": stack("frames_first", "frames_first"),
    "frames_first_first": stack("frames_first", "data"),
    "frames_first_second": stack("data", "frames_first"),
    "both_turned": stack("turned", "turned"),
    "mapped": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "frames_first_second"},
    "sum": {"class": "reduce", "mode": "sum", "axis": "s:1", "from": "mapped"},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": "sum", "loss": "as_is"},
}
lens = {"data": [4, 2, 3], "image": [2, 1, 3], "labels": [1, 2, 2]}
train = True
