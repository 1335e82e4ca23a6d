"""Losses via a layer with a target: errors per frame, norm factors; in evaluation; print and hdf_dump pass on."""

extern_data = {
    "data": {"dim": 5},
    "classes": {"dim": 3, "sparse": True, "available_for_inference": False},
    "frames": {"dim": 4, "sparse": True, "available_for_inference": False},
}
network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 6, "from": "data"},
    "probs": {"class": "softmax", "n_out": 4, "from": "h", "target": None},
    "printed": {"class": "print", "from": "probs", "summarize": 1},
    "bw": {
        "class": "fast_bw",
        "from": "printed",
        "input_type": "prob",
        "align_target": "ctc",
        "align_target_key": "classes",
    },
    "via": {
        "class": "softmax",
        "from": "h",
        "loss": "via_layer",
        "loss_opts": {"align_layer": "bw", "loss_wrt_to_act_in": "softmax"},
        "target": "frames",
    },
    "output": {"class": "copy", "from": "printed"},
}
lens = {"data": [7, 4, 5], "frames": [7, 4, 5], "classes": [3, 2, 1]}
values = {"classes": [[1, 2, 2], [2, 0, 1], [0, 1, 0]]}
