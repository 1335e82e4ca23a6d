"""CTC and edit distance with their options, evaluated: error by beam search."""

extern_data = {
    "data": {"dim": 5},
    "classes": {"dim": 4, "sparse": True, "available_for_inference": False},
    "hyps": {"dim": 4, "sparse": True, "available_for_inference": True},
}
network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "plain": {"class": "softmax", "from": "h", "loss": "ctc", "target": "classes"},
    "greedy": {"class": "softmax", "from": "h", "loss": "ctc", "target": "classes", "loss_opts": {"beam_width": 1}},
    "log_space": {
        "class": "linear",
        "activation": "log_softmax",
        "from": "h",
        "loss": "ctc",
        "target": "classes",
        "loss_opts": {"output_in_log_space": True, "beam_width": 5},
    },
    "no_logits": {
        "class": "eval",
        "eval": "source(0) * 0.5",
        "from": "plain",
        "loss": "ctc",
        "target": "classes",
        "loss_opts": {"beam_width": 4},
    },
    "collapsed": {
        "class": "softmax",
        "from": "h",
        "loss": "ctc",
        "target": "classes",
        "loss_opts": {"target_collapse_repeated": True, "beam_width": 1},
    },
    "no_merge": {
        "class": "softmax",
        "from": "h",
        "loss": "ctc",
        "target": "classes",
        "loss_opts": {"ctc_opts": {"ctc_merge_repeated": False}, "beam_width": 1},
    },
    "clipped": {
        "class": "softmax",
        "from": "h",
        "loss": "ctc",
        "target": "classes",
        "loss_opts": {"auto_clip_target_len": True, "beam_width": 1},
    },
    "tm": {
        "class": "softmax",
        "from": "time_major",
        "loss": "ctc",
        "target": "classes",
        "loss_opts": {"beam_width": 2},
    },
    "distance": {"class": "copy", "from": "data:hyps", "loss": "edit_distance", "target": "classes"},
    "mapped": {
        "class": "copy",
        "from": "data:hyps",
        "loss": "edit_distance",
        "target": "classes",
        "loss_opts": {"label_map": {0: 1, 1: 1, 2: 2, 3: 3}},
    },
    "argmax": {
        "class": "reduce",
        "mode": "argmax",
        "axis": "F",
        "from": "distribution",
        "loss": "edit_distance",
        "target": "classes",
    },
    "distribution": {"class": "linear", "activation": None, "n_out": 4, "from": "h"},
    "output": {"class": "copy", "from": "plain"},
}
lens = {"data": [7, 7, 5], "classes": [3, 3, 2], "hyps": [2, 4, 3]}
values = {"classes": [[1, 3, 3], [2, 0, 3], [3, 1, 0]]}
