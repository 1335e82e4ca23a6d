"""Extra nets and subnetworks inside of each other, data keys made in an extra net, targets there, frozen ones."""


def linear(n_out, source="data", **more):
    """:return: layer"""
    return {"class": "linear", "activation": "tanh", "n_out": n_out, "from": source, **more}


extern_data = {
    "data": {"dim": 4},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": False},
}
subnet = {
    "a": linear(2, ["base:x", "data"]),
    "w": {"class": "copy", "from": "data"},
    "extra.q:w": linear(3, "a"),
    "extra.q:z": {"class": "copy", "from": ["a", "w"], "is_output_layer": True, "loss": "as_is", "loss_scale": 0.1},
    "z": {"class": "copy", "from": ["a"], "loss": "as_is"},
    "output": {"class": "copy", "from": ["a", "w"]},
}
network = {
    "x": {"class": "copy", "from": "data"},
    "extra.p:x": linear(4),
    "sub": {"class": "subnetwork", "from": "data", "subnetwork": subnet},
    "part": {"class": "copy", "from": ["sub/a", "extra.p:sub/a"], "is_output_layer": True},
    "whole": {"class": "copy", "from": ["sub"], "is_output_layer": True},
    "extra.search:made": {
        "class": "reduce",
        "mode": "argmax",
        "axis": "F",
        "from": "guess",
        "register_as_extern_data": "guessed",
    },
    "guess": linear(3, "x"),
    "by_key": {"class": "softmax", "from": "x", "loss": "ce", "target": "guessed"},
    "by_layer": {"class": "softmax", "from": "x", "n_out": 3, "loss": "ce", "target": "layer:extra.search:made"},
    "extra:frozen": linear(2, trainable=False, is_output_layer=True),
    "frozen": linear(2, "extra:frozen", is_output_layer=True, name_scope="frozen2"),
    "output": {"class": "softmax", "from": ["part", "whole"], "loss": "ce", "target": "classes"},
}
fetch = [
    "x",
    "sub",
    "sub/a",
    "sub/extra.q:z",
    "part",
    "whole",
    "by_key",
    "by_layer",
    "extra:frozen",
    "frozen",
    "output",
]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
train = True
