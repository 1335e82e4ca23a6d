"""A choice with search off in a searching network: the target, whose score is added; a second one searches."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "size_target": "classes",
        "target": "classes",
        "unit": {
            "bias": {
                "class": "linear",
                "activation": None,
                "n_out": 4,
                "from": ["prev:forced_embed", "prev:output_embed"],
            },
            "output_embed": {"class": "linear", "activation": None, "n_out": 3, "from": "output"},
            "scores0": {"class": "combine", "kind": "add", "from": ["base:mean", "bias"]},
            "forced": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "search": False,
                "from": "scores0",
                "input_type": "logits",
                "length_normalization": False,
                "initial_output": 0,
                "is_output_layer": True,
            },
            "bias1": {"class": "linear", "activation": None, "n_out": 4, "from": ["forced_embed", "prev_embed"]},
            "prev_embed": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "forced_embed": {"class": "linear", "activation": None, "n_out": 4, "from": "forced"},
            "scores1": {"class": "combine", "kind": "add", "from": ["base:mean", "bias1"]},
            "output": {
                "class": "choice",
                "target": None,
                "beam_size": 3,
                "from": "scores1",
                "input_type": "logits",
                "length_normalization": False,
                "initial_output": 0,
            },
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/forced", "decision"]
lens = {"data": [5, 5, 5], "classes": [3, 3, 3]}
search = True
param_scale = 0.8
param_seed = 26
