"""CTC with shorter targets: repeated labels dropped, and no more labels than frames minus one; trained."""

extern_data = {
    "data": {"dim": 5},
    "classes": {"dim": 4, "sparse": True, "available_for_inference": False},
}


def layer(**opts):
    opts = {"beam_width": 1, **opts}
    return {"class": "softmax", "from": "h", "loss": "ctc", "target": "classes", "loss_opts": opts}


network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "collapsed": layer(target_collapse_repeated=True),
    "clipped": layer(auto_clip_target_len=True),
    "output": {"class": "copy", "from": "h"},
}
batch = {"n_batch": 5}
lens = {"data": [7, 7, 5, 2, 3], "classes": [3, 3, 2, 2, 1]}
values = {"classes": [[1, 3, 3], [2, 0, 0], [3, 1, 0], [2, 1, 0], [0, 0, 0]]}
train = True
