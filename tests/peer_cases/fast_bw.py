"""The layer ``fast_bw`` and losses via a layer. One sequence has no path, one no labels."""

extern_data = {
    "data": {"dim": 5},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": False},
}


def fast_bw(source, **opts):
    return {
        "class": "fast_bw",
        "from": source,
        "align_target": "ctc",
        "align_target_key": "classes",
        "is_output_layer": True,
        **opts,
    }


def via(source, **opts):
    return {
        "class": "linear",
        "activation": "softmax",
        "n_out": 4,
        "from": source,
        "loss": "via_layer",
        "loss_opts": opts,
        "target": None,
    }


network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "probs": {"class": "softmax", "n_out": 4, "from": "h", "target": None},
    "log_probs": {"class": "activation", "activation": "safe_log", "from": "probs"},
    "log_probs_tm": {"class": "linear", "activation": "log_softmax", "n_out": 4, "from": "time_major"},
    "plain": fast_bw("log_probs"),
    "time_major_bw": fast_bw("log_probs_tm"),
    "of_probs": fast_bw("probs", input_type="prob"),
    "scaled": fast_bw("log_probs", am_scale=0.5),
    "min_prob": fast_bw("log_probs", min_prob=0.2),
    "no_loop": fast_bw("log_probs", ctc_opts={"label_loop": False}),
    "no_merge": fast_bw("log_probs", ctc_opts={"ctc_merge_repeated": False}),
    "first_is_blank": fast_bw("log_probs", ctc_opts={"blank_idx": 0}),
    "via": via("h", align_layer="plain"),
    "via_act_in": via("h", align_layer="plain", loss_wrt_to_act_in=True),
    "via_softmax": via("h", align_layer="scaled", loss_wrt_to_act_in="softmax"),
    "via_time_major": via("time_major", align_layer="time_major_bw", loss_wrt_to_act_in="softmax"),
    "signal": {"class": "combine", "kind": "sub", "from": ["probs", "plain"], "copy_output_loss_from_source_idx": 1},
    "via_signal": {**via("h", error_signal_layer="signal"), "loss_scale": 0.3},
    "output": {"class": "copy", "from": "probs"},
}
batch = {"n_batch": 5}
lens = {"data": [7, 7, 5, 2, 3], "classes": [3, 3, 2, 2, 0]}
values = {"classes": [[1, 2, 2], [2, 0, 1], [0, 1, 0], [2, 2, 0], [0, 0, 0]]}
train = True
