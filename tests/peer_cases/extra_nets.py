"""Extra nets: shared parameters, losses of equal and of unique names, constraints of both, dependencies by prefix."""


def linear(n_out, **more):
    """:return: layer"""
    return {"class": "linear", "activation": "tanh", "n_out": n_out, "from": "data", **more}


def softmax(source, **more):
    """:return: layer with a loss"""
    return {"class": "softmax", "from": source, "loss": "ce", "target": "classes", **more}


extern_data = {
    "data": {"dim": 4},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": False},
}
network = {
    "enc": linear(5, L2=0.1),
    "enc2": linear(5, **{"from": "enc"}),
    "output": softmax("enc2", L2=0.01),
    "extra:output": softmax("enc", L2=0.02, loss_scale=0.5),
    "extra.b:output": softmax(["enc3"], loss_scale=0.3),
    "enc3": linear(5, L2=0.3),
    "extra.b:enc3": linear(5, **{"from": "enc", "activation": "relu", "name_scope": "enc3_b"}),
    "extra.a:foo": softmax("enc2", loss_scale=0.1),
    "extra.a:enc2": linear(5, **{"from": "hidden"}),
    "extra.a:hidden": linear(5, **{"from": "enc"}),
    "by_entry": {"class": "copy", "from": ["extra:enc2", "extra.a:enc2", "extra.a:enc"], "is_output_layer": True},
    "refers": linear(2, **{"from": "extra.c:refers", "is_output_layer": True, "reuse_params": "base2"}),
    "extra.c:refers": linear(3, **{"from": ["extra.a:foo", "enc"], "name_scope": "other"}),
    "base2": linear(2, **{"from": "extra.c:refers", "is_output_layer": True}),
    "extra.search:seen": {"class": "copy", "from": "enc2", "is_output_layer": True},
    "extra.d:not_seen": {"class": "copy", "from": "enc2", "is_output_layer": True, "only_on_search": True},
    "copy:output": {"class": "copy", "from": "enc"},
}
fetch = [
    *("enc", "enc2", "output", "extra:output", "extra.b:output", "extra.a:foo", "extra.a:enc2", "extra:enc2"),
    *("by_entry", "refers", "base2", "extra.c:refers", "extra.search:seen", "copy:output"),
]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
train = True
