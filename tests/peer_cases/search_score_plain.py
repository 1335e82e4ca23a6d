"""As search_score_loss, with the scores of the best hypotheses as loss (search_score), without length normalization."""

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
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "length_normalization": False,
                "from": "prob",
                "initial_output": 0,
            },
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "min_risk": {
        "class": "copy",
        "from": "output",
        "loss": "search_score",
        "target": "classes",
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4], "classes": [4, 2, 3]}
search = True
train = True
param_scale = 0.8
param_seed = 53
