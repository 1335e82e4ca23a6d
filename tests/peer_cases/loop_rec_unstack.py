"""rec_unstack: outer layers frame by frame, with an explicit axis, with a declared loop axis, by default."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {"data": {"dim": 3, "same_dim_tags_as": {"T": time}}}
network = {
    "enc": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
    "explicit": {
        "class": "rec",
        "from": [],
        "axis": time,
        "unit": {
            "x": {"class": "rec_unstack", "axis": time, "from": "base:enc"},
            "output": {"class": "combine", "kind": "add", "from": ["prev:output", "x"]},
        },
        "is_output_layer": True,
    },
    "declared": {
        "class": "rec",
        "from": [],
        "unit": {
            "x": {"class": "rec_unstack", "axis": time, "declare_rec_time": True, "from": "base:enc"},
            "output": {"class": "combine", "kind": "add", "from": ["prev:output", "x"]},
        },
        "is_output_layer": True,
    },
    "with_source": {
        "class": "rec",
        "from": "data",
        "unit": {
            "x": {"class": "rec_unstack", "from": "base:enc"},
            "output": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 2,
                "from": ["prev:output", "x", "data:source"],
            },
        },
        "is_output_layer": True,
    },
    "output": {"class": "copy", "from": ["explicit", "declared", "with_source"], "loss": "as_is"},
}
lens = {"data": [5, 2, 4]}
train = True
