"""Label model on a given alignment: masked_from takes the label sequence of the target in training."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 4, "same_dim_tags_as": {"T": time}},
    "align": {"dim": 5, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
    "classes": {"dim": 5, "sparse": True, "available_for_inference": False},
}
network = {
    "lm_in": {"class": "copy", "from": "data:classes"},
    "output": {
        "class": "rec",
        "from": "data",
        "target": "align",
        "unit": {
            "lm_masked": {
                "class": "masked_computation",
                "mask": "prev:emit",
                "from": "prev:output",
                "masked_from": "base:lm_in",
                "unit": {
                    "class": "subnetwork",
                    "from": "data",
                    "subnetwork": {
                        "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "data"},
                        "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "embed"},
                        "output": {"class": "copy", "from": "lstm"},
                    },
                },
            },
            "lm": {"class": "unmask", "mask": "prev:emit", "from": "lm_masked"},
            "s": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 3, "from": ["data:source", "lm"]},
            "prob": {"class": "softmax", "from": "s", "target": "align", "loss": "ce"},
            "output": {"class": "choice", "target": "align", "beam_size": 4, "from": "prob", "initial_output": 0},
            "emit": {
                "class": "compare",
                "kind": "not_equal",
                "value": 4,
                "from": "output",
                "initial_output": True,
                "is_output_layer": True,
            },
        },
    },
}
fetch = ["output", "output/emit"]
lens = {"data": [6, 4, 5], "align": [6, 4, 5], "classes": [4, 3, 3]}
values = {
    "align": [[4, 1, 4, 2, 0, 4], [3, 4, 4, 1, 4, 4], [4, 2, 2, 4, 4, 4]],
    "classes": [[0, 1, 2, 0], [0, 3, 1, 4], [0, 2, 2, 4]],  # with the label before the first
}
train = True
