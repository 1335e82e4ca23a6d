"""The layer ``fast_bw`` with staircases: lengths of the source, and of another layer."""

extern_data = {
    "data": {"dim": 5},
    "steps": {"dim": 3, "sparse": True, "available_for_inference": True},
}
network = {
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "log_probs": {"class": "linear", "activation": "log_softmax", "n_out": 7, "from": "data"},
    "log_probs_tm": {"class": "linear", "activation": "log_softmax", "n_out": 7, "from": "time_major"},
    "steps": {"class": "copy", "from": "data:steps"},
    "more_steps": {
        "class": "fast_bw",
        "from": "log_probs",
        "align_target": "staircase",
        "staircase_seq_len_source": "steps",
        "is_output_layer": True,
    },
    "more_steps_tm": {
        "class": "fast_bw",
        "from": "log_probs_tm",
        "align_target": "staircase",
        "staircase_seq_len_source": "steps",
        "am_scale": 2.0,
        "is_output_layer": True,
    },
    "output": {"class": "copy", "from": "log_probs"},
}
lens = {"data": [4, 4, 2], "steps": [6, 3, 2]}
