"""Distances of embeddings by class, with and without time axis. (Class 0 is another one in the reference.)"""

extern_data = {
    "data": {"dim": 6},
    "classes": {"shape": (None, 3), "dim": 5, "sparse": True, "available_for_inference": False},
    "seq_classes": {"shape": (3,), "dim": 5, "sparse": True, "available_for_inference": False},
}


def layer(source, target, **opts):
    opts = {"margin": 0.7, **opts}
    return {"class": "copy", "from": source, "loss": "triplet_loss", "loss_opts": opts, "target": target}


network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 12, "from": "data"},
    "seq": {"class": "reduce", "mode": "mean", "axis": "T", "from": "h"},
    "frames": layer("h", "classes"),
    "views": layer("h", "classes", multi_view_training=True),
    "of_seq": layer("seq", "seq_classes"),
    "margin": layer("seq", "seq_classes", margin=1.5),
    "output": {"class": "copy", "from": "h"},
}
lens = {"data": [3, 1, 2], "classes": [3, 1, 2]}
values = {
    "classes": [
        [[1, 1, 2], [3, 2, 1], [4, 4, 4]],
        [[2, 3, 2], [1, 1, 1], [1, 1, 1]],
        [[1, 2, 2], [3, 3, 1], [2, 2, 2]],
    ],
    "seq_classes": [[1, 1, 2], [3, 2, 1], [4, 1, 4]],
}
train = True
