"""keep_beams: hypotheses go on for themselves; decide_keep_beam, split_batch_beam, scores."""

extern_data = {"data": {"dim": 4}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": None,
        "unit": {
            "bias": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "sum": {"class": "combine", "kind": "add", "from": ["data:source", "bias"]},
            "output": {
                "class": "choice",
                "target": None,
                "beam_size": 4,
                "keep_beams": True,
                "from": "sum",
                "input_type": "logits",
                "initial_output": 0,
            },
        },
    },
    "kept": {"class": "decide_keep_beam", "from": "output", "is_output_layer": True},
    "split": {"class": "split_batch_beam", "from": "output", "is_output_layer": True},
    "scores": {"class": "choice_get_beam_scores", "from": "output", "is_output_layer": True},
    "split_scores": {"class": "split_batch_beam", "from": "scores", "is_output_layer": True},
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "kept", "split", "scores", "split_scores", "decision"]
lens = {"data": [5, 2, 4]}
search = True
