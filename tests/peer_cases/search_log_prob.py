"""The input types prob, log_prob, logits of a choice without target; fixed length; length normalization."""

extern_data = {"data": {"dim": 4}}


def net(input_type, source, **opts):
    """:return: search over the source"""
    return {
        "class": "rec",
        "from": source,
        "target": None,
        "unit": {
            "bias": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "sum": {"class": "combine", "kind": "add", "from": ["data:source", "bias"]},
            "scores": {"class": "activation", "activation": "softmax", "from": "sum"}
            if input_type == "prob"
            else {"class": "activation", "activation": "log_softmax", "from": "sum"}
            if input_type == "log_prob"
            else {"class": "copy", "from": "sum"},
            "output": {
                "class": "choice",
                "target": None,
                "beam_size": 3,
                "from": "scores",
                "input_type": input_type,
                "initial_output": 0,
                **opts,
            },
        },
        "is_output_layer": True,
    }


network = {
    "prob": net("prob", "data"),
    "log_prob": net("log_prob", "data"),
    "logits": net("logits", "data"),
    "no_norm": net("logits", "data", length_normalization=False),
    "output": {"class": "decide", "from": "prob"},
    "best": {"class": "decide", "from": "no_norm", "is_output_layer": True},
}
fetch = ["prob", "log_prob", "logits", "no_norm", "output", "best"]
lens = {"data": [5, 2, 4]}
search = True
