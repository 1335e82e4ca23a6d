"""Inputs of loops in other layouts: time-major source, further axes in the source."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("time")
extern_data = {"data": {"shape": (None, 3, 2), "dim": 2, "same_dim_tags_as": {"T": time}}}
unit = {
    "a": {"class": "linear", "activation": "tanh", "n_out": 2, "from": ["data:source", "prev:a"]},
    "output": {"class": "combine", "kind": "add", "from": ["a", "prev:output"]},
}
network = {
    "sum": {"class": "reduce", "mode": "sum", "axis": "static:0", "from": "data"},
    "first": {"class": "rec", "from": "sum", "unit": unit},
    "time_major": {"class": "rec", "from": "first", "unit": unit},
    "with_axis": {"class": "rec", "from": "data", "unit": unit},
    "output": {"class": "copy", "from": ["first", "time_major"], "loss": "as_is"},
    "output2": {"class": "copy", "from": "with_axis", "loss": "as_is"},
}
fetch = ["first", "time_major", "with_axis"]
lens = {"data": [5, 2, 4]}
train = True
param_scale = 0.7
