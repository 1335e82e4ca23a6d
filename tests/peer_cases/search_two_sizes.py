"""As search_two_choices, with beams of different size in a loop of unknown length; the last choice is the output."""

extern_data = {"data": {"dim": 4}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "max_seq_len": "max_len_from('base:data')",
        "target": None,
        "include_eos": True,
        "unit": {
            "bias": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "scores0": {"class": "combine", "kind": "add", "from": ["base:mean", "bias"]},
            "first": {
                "class": "choice",
                "target": None,
                "beam_size": 4,
                "from": "scores0",
                "input_type": "log_prob",
                "length_normalization": False,
                "initial_output": 0,
                "is_output_layer": True,
            },
            "bias1": {"class": "linear", "activation": None, "n_out": 4, "from": "first"},
            "scores1": {"class": "combine", "kind": "add", "from": ["base:mean", "bias1"]},
            "output": {
                "class": "choice",
                "target": None,
                "beam_size": 3,
                "from": "scores1",
                "input_type": "log_prob",
                "length_normalization": False,
                "initial_output": 0,
            },
            "end": {"class": "compare", "value": 0, "from": "output"},
            "sum": {"class": "combine", "kind": "add", "from": ["prev:sum", "bias1", "bias"], "is_output_layer": True},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/first", "output/sum", "decision"]
lens = {"data": [5, 2, 4]}
search = True
param_scale = 0.8
param_seed = 32
