"""CTC by the best path, trained."""

extern_data = {
    "data": {"dim": 5},
    "classes": {"dim": 4, "sparse": True, "available_for_inference": False},
}


def layer(**opts):
    opts = {"beam_width": 1, "use_viterbi": True, **opts}
    return {"class": "softmax", "from": "h", "loss": "ctc", "target": "classes", "loss_opts": opts}


network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "plain": layer(),
    "and_native": layer(use_native=True),
    "wide_beam": layer(beam_width=4),
    "output": {"class": "copy", "from": "plain"},
}
batch = {"n_batch": 5}
lens = {"data": [7, 7, 5, 2, 3], "classes": [3, 3, 2, 2, 1]}
values = {"classes": [[1, 3, 3], [2, 0, 3], [3, 1, 0], [2, 1, 0], [0, 0, 0]]}
train = True
