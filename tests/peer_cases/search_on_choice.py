"""A choice that searches in a network that does not: option search of the choice; dev set."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "unit": {
            "bias": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "scores0": {"class": "combine", "kind": "add", "from": ["data:source", "bias"]},
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "search": True,
                "from": "scores0",
                "input_type": "logits",
                "initial_output": 0,
            },
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "decision"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
