"""A choice of type regression next to one of labels; decide of both."""

extern_data = {"data": {"dim": 3}, "goal": {"dim": 2, "available_for_inference": False}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": "goal",
        "unit": {
            "s": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:output"]},
            "guess": {"class": "linear", "activation": None, "n_out": 2, "from": "s"},
            "output": {
                "class": "choice",
                "input_type": "regression",
                "target": "goal",
                "beam_size": 1,
                "from": "guess",
                "initial_output": 0,
            },
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "decision"]
lens = {"data": [5, 2, 4], "goal": [5, 2, 4]}
search = True
