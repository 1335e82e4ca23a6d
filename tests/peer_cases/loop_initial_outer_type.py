"""A layer whose type comes from its initial_output: an encoder axis that is carried from step to step."""

extern_data = {"data": {"dim": 2}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "enc": {"class": "linear", "activation": "tanh", "n_out": 1, "from": "data"},
    "zero": {"class": "eval", "eval": "source(0) * 0.0", "from": "enc"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "sum": {"class": "combine", "kind": "add", "from": ["prev:sum", "weights"], "initial_output": "base:zero"},
            "copied": {"class": "copy", "from": "prev:sum2", "initial_output": "base:enc"},
            "sum2": {
                "class": "eval",
                "eval": "source(0) * 0.5 + source(1)",
                "from": ["copied", "base:enc"],
                "initial_output": "base:enc",
            },
            "energy": {"class": "linear", "activation": None, "n_out": 1, "from": ["base:enc", "prev:sum", "copied"]},
            "weights": {"class": "softmax_over_spatial", "from": "energy"},
            "embed": {"class": "linear", "activation": None, "n_out": 1, "from": "prev:output"},
            "att0": {"class": "generic_attention", "weights": "weights", "base": "base:data"},
            "att": {"class": "merge_dims", "axes": "static", "from": "att0"},
            "prob": {"class": "softmax", "from": ["att", "embed"], "target": "classes", "loss": "ce"},
            "output": {"class": "choice", "target": "classes", "beam_size": 2, "from": "prob", "initial_output": 0},
        },
    },
}
network["output"]["unit"]["sum"]["from"] = ["prev:sum", "weights_"]
network["output"]["unit"]["weights_"] = {
    "class": "eval",
    "from": "energy",
    "eval": "tf.sigmoid(source(0))",
}
fetch = ["output"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
train = True
