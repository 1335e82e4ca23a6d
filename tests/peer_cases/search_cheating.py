"""Cheating: the target stands in the last slot of the beam, as it is or exclusively; both in one network."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}


def net(cheating, **opts):
    """:return: decoder"""
    return {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": "max_len_from('base:data')",
        **opts,
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "output", "initial_output": 0},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 4, "from": ["prev:embed", "base:mean"]},
            "prob": {"class": "softmax", "from": "s", "target": "classes"},
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 3,
                "from": "prob",
                "initial_output": 0,
                "cheating": cheating,
            },
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
        "is_output_layer": True,
    }


network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "cheat": net(True),
    "exclusive": net("exclusive"),
    "eos": net("exclusive", include_eos=True),
    "output": {"class": "decide", "from": "cheat", "loss": "edit_distance", "target": "classes"},
}
fetch = ["cheat", "exclusive", "eos", "output"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
values = {"classes": [[1, 3, 2, 0], [4, 0, 0, 0], [2, 2, 0, 0]]}
search = True
param_scale = 1.5
