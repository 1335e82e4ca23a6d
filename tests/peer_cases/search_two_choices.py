"""Two choices a frame with beams of the same size, each depends on the other: factored labels over given frames."""

extern_data = {"data": {"dim": 4}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": None,
        "include_eos": True,
        "unit": {
            "bias": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "scores0": {"class": "combine", "kind": "add", "from": ["data:source", "bias"]},
            "first": {
                "class": "choice",
                "target": None,
                "beam_size": 3,
                "from": "scores0",
                "input_type": "log_prob",
                "length_normalization": False,
                "initial_output": 0,
                "is_output_layer": True,
            },
            "bias1": {"class": "linear", "activation": None, "n_out": 4, "from": "first"},
            "scores1": {"class": "combine", "kind": "add", "from": ["data:source", "bias1"]},
            "output": {
                "class": "choice",
                "target": None,
                "beam_size": 3,
                "from": "scores1",
                "input_type": "log_prob",
                "length_normalization": False,
                "initial_output": 0,
            },
            "sum": {"class": "combine", "kind": "add", "from": ["prev:sum", "bias1", "bias"], "is_output_layer": True},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/first", "output/sum", "decision"]
lens = {"data": [5, 2, 4]}
search = True
param_scale = 1.2
param_seed = 49
