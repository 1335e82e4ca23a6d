"""Left-only self-attention: over what the previous frame gives, so in the loop; with the option off and on."""

extern_data = {"data": {"dim": 4}}


def net(optimize):
    """:return: a loop with two layers of self-attention, of which the second needs no previous frame"""
    return {
        "class": "rec",
        "from": "data",
        "optimize_move_layers_out": optimize,
        "unit": {
            "x": {"class": "combine", "kind": "add", "from": ["data:source", "prev:att"]},
            "att": {
                "class": "self_attention",
                "num_heads": 2,
                "total_key_dim": 4,
                "n_out": 4,
                "attention_left_only": True,
                "from": "x",
            },
            "second": {
                "class": "self_attention",
                "num_heads": 1,
                "total_key_dim": 2,
                "n_out": 4,
                "attention_left_only": True,
                "from": "att",
            },
            "output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["second", "x"]},
        },
    }


network = {
    "moved": net(True),
    "in_loop": net(False),
    "output": {"class": "copy", "from": ["moved", "in_loop"], "loss": "as_is"},
}
fetch = ["moved", "in_loop"]
lens = {"data": [5, 2, 4]}
train = True
param_scale = 0.7
