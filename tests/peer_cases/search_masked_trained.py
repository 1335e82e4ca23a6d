"""The network of search_masked in training, without the self-attention: masks of a given alignment."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 4, "same_dim_tags_as": {"T": time}},
    "align": {"dim": 5, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": "align",
        "include_eos": True,
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "cell": {
                "class": "masked_computation",
                "mask": "prev:emit",
                "from": "embed",
                "unit": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 3, "from": "data"},
            },
            "s": {"class": "linear", "activation": "tanh", "n_out": 4, "from": ["data:source", "cell"]},
            "prob": {"class": "softmax", "from": "s", "target": "align", "loss": "ce"},
            "output": {
                "class": "choice",
                "target": "align",
                "beam_size": 4,
                "from": "prob",
                "initial_output": 4,
                "length_normalization": False,
            },
            "same": {"class": "compare", "kind": "not_equal", "from": ["output", "prev:output"]},
            "no_blank": {"class": "compare", "kind": "not_equal", "value": 4, "from": "output"},
            "emit": {
                "class": "combine",
                "kind": "logical_and",
                "from": ["same", "no_blank"],
                "initial_output": True,
                "is_output_layer": True,
            },
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/emit", "decision"]
lens = {"data": [6, 3, 4], "align": [6, 3, 4]}
values = {"align": [[4, 1, 1, 2, 0, 4], [3, 4, 1, 4, 4, 4], [4, 2, 2, 4, 4, 4]]}
train = True
param_scale = 0.7
param_seed = 27
