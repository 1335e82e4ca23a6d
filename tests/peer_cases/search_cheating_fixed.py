"""Cheating over a known length, where size_target gives the length; two choices a frame of which one cheats."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "size_target": "classes",
        "target": "classes",
        "unit": {
            "bias": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "first_scores": {"class": "combine", "kind": "add", "from": ["base:mean", "bias"]},
            "first": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "from": "first_scores",
                "input_type": "logits",
                "initial_output": 0,
                "is_output_layer": True,
            },
            "bias1": {"class": "linear", "activation": None, "n_out": 4, "from": "first"},
            "scores": {"class": "combine", "kind": "add", "from": ["base:mean", "bias1"]},
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "from": "scores",
                "input_type": "logits",
                "initial_output": 0,
                "cheating": "exclusive",
            },
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/first", "decision"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
search = True
param_scale = 1.8
param_seed = 0
