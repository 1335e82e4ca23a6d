"""A choice of type regression in training: dense targets are fed back; options of the search do nothing."""

extern_data = {"data": {"dim": 3}, "goal": {"dim": 2, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "goal",
        "cheating": True,
        "unit": {
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["prev:output", "base:mean"]},
            "guess": {"class": "linear", "activation": None, "n_out": 2, "from": "s", "loss": "mse", "target": "goal"},
            "output": {
                "class": "choice",
                "input_type": "regression",
                "target": "goal",
                "beam_size": 1,
                "from": "guess",
                "scheduled_sampling": False,
                "cheating": True,
                "explicit_search_sources": ["prev:s"],
                "initial_output": "zeros",
            },
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4], "goal": [3, 1, 4]}
train = True
