"""The layer ``loss``: values and errors per frame, as parts, and trained with ``as_is``."""

extern_data = {
    "data": {"dim": 4},
    "classes": {"dim": 5, "sparse": True, "available_for_inference": False},
    "clean": {"dim": 5, "available_for_inference": False},
    "label": {"dim": 5, "sparse": True, "shape": (), "available_for_inference": False},
}


def loss(name, source, target, **opts):
    return {"class": "loss", "from": source, "loss_": name, "target_": target, **opts}


network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "probs": {"class": "softmax", "n_out": 5, "from": "h"},
    "probs_time_major": {"class": "softmax", "n_out": 5, "from": "time_major"},
    "linear": {"class": "linear", "activation": None, "n_out": 5, "from": "h"},
    "seq": {"class": "reduce", "mode": "mean", "axis": "T", "from": "h"},
    "seq_probs": {"class": "softmax", "n_out": 5, "from": "seq"},
    "ce": {**loss("ce", "probs", "classes"), "loss": "as_is"},
    "ce_smooth": {**loss("ce", "probs", "classes", loss_opts_={"label_smoothing": 0.1}), "loss": "as_is"},
    "ce_time_major": {**loss("ce", "probs_time_major", "classes"), "loss": "as_is"},
    "ce_to_layer": {**loss("ce", "probs_time_major", "layer:probs"), "loss": "as_is"},
    "ce_error": {**loss("ce", "probs", "classes", use_error=True), "is_output_layer": True},
    "ce_default_target": {"class": "loss", "from": "probs", "loss_": "ce", "is_output_layer": True},
    "mse": {**loss("mse", "linear", "clean"), "loss": "as_is"},
    "per_seq": {**loss("ce", "seq_probs", "label"), "loss": "as_is", "loss_scale": 0.5},
    "part_loss": {"class": "copy", "from": "ce/loss", "is_output_layer": True},
    "part_error": {"class": "copy", "from": "ce/error", "is_output_layer": True},
    "as_is": {**loss("as_is", "flat", None), "is_output_layer": True},
    "flat": {"class": "reduce", "mode": "sum", "axis": "F", "from": "linear"},
    "output": {"class": "copy", "from": "probs"},
}
lens = {"data": [5, 3, 4], "classes": [5, 3, 4], "clean": [5, 3, 4]}
train = True
