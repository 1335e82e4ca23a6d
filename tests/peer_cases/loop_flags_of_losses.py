"""Losses in the unit with only_on_eval, loss_only_on_non_search, scale 0; dev set."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
soft = {"class": "softmax", "target": "classes", "loss": "ce"}
network = {
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "base:data"},
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["embed", "prev:prob", "mean"]},
            "prob": {**soft, "from": "s", "loss_only_on_non_search": True},
            "no_scale": {**soft, "from": "s", "loss_scale": 0.0},
            "on_eval": {**soft, "from": "s", "only_on_eval": True},
            "in_loop": {**soft, "from": ["s", "prev:in_loop"], "loss_opts": {"label_smoothing": 0.1}},
            "output": {"class": "choice", "target": "classes", "beam_size": 2, "from": "prob", "initial_output": 0},
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 3, 4], "classes": [4, 2, 3]}
param_scale = 0.7
