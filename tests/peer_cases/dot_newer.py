"""Dot from behaviour version 14 on: own axes by themselves, equal only by identity; labels as a row lookup."""

from returnn.tensor import Dim, batch_dim
from returnn.util.basic import BehaviorVersion

BehaviorVersion.set(14)

label_dim = Dim(5, name="labels", kind=Dim.Types.Feature)
embed_dim = Dim(6, name="embed", kind=Dim.Types.Feature)
extern_data = {
    "data": {"dim": 4},
    "query": {"dim": 6, "available_for_inference": True},
    "labels": {
        "dim_tags": [batch_dim, Dim(None, name="label-time")],
        "sparse_dim": label_dim,
        "dtype": "int32",
        "available_for_inference": True,
    },
}
network = {
    "key": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "key_2": {"class": "linear", "activation": None, "n_out": 6, "from": "data"},
    "heads": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "key"},
    "heads_q": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "data:query"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data:query"},
    "table": {"class": "variable", "shape": (label_dim, embed_dim)},
    "auto": {"class": "dot", "reduce": "F", "from": ["key", "data:query"]},
    "auto_shared": {"class": "dot", "red1": "F", "red2": "F", "from": ["key", "key_2"]},
    "auto_heads": {"class": "dot", "reduce": "F", "from": ["heads", "heads_q"]},
    "auto_vector": {"class": "dot", "reduce": "F", "from": ["key", "vector"]},
    "auto_time": {"class": "dot", "reduce": "T", "from": ["key", "data"]},
    "explicit": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": "T", "from": ["heads", "heads_q"]},
    "no_var2": {"class": "dot", "red1": "F", "red2": "F", "var1": "T", "var2": None, "from": ["key", "vector"]},
    "no_batch": {"class": "dot", "red1": "F", "red2": "F", "from": ["key", "table"]},
    "no_batch_2": {"class": "dot", "red1": "F", "red2": "F", "from": ["table", "key"]},
    "rows": {"class": "dot", "reduce": label_dim, "from": ["data:labels", "table"]},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": "auto_time_flat", "loss": "as_is"},
    "auto_time_flat": {"class": "merge_dims", "axes": ["F", "dim:6"], "keep_order": True, "from": "auto_time"},
    "loss_2": {"class": "linear", "activation": None, "n_out": 2, "from": "rows_mean", "loss": "as_is"},
    "rows_mean": {"class": "reduce", "mode": "mean", "axis": "stag:label-time", "from": "rows"},
}
for _name, _layer in network.items():
    if _layer["class"] == "dot":
        _layer["is_output_layer"] = True
lens = {"data": [6, 3, 5], "query": [2, 4, 3], "labels": [4, 2, 3]}
train = True
