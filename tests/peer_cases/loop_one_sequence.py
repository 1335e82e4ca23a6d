"""A batch of one sequence, of one frame; of one label."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "one": {
        "class": "rec",
        "from": "data",
        "unit": {
            "output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:output"]}
        },
    },
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "unit": {
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["embed", "prev:att"]},
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "energy": {"class": "dot", "red1": -1, "red2": -1, "var1": "T", "var2": "T?", "from": ["base:one", "s"]},
            "weights": {"class": "softmax_over_spatial", "from": "energy"},
            "att": {"class": "generic_attention", "weights": "weights", "base": "base:one"},
            "prob": {"class": "softmax", "from": ["s", "att"], "target": "classes", "loss": "ce"},
            "output": {"class": "choice", "target": "classes", "beam_size": 2, "from": "prob", "initial_output": 0},
        },
    },
}
fetch = ["one", "output"]
lens = {"data": [1], "classes": [1]}
batch = {"n_batch": 1}
train = True
