"""Deliberation: a second decoder attends to the decided result of the first one."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}


def decoder(base, seed):
    """:return: decoder with attention to the layer `base`"""
    return {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": 5,
        "include_eos": True,
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "output", "initial_output": 0},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 4, "from": ["base:mean", "prev:embed"]},
            "energy": {
                "class": "dot",
                "red1": -1,
                "red2": -1,
                "var1": "T",
                "var2": "T?",
                "from": ["base:" + base, "s"],
            },
            "weights": {"class": "softmax_over_spatial", "from": "energy"},
            "att": {"class": "generic_attention", "weights": "weights", "base": "base:" + base},
            "prob": {"class": "softmax", "from": ["s", "att"], "target": "classes"},
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    }


network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "first": decoder("encoder", 1),
    "first_best": {"class": "decide", "from": "first", "is_output_layer": True},
    "embed": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "first_best"},
    "output": decoder("embed", 2),
    "decision": {"class": "decide", "from": "output", "loss": "edit_distance", "target": "classes"},
}
fetch = ["first_best", "output", "decision"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
search = True
param_scale = 1.8
param_seed = 22
