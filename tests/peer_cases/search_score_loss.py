"""Training with a search: expected_loss over the hypotheses and their scores, gradient through the beam scores."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": 4,
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "output", "initial_output": 0},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 4, "from": ["prev:embed", "base:mean"]},
            "prob": {"class": "softmax", "from": "s", "target": "classes"},
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "min_risk": {
        "class": "copy",
        "from": "output",
        "loss": "expected_loss",
        "target": "classes",
        "loss_opts": {"loss": {"class": "edit_distance"}, "loss_kind": "error"},
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4], "classes": [4, 2, 3]}
search = True
train = True
param_scale = 1.8
param_seed = 22
