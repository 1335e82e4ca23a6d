"""Self-attention made of cum_concat, dot and softmax_over_spatial: in the loop and moved out."""

from returnn.tf.util.data import SpatialDim

extern_data = {"data": {"dim": 4}}


def net(optimize, name):
    """:return: loop"""
    hist = SpatialDim("history " + name)
    return {
        "class": "rec",
        "from": "data",
        "optimize_move_layers_out": optimize,
        "unit": {
            "qkv0": {"class": "linear", "activation": None, "with_bias": False, "n_out": 12, "from": "data:source"},
            "qkv": {"class": "split_dims", "axis": "F", "dims": (2, 6), "from": "qkv0"},
            "parts": {"class": "split", "axis": "F", "size_splits": (2, 2, 2), "from": "qkv"},
            "q": {"class": "copy", "from": "parts/0"},
            "k": {"class": "copy", "from": "parts/1"},
            "v": {"class": "copy", "from": "parts/2"},
            "k_all": {"class": "cum_concat", "out_spatial_dim": hist, "from": "k"},
            "v_all": {"class": "cum_concat", "out_spatial_dim": hist, "from": "v"},
            "energy": {
                "class": "dot",
                "from": ["q", "k_all"],
                "red1": "static:-1",
                "red2": "static:-1",
                "var1": None,
                "var2": hist,
            },
            "weights": {"class": "softmax_over_spatial", "from": "energy", "axis": hist, "energy_factor": 2**-0.5},
            "att": {
                "class": "dot",
                "from": ["weights", "v_all"],
                "red1": hist,
                "red2": hist,
                "var1": None,
                "var2": "static:-1",
            },
            "att_": {"class": "merge_dims", "axes": "static", "from": "att"},
            "output": {"class": "linear", "activation": None, "n_out": 3, "from": "att_"},
        },
    }


network = {
    "moved": net(True, "moved"),
    "in_loop": net(False, "in loop"),
    "output": {"class": "copy", "from": ["moved", "in_loop"], "loss": "as_is"},
}
fetch = ["moved", "in_loop"]
lens = {"data": [5, 2, 4]}
train = True
param_scale = 0.7
