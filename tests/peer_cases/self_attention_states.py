"""Self-attention with constant initial states: these are no frames."""

extern_data = {"data": {"dim": 4}}
_att = {
    "class": "self_attention",
    "num_heads": 2,
    "total_key_dim": 4,
    "n_out": 6,
    "attention_left_only": True,
    "is_output_layer": True,
}


def loop(optimize, **opts):
    """:return: a loop with a layer of self-attention in it, or moved out of it"""
    unit = {"output": {**_att, "from": "data:source", **opts}}
    return {"class": "rec", "from": "data", "optimize_move_layers_out": optimize, "unit": unit}


network = {
    "zeros": {**_att, "from": "data", "initial_state": "zeros", "restrict_state_to_last_seq": True},
    "ones": {**_att, "from": "data", "initial_state": "ones"},
    "one": {**_att, "from": "zeros", "initial_state": 1, "attention_left_only": False},
    "moved": loop(True, initial_state="zeros", restrict_state_to_last_seq=True),
    "in_loop": loop(False, initial_state=0, restrict_state_to_last_seq=True),
    "in_loop_ones": loop(False, initial_state="ones"),
}
_layers = ["ones", "one", "moved", "in_loop", "in_loop_ones"]
network["output"] = {"class": "linear", "activation": None, "n_out": 2, "from": _layers, "loss": "as_is"}
fetch = ["zeros", *_layers, "output"]
lens = {"data": [6, 3, 5]}
train = True
