"""Constants of all kinds, and what combines with them."""

import numpy

from returnn.tensor import Dim

extern_data = {"data": {"dim": 3}}
network = {
    "zero": {"class": "constant", "is_output_layer": True},
    "half": {"class": "constant", "value": 0.5, "is_output_layer": True},
    "int": {"class": "constant", "value": 3, "is_output_layer": True},
    "flag": {"class": "constant", "value": True, "is_output_layer": True},
    "int_float": {"class": "constant", "value": 3, "dtype": "float32", "is_output_layer": True},
    "array": {"class": "constant", "value": numpy.array([1.0, 2.0, 3.0], dtype="float32"), "is_output_layer": True},
    "ints": {"class": "constant", "value": numpy.array([[1, 2, 3], [4, 5, 6]], dtype="int64"), "is_output_layer": True},
    "shaped": {"class": "constant", "value": 0.25, "shape": (2, 3), "is_output_layer": True},
    "per_seq": {"class": "constant", "value": 1.5, "with_batch_dim": True, "is_output_layer": True},
    "per_seq_shaped": {
        "class": "constant",
        "value": 1.5,
        "shape": (3,),
        "with_batch_dim": True,
        "is_output_layer": True,
    },
    "array_per_seq": {
        "class": "constant",
        "value": numpy.array([1.0, 2.0, 3.0], dtype="float32"),
        "with_batch_dim": True,
        "is_output_layer": True,
    },
    "label": {
        "class": "constant",
        "value": 1,
        "sparse_dim": Dim(5, name="label"),
        "with_batch_dim": True,
        "is_output_layer": True,
    },
    "plus": {"class": "combine", "kind": "add", "from": ["data", "half"], "is_output_layer": True},
    "minus": {"class": "combine", "kind": "sub", "from": ["half", "data"], "is_output_layer": True},
    "times": {"class": "combine", "kind": "mul", "from": ["data", "array"], "is_output_layer": True},
    "with_seq": {"class": "combine", "kind": "mul", "from": ["data", "per_seq"], "is_output_layer": True},
    "eval": {"class": "eval", "eval": "source(0) * source(1)", "from": ["data", "half"], "is_output_layer": True},
    "joined": {"class": "copy", "from": ["data", "per_seq_shaped"], "is_output_layer": True},
    "output": {"class": "linear", "n_out": 2, "activation": None, "from": "plus"},
}
lens = {"data": [4, 2, 3]}
