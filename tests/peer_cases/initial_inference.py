"""As for forwarding: no eval flag, so losses and what only they need are not there."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "h": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data"},
    "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "data:classes", "is_output_layer": True},
    "aux": {
        "class": "softmax",
        "from": "h",
        "loss": "ce",
        "target": "classes",
        "loss_opts": {"custom_inv_norm_factor": "weights"},
    },
    "weights": {"class": "reduce", "mode": "sum", "axis": "F", "from": "embed"},
    "in_eval": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": "h",
        "only_on_eval": True,
        "is_output_layer": True,
    },
    "output": {"class": "softmax", "from": "h", "loss": "ctc", "target": "classes"},
}
fetch = ["h", "aux", "output"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
eval_flag = False
