"""Switch whose condition is a function: only one branch is there."""


def first(network, get_layer, true_from, **kwargs):
    return isinstance(true_from, str) and get_layer("vector") is not None


def second(**kwargs):
    return False


extern_data = {"data": {"dim": 4}}
network = {
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "first": {"class": "switch", "condition": first, "true_from": "vector", "false_from": "no such layer"},
    "second": {"class": "switch", "condition": second, "true_from": "no such layer", "false_from": "time_major"},
    "output": {"class": "combine", "kind": "add", "from": ["first", "second"]},
    "number": {
        "class": "switch",
        "condition": second,
        "true_from": "vector",
        "false_from": 2.5,
        "is_output_layer": True,
    },
}
lens = {"data": [5, 2, 4]}
