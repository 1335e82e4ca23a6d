"""New axes: by name and by number, of several sizes, on features, labels, images, frames first, without time."""

extern_data = {
    "data": {"dim": 3},
    "image": {"shape": (None, 2, 3), "available_for_inference": True},
    "labels": {"dim": 5, "sparse": True, "available_for_inference": True},
    "vector": {"shape": (3,), "available_for_inference": True},
    "label": {"shape": (), "dim": 5, "sparse": True, "available_for_inference": True},
}


def new(axis, source="data", **options):
    return {"class": "expand_dims", "axis": axis, "from": source, "is_output_layer": True, **options}


network = {
    "feature": new("F"),
    "feature_2": new("F", dim=2),
    "time": new("T"),
    "time_2": new("time", dim=2),
    "spatial": new("spatial"),
    "first": new(0),
    "second": new(1),
    "third": new(2),
    "last": new(-1),
    "image_feature": new("F", "data:image"),
    "image_spatial": new("spatial", "data:image", dim=3),
    "image_third": new(2, "data:image"),
    "labels_time": new("T", "data:labels"),
    "labels_spatial_2": new("spatial", "data:labels", dim=2),
    "labels_third": new(2, "data:labels"),
    "vector_feature": new("F", "data:vector"),
    "vector_time": new("T", "data:vector"),
    "vector_spatial_4": new("spatial", "data:vector", dim=4),
    "vector_third": new(2, "data:vector"),
    "label_time": new("T", "data:label"),
    "label_second": new(1, "data:label"),
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "frames_first_feature": new("F", "frames_first"),
    "frames_first_time": new("T", "frames_first"),
    "frames_first_third": new(2, "frames_first"),
    "turned": {"class": "swap_axes", "axis1": "T", "axis2": "F", "from": "data"},
    "turned_feature": new("F", "turned"),
    "turned_spatial": new("spatial", "turned"),
    "turned_last": new(3, "turned"),
    "maximum": {"class": "reduce", "mode": "max", "axis": ["T", "F"], "from": "data"},
    "maximum_feature": new("F", "maximum"),
    "maximum_spatial": new("spatial", "maximum"),
    "constant": {"class": "constant", "value": 3.0},
    "constant_feature": new("F", "constant"),
    "constant_time": new("T", "constant"),
    "constants": {"class": "constant", "value": 3.0, "shape": (3,)},
    "constants_time": new("T", "constants"),
    "mapped": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "time"},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["frames_first_third", "mapped"],
        "loss": "as_is",
    },
}
lens = {"data": [4, 2, 3], "image": [3, 1, 2], "labels": [4, 1, 2]}
train = True
