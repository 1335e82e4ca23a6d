"""The layers ``ctc_loss`` and ``sparse_softmax_cross_entropy_with_logits``, trained."""

extern_data = {
    "data": {"dim": 5},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": False},
    "with_blank": {"dim": 4, "sparse": True, "available_for_inference": False},
}


def ctc(logits="logits", targets="data:classes", **opts):
    return {"class": "ctc_loss", "logits": logits, "targets": targets, "loss": "as_is", **opts}


def ce(logits, **opts):
    return {
        "class": "sparse_softmax_cross_entropy_with_logits",
        "logits": logits,
        "targets": "best_labels",
        "loss": "as_is",
        **opts,
    }


network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "logits": {"class": "linear", "activation": None, "n_out": 4, "from": "h"},
    "logits_tm": {"class": "linear", "activation": None, "n_out": 4, "from": "time_major"},
    "log_probs": {"class": "activation", "activation": "log_softmax", "from": "logits"},
    "other_logits": {"class": "linear", "activation": None, "n_out": 4, "from": "data"},
    "best_labels": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "other_logits"},
    "ctc": ctc(),
    "ctc_tm": ctc("logits_tm"),
    "normalized": ctc("log_probs", logits_normalized=True),
    "no_loop": ctc(label_loop=False),
    "best": ctc(max_approx=True),
    "best_normalized": ctc("log_probs", logits_normalized=True, max_approx=True),
    "first_is_blank": ctc(targets="data:with_blank", blank_index=0),
    "ce": ce("logits"),
    "ce_tm": ce("logits_tm"),
    "ce_axis": ce("logits", axis="F"),
    "output": {"class": "copy", "from": "h"},
}
batch = {"n_batch": 5}
lens = {"data": [7, 7, 5, 2, 3], "classes": [3, 3, 2, 2, 0], "with_blank": [3, 3, 2, 1, 1]}
values = {
    "classes": [[1, 2, 2], [2, 0, 1], [0, 1, 0], [2, 1, 0], [0, 0, 0]],
    "with_blank": [[1, 3, 3], [2, 1, 3], [3, 1, 0], [2, 0, 0], [1, 0, 0]],
}
train = True
