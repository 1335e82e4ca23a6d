"""Layers behind a search: embedding of all hypotheses, a second loop over them, decide, split_batch_beam."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "found": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": 4,
        "include_eos": True,
        "unit": {
            "bias": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "scores0": {"class": "combine", "kind": "add", "from": ["base:mean", "bias"]},
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "from": "scores0",
                "input_type": "logits",
                "initial_output": 0,
            },
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "found", "is_output_layer": True},
    "summed": {"class": "reduce", "mode": "sum", "axis": "T", "from": "embed", "is_output_layer": True},
    "second": {
        "class": "rec",
        "from": "embed",
        "unit": {
            "output": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 3,
                "from": ["data:source", "prev:output", "base:mean"],
            },
        },
        "is_output_layer": True,
    },
    "cell": {
        "class": "rec",
        "unit": "nativelstm2",
        "n_out": 2,
        "from": "embed",
        "direction": -1,
        "is_output_layer": True,
    },
    "best_second": {"class": "decide", "from": "second", "is_output_layer": True},
    "best_sum": {"class": "decide", "from": "summed", "is_output_layer": True},
    "beams": {"class": "split_batch_beam", "from": "summed", "is_output_layer": True},
    "over_beam": {"class": "reduce", "mode": "mean", "axis": "stag:beam", "from": "beams", "is_output_layer": True},
    "output": {"class": "decide", "from": "found"},
    "distance": {"class": "edit_distance", "a": "output", "b": "data:classes", "is_output_layer": True},
}
fetch = [
    "found",
    "embed",
    "summed",
    "second",
    "cell",
    "best_second",
    "best_sum",
    "beams",
    "output",
    "distance",
    "over_beam",
]
lens = {"data": [5, 2, 4], "classes": [4, 2, 3]}
search = True
param_scale = 1.8
param_seed = 48
