"""As search_dynamic, without length normalization."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": "max_len_from('base:data')",
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "output", "initial_output": 0},
            "s": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 4, "from": ["prev:embed", "base:mean"]},
            "prob": {
                "class": "softmax",
                "from": "s",
                "target": "classes",
                "loss": "ce",
                "loss_only_on_non_search": True,
            },
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "length_normalization": False,
                "from": "prob",
                "initial_output": 0,
            },
            "end": {"class": "compare", "value": 0, "from": "output"},
            "scores": {"class": "choice_get_beam_scores", "from": "output", "is_output_layer": True},
            "beams": {"class": "choice_get_src_beams", "from": "output", "is_output_layer": True},
        },
    },
    "decision": {
        "class": "decide",
        "from": "output",
        "loss": "edit_distance",
        "target": "classes",
        "only_on_search": True,
    },
    "length": {"class": "length", "from": "decision", "is_output_layer": True},
}
fetch = ["output", "output/scores", "output/beams", "decision", "length"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
search = True
param_scale = 1.8
param_seed = 18
