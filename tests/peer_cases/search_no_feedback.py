"""A choice whose scores depend on no previous label: still a proper beam search; fixed length."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "unit": {
            "prob": {
                "class": "softmax",
                "from": "data:source",
                "target": "classes",
                "loss": "ce",
                "loss_only_on_non_search": True,
            },
            "output": {"class": "choice", "target": "classes", "beam_size": 4, "from": "prob", "initial_output": 0},
            "prob2": {"class": "copy", "from": "prob", "is_output_layer": True},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/prob2", "decision"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
search = True
param_scale = 0.8
param_seed = 0
