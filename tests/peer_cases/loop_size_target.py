"""Loops whose axis comes from size_target; with sources of the same length, without sources."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 3, "same_dim_tags_as": {"T": time}},
    "align": {"dim": 4, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
    "classes": {"dim": 5, "sparse": True, "available_for_inference": False},
}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "source": {
        "class": "rec",
        "from": "data",
        "target": "align",
        "size_target": "align",
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 2, "from": "prev:output"},
            "s": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:s", "embed"]},
            "prob": {"class": "softmax", "from": "s", "target": "align", "loss": "ce"},
            "output": {"class": "choice", "target": "align", "beam_size": 2, "from": "prob", "initial_output": 0},
        },
    },
    "other": {
        "class": "rec",
        "is_output_layer": True,
        "from": [],
        "size_target": "classes",
        "max_seq_len": 2,
        "unit": {
            "s": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["base:mean", "prev:s"]},
            "end": {"class": "compare", "kind": "greater", "value": 0, "from": ":i"},
            "output": {"class": "softmax", "from": "s", "target": "classes", "loss": "ce"},
        },
    },
}
network["output"] = network.pop("source")
fetch = ["output", "other"]
lens = {"data": [6, 3, 4], "align": [6, 3, 4], "classes": [4, 2, 3]}
train = True
