"""Shared parameters: outputs of layers, recurrent layers, inner nets."""

import numpy


def linear(n_out, source="data", **more):
    """:return: layer that is built in any case"""
    opts = {"class": "linear", "activation": None, "n_out": n_out, "from": source, "is_output_layer": True}
    return {**opts, **more}


extern_data = {"data": {"dim": 4}}
network = {
    "a_first": linear(4),
    "z_late": linear(4, "a_first", reuse_params="a_first"),
    "map_strings": linear(4, reuse_params={"map": {"W": "b_own", "b": "a_first"}}),
    "b_own": linear(4, L2=0.1),
    "mixed": linear(4, reuse_params={"reuse_layer": "b_own", "auto_create_missing": True, "map": {"W": None}}),
    "const": {"class": "constant", "value": numpy.arange(16, dtype="float32").reshape((4, 4)) * 0.1},
    "by_output": linear(4, reuse_params={"map": {"W": {"layer_output": "const"}, "b": {"reuse_layer": "b_own"}}}),
    "frozen": linear(4, trainable=False),
    "of_frozen": linear(4, reuse_params="frozen"),
    "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "data"},
    "lstm2": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "b_own", "reuse_params": "lstm"},
    "sub": {
        "class": "subnetwork",
        "from": "lstm",
        "subnetwork": {
            "ff": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
            "same": linear(4, "ff", reuse_params="base:b_own"),
            "inner": {
                "class": "subnetwork",
                "from": "base:lstm2",
                "subnetwork": {"output": linear(4, reuse_params="base:ff")},
            },
            "output": {"class": "combine", "kind": "add", "from": ["same", "inner"]},
        },
    },
    "scoped": linear(4, name_scope="b_own"),
    "output": {
        "class": "copy",
        "from": [
            "z_late",
            "map_strings",
            "mixed",
            "by_output",
            "of_frozen",
            "sub",
            "scoped",
        ],
        "loss": "as_is",
    },
}
fetch = [
    *("a_first", "z_late", "map_strings", "mixed", "by_output", "of_frozen", "lstm2", "sub"),
    *("scoped", "output"),
]
lens = {"data": [5, 2, 4]}
train = True
