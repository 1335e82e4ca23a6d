"""Frames of the encoder picked within the loop: by the step index, by a position that moves on, a window around it."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "at_step": {"class": "gather", "from": "base:encoder", "position": ":i", "axis": "T"},
            "best": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "prev:s"},
            "best_int": {"class": "reinterpret_data", "set_sparse": False, "from": "best"},
            "at_best": {"class": "gather", "from": "base:encoder", "position": "best_int", "axis": "T"},
            "window": {"class": "slice_nd", "from": "base:encoder", "start": "best_int", "size": 2},
            "window_sum": {"class": "reduce", "mode": "mean", "axis": "stag:sliced-time", "from": "window"},
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 2,
                "from": ["at_step", "at_best", "window_sum", "embed"],
            },
            "prob": {"class": "softmax", "from": "s", "target": "classes", "loss": "ce"},
            "output": {"class": "choice", "target": "classes", "beam_size": 2, "from": "prob", "initial_output": 0},
        },
    },
}
fetch = ["output"]
lens = {"data": [6, 4, 5], "classes": [4, 2, 3]}
train = True
