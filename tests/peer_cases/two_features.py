"""Two feature axes of different size: the output has both."""

extern_data = {"data": {"dim": 4}}
network = {
    "l1": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "output": {"class": "combine", "kind": "add", "from": ["data", "l1"]},
}
lens = {"data": [5, 2, 4]}
