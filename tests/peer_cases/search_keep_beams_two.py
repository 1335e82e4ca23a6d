"""Two choices a frame of which the second keeps the beams of the first: labels, then their factors."""

extern_data = {"data": {"dim": 4}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": None,
        "unit": {
            "bias": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "sum": {"class": "combine", "kind": "add", "from": ["data:source", "bias"]},
            "label": {
                "class": "choice",
                "target": None,
                "beam_size": 3,
                "from": "sum",
                "input_type": "logits",
                "initial_output": 0,
                "is_output_layer": True,
            },
            "factor_scores": {
                "class": "linear",
                "activation": None,
                "n_out": 3,
                "from": ["label_embed", "data:source"],
            },
            "label_embed": {"class": "linear", "activation": None, "n_out": 3, "from": "label"},
            "output": {
                "class": "choice",
                "target": None,
                "beam_size": 3,
                "keep_beams": True,
                "from": "factor_scores",
                "input_type": "logits",
                "initial_output": 0,
            },
            "old": {"class": "copy", "from": "label_embed", "is_output_layer": True},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/label", "output/old", "decision"]
lens = {"data": [5, 2, 4]}
search = True
