"""Several losses in the loop and behind it: scales, label smoothing, focal loss, as_is; L2 of layers and loop."""

extern_data = {
    "data": {"dim": 3},
    "classes": {"dim": 4, "sparse": True, "available_for_inference": False},
}
network = {
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "L2": 0.01,
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output", "L2": 0.2},
            "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "base:data"},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["embed", "prev:prob", "mean"], "L2": 0.1},
            "prob": {"class": "softmax", "from": "s", "target": "classes", "loss": "ce", "loss_scale": 0.7},
            "smooth": {
                "class": "softmax",
                "from": "s",
                "target": "classes",
                "loss": "ce",
                "loss_opts": {"label_smoothing": 0.2, "focal_loss_factor": 1.5},
            },
            "size": {"class": "eval", "eval": "source(0) ** 2", "from": "s", "loss": "as_is", "loss_scale": 0.1},
            "size_in": {
                "class": "eval",
                "eval": "source(0) ** 2",
                "from": "prev:prob",
                "loss": "as_is",
                "loss_scale": 0.2,
            },
            "in_loop": {"class": "softmax", "from": ["prev:in_loop", "prev:prob"], "target": "classes", "loss": "ce"},
            "moved_in": {
                "class": "softmax",
                "from": "embed",
                "target": "classes",
                "loss": "ce",
                "loss_opts": {"use_flatten_frames": False},
            },
            "output": {"class": "choice", "target": "classes", "beam_size": 2, "from": "prob", "initial_output": 0},
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 3, 4], "classes": [4, 2, 3]}
param_scale = 0.7
train = True
