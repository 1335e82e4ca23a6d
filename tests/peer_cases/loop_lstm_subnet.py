"""An LSTM written as layers, in a subnetwork of the unit with prev: of its own layers, and in the unit."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
gate = {"class": "linear", "activation": "sigmoid", "n_out": 3, "from": ["data", "prev:h"]}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "unit": {
            "lstm": {
                "class": "subnetwork",
                "from": "data:source",
                "subnetwork": {
                    "i": gate,
                    "f": {**gate, "bias_init": 1.0},
                    "o": gate,
                    "j": {**gate, "activation": "tanh"},
                    "c_in": {"class": "combine", "kind": "mul", "from": ["i", "j"]},
                    "c_old": {"class": "combine", "kind": "mul", "from": ["prev:c", "f"]},
                    "c": {"class": "combine", "kind": "add", "from": ["c_in", "c_old"]},
                    "c_tanh": {"class": "activation", "activation": "tanh", "from": "c"},
                    "h": {"class": "combine", "kind": "mul", "from": ["c_tanh", "o"], "initial_output": "var"},
                    "output": {"class": "copy", "from": "h"},
                },
            },
            "pre": {"class": "linear", "activation": None, "n_out": 12, "from": ["lstm", "prev:h2"]},
            "parts": {"class": "split", "axis": "F", "num_splits": 4, "from": "pre"},
            "c2": {
                "class": "eval",
                "eval": "tf.tanh(source(0)) * tf.sigmoid(source(1)) + tf.sigmoid(source(2)) * source(3)",
                "from": ["parts/0", "parts/1", "parts/2", "prev:c2"],
                "out_type": {"dim": 3, "shape": (3,)},
            },
            "h2": {
                "class": "eval",
                "eval": "tf.sigmoid(source(0)) * tf.tanh(source(1))",
                "from": ["parts/3", "c2"],
                "out_type": {"dim": 3, "shape": (3,)},
            },
            "prob": {"class": "softmax", "from": "h2", "target": "classes", "loss": "ce"},
            "output": {"class": "copy", "from": "prob"},
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
param_scale = 0.7
train = True
