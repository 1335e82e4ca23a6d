"""Flat images of several sizes as images."""

extern_data = {
    "data": {"dim": 2},
    "sizes": {"shape": (2,), "dtype": "int32", "available_for_inference": True},
    "square": {"shape": (4, 2), "time_dim_axis": 1, "available_for_inference": True},
    "square_sizes": {"shape": (2,), "dtype": "int32", "available_for_inference": True},
    "labels": {"dim": 5, "sparse": True, "available_for_inference": True},
    "channels": {"shape": (None, 3, 2), "available_for_inference": True},
}


def images(source="data", **options):
    options = {"sizes": "data:sizes", "num_axes": 2, **options}
    return {"class": "unflatten_nd", "from": source, "is_output_layer": True, **options}


network = {
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "images": images(),
    "of_square": images("data:square", sizes="data:square_sizes"),
    "of_labels": images("data:labels"),
    "of_channels": images("data:channels"),
    "of_frames_first": images("frames_first"),
    "same_height": images(declare_same_sizes_as={0: "images"}),
    "length": {"class": "length", "from": "data"},
    "one_size": {"class": "expand_dims", "axis": "F", "from": "length"},
    "one_axis": images(sizes="one_size", num_axes=1),
    "columns": {"class": "reduce", "mode": "sum", "axis": "T", "from": "images", "is_output_layer": True},
    "mapped": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "of_frames_first"},
    "pooled": {
        "class": "reduce",
        "mode": "mean",
        "axis": ["dyn:0", "dyn:1"],
        "from": "mapped",
        "is_output_layer": True,
    },
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": "pooled", "loss": "as_is"},
}
lens = {"data": [6, 4, 3], "labels": [6, 4, 3], "channels": [6, 4, 3]}
values = {"sizes": [[2, 3], [4, 1], [1, 3]], "square_sizes": [[2, 2], [4, 1], [2, 2]]}
train = True
