"""explicit_search_sources as list, without a custom combination: they only add dependencies."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "output": {
        "class": "rec",
        "from": "encoder",
        "target": "classes",
        "unit": {
            "out_str": {"class": "copy", "from": "output", "initial_output": 0},
            "prob": {"class": "softmax", "from": "data:source", "target": "classes"},
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 4,
                "from": "prob",
                "initial_output": 0,
                "explicit_search_sources": ["prev:out_str", "prev:output"],
            },
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "decision"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
search = True
param_scale = 1.8
param_seed = 30
