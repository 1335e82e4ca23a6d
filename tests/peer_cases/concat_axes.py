"""Sources one behind the other: features, time, static axes, labels; what is repeated; lengths that add up."""

from returnn.tf.util.data import FeatureDim, SpatialDim

joined_features, joined_frames = FeatureDim("joined_features", 5), SpatialDim("joined_frames")
extern_data = {
    "data": {"dim": 3},
    "other": {"dim": 3, "available_for_inference": True},
    "image": {"shape": (None, 2, 3), "available_for_inference": True},
    "four": {"shape": (4, 3), "available_for_inference": True},
    "labels": {"dim": 5, "sparse": True, "available_for_inference": True},
}


def concat(*pairs, **options):
    return {"class": "concat", "from": list(pairs), "is_output_layer": True, **options}


network = {
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "narrow": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
    "maximum": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "kept": {"class": "reduce", "mode": "max", "axis": "T", "keep_dims": True, "from": "data"},
    "features": concat(("data", "F"), ("narrow", "F")),
    "features_list": concat(["narrow", "F"], ["data", "F"]),
    "features_number": concat(("narrow", 2), ("data", 2)),
    "features_dim": concat(("data", "F"), ("narrow", "F"), out_dim=joined_features),
    "one": concat(("data", "F")),
    "repeated": concat(("data", "F"), ("maximum", "F"), allow_broadcast=True),
    "repeated_first": concat(("maximum", "F"), ("narrow", "F"), allow_broadcast=True),
    "twice": concat(("data", "T"), ("data", "T")),
    "frames": concat(("data", "T"), ("data:other", "T")),
    "frames_dim": concat(("data", "T"), ("data:other", "T"), out_dim=joined_frames),
    "frames_three": concat(("data", "T"), ("data:other", "T"), ("data", "T")),
    "frames_static": concat(("data:four", "static:0"), ("data", "T")),
    "frames_static_last": concat(("data", "T"), ("data:four", "static:0")),
    "frames_one": concat(("kept", "s:0"), ("data", "T")),
    "columns": concat(("data:image", "s:1"), ("data:image", "s:1")),
    "image_features": concat(("data:image", "F"), ("data:image", "F")),
    "labels": concat(("data:labels", "T"), ("data:labels", "T")),
    "frames_first_twice": concat(("frames_first", "T"), ("frames_first", "T")),
    "frames_first_features": concat(("frames_first", "F"), ("data", "F")),
    "features_frames_first": concat(("data", "F"), ("frames_first", "F")),
    "mapped": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "features_frames_first"},
    "mapped_frames": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "frames_first_twice"},
    "sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "mapped_frames"},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": ["mapped", "sum"], "loss": "as_is"},
}
lens = {"data": [4, 2, 3], "other": [4, 1, 2], "image": [2, 1, 3], "labels": [1, 2, 2]}
train = True
