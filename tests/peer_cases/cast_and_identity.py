"""Other dtypes, and the same values after others."""

extern_data = {
    "data": {"dim": 3},
    "labels": {"dim": 5, "sparse": True, "available_for_inference": True},
}


def layer(name, source="data", **options):
    return {"class": name, "from": source, "is_output_layer": True, **options}


network = {
    "int32": layer("cast", dtype="int32"),
    "int64": layer("cast", dtype="int64"),
    "bool": layer("cast", dtype="bool"),
    "float16": layer("cast", dtype="float16"),
    "float64": layer("cast", dtype="float64"),
    "complex": layer("cast", dtype="complex64"),
    "same": layer("cast", dtype="float32"),
    "labels_float": layer("cast", "data:labels", dtype="float32"),
    "labels_int64": layer("cast", "data:labels", dtype="int64"),
    "labels_int16": layer("cast", "data:labels", dtype="int16"),
    "labels_bool": layer("cast", "data:labels", dtype="bool"),
    "labels_complex": layer("cast", "data:labels", dtype="complex64"),
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "frames_first_float64": layer("cast", "frames_first", dtype="float64"),
    "frames_first_back": layer("cast", "frames_first_float64", dtype="float32"),
    "identity": layer("identity", "frames_first"),
    "identity_labels": layer("identity", "data:labels"),
    "identity_after": layer("identity", control_dependencies=["int32", "frames_first"]),
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["identity", "frames_first_back", "identity_after"],
        "loss": "as_is",
    },
}
lens = {"data": [4, 2, 3], "labels": [4, 1, 2]}
train = True
