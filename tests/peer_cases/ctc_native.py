"""CTC by its own full sum, trained. One sequence has no path (equal labels in two frames), one no labels."""

extern_data = {
    "data": {"dim": 5},
    "classes": {"dim": 4, "sparse": True, "available_for_inference": False},
}


def layer(**opts):
    return {"class": "softmax", "from": "h", "loss": "ctc", "target": "classes", "loss_opts": {"beam_width": 1, **opts}}


def native(**ctc_opts):
    return layer(use_native=True, ctc_opts=ctc_opts)


network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "plain": layer(use_native=True),
    "no_loop": native(label_loop=False),
    "no_merge": native(ctc_merge_repeated=False),
    "zero": native(zero_infinity=True),
    "raw": native(logits_normalize=False),
    "raw_posteriors": native(logits_normalize=False, grad_wrt_softmax_in=False),
    "posteriors": native(grad_wrt_softmax_in=False),
    "first_is_blank": native(blank_index=0),
    "tm": dict(layer(use_native=True), **{"from": "time_major"}),
    "log_space": {
        "class": "linear",
        "activation": "log_softmax",
        "from": "h",
        "loss": "ctc",
        "target": "classes",
        "loss_opts": {"output_in_log_space": True, "beam_width": 1, "use_native": True},
    },
    "output": {"class": "copy", "from": "plain"},
}
batch = {"n_batch": 5}
lens = {"data": [7, 7, 5, 2, 3], "classes": [3, 3, 2, 2, 0]}
values = {"classes": [[1, 3, 3], [2, 0, 3], [3, 1, 0], [2, 2, 0], [0, 0, 0]]}
train = True
