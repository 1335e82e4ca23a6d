"""rec layers of one step: without a loop, and of a cell in a loop with an unrelated time axis."""

from returnn.tf.util.data import single_step_dim

extern_data = {"data": {"dim": 3}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "once": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "from": "mean", "is_output_layer": True},
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "each_in": {"class": "combine", "kind": "add", "from": ["base:data", "prev:s"]},
            "cells": {"class": "rec", "unit": "gru", "n_out": 3, "axis": single_step_dim, "from": "each_in"},
            "sum": {"class": "reduce", "mode": "mean", "axis": "T", "from": "cells"},
            "s": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["sum", "data:source"]},
            "output": {"class": "copy", "from": "s", "loss": "as_is"},
        },
    },
}
fetch = ["output", "once"]
lens = {"data": [4, 2, 3]}
train = True
