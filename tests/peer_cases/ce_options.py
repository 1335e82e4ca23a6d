"""Cross entropy: input types, smoothing, focal, bounds, dense targets, outputs of several layouts."""

extern_data = {
    "data": {"dim": 4},
    "classes": {"dim": 5, "sparse": True, "available_for_inference": False},
    "soft": {"dim": 5, "available_for_inference": False},
    "label": {"dim": 5, "sparse": True, "shape": (), "available_for_inference": False},
}
network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "plain": {"class": "softmax", "from": "h", "loss": "ce", "target": "classes"},
    "not_flat": {"class": "softmax", "from": "h", "loss": "ce", "target": "classes", "loss_opts": {"use_flatten_frames": False}},
    "not_fused": {"class": "softmax", "from": "h", "loss": "ce", "target": "classes", "loss_opts": {"use_fused": False}},
    "logits": {"class": "linear", "activation": None, "n_out": 5, "from": "h", "loss": "ce", "target": "classes", "loss_opts": {"input_type": "logits"}},
    "logits_smooth": {
        "class": "linear", "activation": None, "n_out": 5, "from": "h", "loss": "ce", "target": "classes",
        "loss_opts": {"input_type": "logits", "label_smoothing": 0.2}},
    "smooth": {"class": "softmax", "from": "h", "loss": "ce", "target": "classes", "loss_opts": {"label_smoothing": 0.1}},
    "gaussian": {"class": "softmax", "from": "h", "loss": "ce", "target": "classes", "loss_opts": {"label_smoothing": 0.1, "label_smoothing_gaussian": True}},
    "focal": {"class": "softmax", "from": "h", "loss": "ce", "target": "classes", "loss_opts": {"focal_loss_factor": 2.0}},
    "focal_smooth": {"class": "softmax", "from": "h", "loss": "ce", "target": "classes", "loss_opts": {"focal_loss_factor": 1.0, "label_smoothing": 0.1}},
    "bounded": {"class": "softmax", "from": "h", "loss": "ce", "target": "classes", "loss_opts": {"fake_upper_bound": 1.5}},
    "sigmoid": {"class": "linear", "activation": "sigmoid", "n_out": 5, "from": "h", "loss": "ce", "target": "classes"},
    "scaled": {"class": "eval", "eval": "source(0) * 0.5", "from": "plain", "n_out": 5, "loss": "ce", "target": "classes"},
    "scaled_opts": {"class": "eval", "eval": "source(0) * 1e-5", "from": "plain", "loss": "ce", "target": "classes", "loss_opts": {"safe_log_opts": {"eps": 1e-4}}},
    "soft_target": {"class": "softmax", "from": "h", "loss": "ce", "target": "soft"},
    "soft_prob": {"class": "linear", "activation": "sigmoid", "n_out": 5, "from": "h", "loss": "ce", "target": "soft"},
    "copied": {"class": "copy", "from": "plain", "loss": "ce", "target": "classes"},
    "exp": {"class": "activation", "activation": "exp", "from": "log_softmax", "loss": "ce", "target": "classes"},
    "log_softmax": {"class": "linear", "activation": "log_softmax", "n_out": 5, "from": "h"},
    "softmax_layer": {"class": "activation", "activation": "softmax", "from": "logits", "loss": "ce", "target": "classes"},
    "on_time_major": {"class": "softmax", "from": "time_major", "loss": "ce", "target": "classes", "loss_opts": {"label_smoothing": 0.1}},
    "per_seq": {"class": "reduce", "mode": "mean", "axis": "T", "from": "h"},
    "seq_label": {"class": "softmax", "from": "per_seq", "loss": "ce", "target": "label"},
    "output": {"class": "copy", "from": "plain"},
}
lens = {"data": [5, 2, 4], "classes": [5, 2, 4], "soft": [5, 2, 4]}
train = True
