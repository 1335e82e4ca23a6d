"""Linear layers that drop the gradient of sequences where it is large, in both layouts and on labels; trained."""

extern_data = {
    "data": {"dim": 5},
    "labels": {"dim": 4, "sparse": True, "available_for_inference": True},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": False},
}


def layer(source, limit, **opts):
    return {"class": "linear", "activation": "tanh", "n_out": 4, "from": source, "grad_filter": limit, **opts}


network = {
    "some": layer("data", 0.05),
    "all": layer("data", 1e-9),
    "none": layer("data", 1e9),
    "embedding": layer("data:labels", 0.05, activation=None),
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "tm": layer("time_major", 0.05),
    "vector": layer("last", 0.5),
    "last": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "sum": {"class": "combine", "kind": "add", "from": ["some", "all", "none", "tm", "vector"], "n_out": 4},
    "class_probs": {"class": "softmax", "from": "sum", "loss": "ce", "target": "classes", "grad_filter": 0.9},
    "of_labels": {"class": "activation", "activation": "tanh", "from": "embedding", "loss": "as_is"},
    "output": {"class": "copy", "from": "class_probs"},
}
batch = {"n_batch": 4}
lens = {"data": [7, 5, 2, 6], "classes": [7, 5, 2, 6], "labels": [3, 5, 4, 1]}
train = True
