"""Self-attention made of cum_concat over what the previous frame gives: cannot leave the loop."""

from returnn.tf.util.data import SpatialDim

extern_data = {"data": {"dim": 3}}
hist = SpatialDim("history")
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "x": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:att"]},
            "all": {"class": "cum_concat", "out_spatial_dim": hist, "from": "x"},
            "energy": {"class": "dot", "from": ["x", "all"], "red1": "F", "red2": "F", "var1": None, "var2": hist},
            "weights": {"class": "softmax_over_spatial", "from": "energy", "axis": hist},
            "att": {
                "class": "dot",
                "from": ["weights", "all"],
                "red1": hist,
                "red2": hist,
                "var1": None,
                "var2": "F",
                "initial_output": "base:mean",
            },
            "output": {"class": "linear", "activation": None, "n_out": 2, "from": ["att", "prev:x"], "loss": "as_is"},
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4]}
train = True
param_scale = 0.7
