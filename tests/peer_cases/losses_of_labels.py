"""Losses that compare sequences of labels: edit distance with its options, BLEU."""

extern_data = {
    "data": {"dim": 6},
    "classes": {"dim": 5, "sparse": True, "available_for_inference": False},
    "found": {"dim": 5, "sparse": True, "available_for_inference": True},
}
network = {
    "probs": {"class": "linear", "activation": "softmax", "n_out": 6, "from": "data"},
    "bleu": {"class": "copy", "from": "data:found", "loss": "bleu", "target": "classes"},
    "plain": {"class": "copy", "from": "data:found", "loss": "edit_distance", "target": "classes"},
    "mapped": {
        "class": "copy",
        "from": "data:found",
        "loss": "edit_distance",
        "target": "classes",
        "loss_opts": {"label_map": {0: 0, 1: 0, 2: 2, 3: 2, 4: 4}},
    },
    "best": {
        "class": "reduce",
        "mode": "argmax",
        "axis": "F",
        "from": "probs_of_classes",
        "loss": "edit_distance",
        "target": "classes",
    },
    "probs_of_classes": {"class": "linear", "activation": "softmax", "n_out": 5, "from": "lstm"},
    "lstm": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "output": {"class": "copy", "from": "probs"},
}
batch = {"n_batch": 4}
lens = {"data": [9, 3, 7, 5], "classes": [7, 3, 6, 2], "found": [6, 3, 7, 1]}
values = {
    "classes": [[1, 2, 3, 4, 0, 1, 2], [1, 1, 1, 0, 0, 0, 0], [0, 1, 2, 3, 4, 0, 0], [2, 3, 1, 1, 1, 1, 1]],
    "found": [[1, 2, 3, 4, 1, 2, 0], [1, 1, 1, 0, 0, 0, 0], [0, 1, 2, 4, 4, 3, 2], [3, 1, 1, 1, 1, 1, 1]],
}
param_scale = 1.5
