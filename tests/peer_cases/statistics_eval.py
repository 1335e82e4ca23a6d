"""Running means, the train flag, gradients as values, meta losses: in evaluation."""

extern_data = {"data": {"dim": 2}, "classes": {"dim": 3, "sparse": True}}
network = {
    "soft": {"class": "softmax", "n_out": 3, "from": "data"},
    "rec": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "mean": {"class": "accumulate_mean", "from": "soft", "exp_average": 0.1, "is_output_layer": True},
    "prob": {
        "class": "accumulate_mean",
        "from": "soft",
        "exp_average": 0.1,
        "is_prob_distribution": True,
        "is_output_layer": True,
    },
    "start": {
        "class": "accumulate_mean",
        "from": "rec",
        "exp_average": 0.1,
        "initial_value": 0.3,
        "is_output_layer": True,
    },
    "joined": {"class": "accumulate_mean", "from": ["data", "soft"], "exp_average": 0.5, "is_output_layer": True},
    "flag": {"class": "train_flag", "is_output_layer": True},
    "total": {"class": "reduce", "mode": "sum", "axes": ["b", "t", "f"], "from": "rec"},
    "grad_data": {"class": "gradient", "y": "total", "x": "data", "is_output_layer": True},
    "grad_rec": {"class": "gradient", "y": "total", "x": "rec", "is_output_layer": True},
    "target": {"class": "linear", "activation": None, "n_out": 3, "from": "rec"},
    "synthetic": {
        "class": "synthetic_gradient",
        "from": "rec",
        "gradient": "target",
        "meta_loss_scale": 0.5,
        "is_output_layer": True,
    },
    "tikhonov": {
        "class": "tikhonov_regularization",
        "from": "synthetic",
        "meta_loss_scale": 0.1,
        "is_output_layer": True,
    },
    "output": {"class": "softmax", "from": "tikhonov", "loss": "ce", "target": "classes"},
}
lens = {"data": [4, 2, 3], "classes": [4, 2, 3]}
