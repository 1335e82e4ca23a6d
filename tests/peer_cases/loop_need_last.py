"""need_last and rec_last_output: the last frame of each sequence, in the loop, moved out and of the output."""

extern_data = {"data": {"dim": 2}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "sum": {"class": "combine", "kind": "add", "from": ["data:source", "prev:sum"], "need_last": True},
            "pre": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data:source", "need_last": True},
            "post": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "sum", "need_last": True},
            "label": {
                "class": "reduce",
                "mode": "argmax",
                "axis": "F",
                "from": "prev:sum",
                "initial_output": 0,
                "need_last": True,
            },
            "output": {"class": "copy", "from": "sum", "need_last": True},
        },
    },
    **{
        "last_" + name: {
            "class": "rec_last_output",
            "rec_layer": "output",
            "sub_layer_name": name,
            "is_output_layer": True,
        }
        for name in ["sum", "pre", "post", "label", "output"]
    },
    "loss": {
        "class": "linear",
        "n_out": 1,
        "activation": None,
        "from": ["last_sum", "last_post", "last_pre"],
        "loss": "as_is",
    },
}
fetch = ["output", "last_sum", "last_pre", "last_post", "last_label", "last_output", "loss"]
lens = {"data": [5, 1, 3]}
train = True
