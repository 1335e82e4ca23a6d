"""A choice of two sources at once, pruned by source_beam_sizes; both labels are fed back and read from outside."""

extern_data = {
    "data": {"dim": 4},
    "a": {"dim": 4, "sparse": True, "available_for_inference": False},
    "b": {"dim": 3, "sparse": True, "available_for_inference": False},
}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "a",
        "max_seq_len": 4,
        "unit": {
            "embed_a": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "embed_b": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:second"},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["embed_a", "embed_b", "base:mean"]},
            "prob_a": {"class": "softmax", "n_out": 4, "from": "s"},
            "prob_b": {"class": "softmax", "n_out": 3, "from": "s"},
            "c": {
                "class": "choice",
                "from": ["prob_a", "prob_b"],
                "target": ["a", "b"],
                "beam_size": 3,
                "source_beam_sizes": [3, 2],
                "initial_output": 0,
            },
            "output": {"class": "copy", "from": "c/out_0", "initial_output": 0},
            "second": {"class": "copy", "from": "c/out_1", "initial_output": 0, "is_output_layer": True},
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/second", "decision"]
lens = {"data": [5, 2, 4], "a": [3, 2, 2], "b": [3, 2, 2]}
search = True
param_scale = 1.2
param_seed = 40
