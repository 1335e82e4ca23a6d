"""A choice that searches inside of a training network; the decided result is an input of the rest."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "found": {
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
    "decision": {"class": "decide", "from": "found"},
    "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "decision"},
    "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "embed", "loss": "as_is"},
}
fetch = ["found", "decision", "output"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
train = True
