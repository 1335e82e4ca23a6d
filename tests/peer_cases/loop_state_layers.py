"""Layers with a state of their own in the loop: cumsum, window; moved out and in the loop."""

extern_data = {"data": {"dim": 3}}


def net(optimize):
    """:return: loop"""
    return {
        "class": "rec",
        "from": "data",
        "optimize_move_layers_out": optimize,
        "unit": {
            "sum": {"class": "cumsum", "axis": "T", "from": "data:source"},
            "x": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["sum", "prev:x"]},
            "sum_x": {"class": "cumsum", "axis": "T", "from": "x"},
            "window": {
                "class": "window",
                "window_size": 3,
                "window_left": 2,
                "window_right": 0,
                "axis": "T",
                "from": "x",
            },
            "flat": {"class": "merge_dims", "axes": "except_time", "from": "window"},
            "output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["sum_x", "sum", "flat"]},
        },
    }


network = {
    "moved": net(True),
    "in_loop": net(False),
    "output": {"class": "copy", "from": ["moved", "in_loop"], "loss": "as_is"},
}
fetch = ["moved", "in_loop"]
lens = {"data": [5, 2, 4]}
train = True
