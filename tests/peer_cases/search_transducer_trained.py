"""The network of search_transducer in training on an alignment: parameters as in the search."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 4, "same_dim_tags_as": {"T": time}},
    "align": {"dim": 5, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data"},
    "output": {
        "class": "rec",
        "from": "encoder",
        "target": "align",
        "include_eos": True,
        "unit": {
            "am": {"class": "copy", "from": "data:source"},
            "lm_masked": {
                "class": "masked_computation",
                "mask": "prev:emit",
                "from": "prev:output",
                "unit": {
                    "class": "subnetwork",
                    "from": "data",
                    "subnetwork": {
                        "embed": {
                            "class": "linear",
                            "activation": None,
                            "with_bias": False,
                            "n_out": 4,
                            "from": "data",
                        },
                        "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "embed"},
                        "output": {"class": "copy", "from": "lstm"},
                    },
                },
            },
            "lm": {"class": "unmask", "mask": "prev:emit", "from": "lm_masked"},
            "prev_embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "rec", "unit": "nativelstm2", "n_out": 4, "from": ["am", "prev_embed", "lm"]},
            "readout": {"class": "linear", "activation": "tanh", "n_out": 4, "from": ["s", "lm"]},
            "prob": {"class": "softmax", "from": "readout", "target": "align", "loss": "ce"},
            "output": {
                "class": "choice",
                "target": "align",
                "beam_size": 4,
                "from": "prob",
                "initial_output": 4,
                "length_normalization": False,
            },
            "emit": {
                "class": "compare",
                "kind": "not_equal",
                "value": 4,
                "from": "output",
                "initial_output": True,
                "is_output_layer": True,
            },
            "count": {
                "class": "eval",
                "eval": "source(0) + tf.cast(source(1), tf.int32)",
                "from": ["prev:count", "emit"],
                "out_type": {"dtype": "int32", "shape": (), "dim": None, "sparse": False},
                "initial_output": 0,
                "is_output_layer": True,
            },
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
    "is_label": {"class": "compare", "kind": "not_equal", "value": 4, "from": "decision"},
    "labels": {
        "class": "masked_computation",
        "mask": "is_label",
        "from": "decision",
        "unit": {"class": "copy"},
        "is_output_layer": True,
    },
}
fetch = ["output", "output/emit", "output/count", "decision", "labels"]
lens = {"data": [6, 3, 4], "align": [6, 3, 4]}
values = {"align": [[4, 1, 4, 2, 0, 4], [3, 4, 1, 4, 4, 4], [4, 2, 2, 4, 4, 4]]}
train = True
param_scale = 0.7
param_seed = 19
