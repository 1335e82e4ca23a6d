"""Time-synchronous search over encoder frames: label model on emitted labels only; result without blanks."""

extern_data = {"data": {"dim": 4}, "align": {"dim": 5, "sparse": True, "available_for_inference": False}}
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
            "prob": {"class": "softmax", "from": "readout", "target": "align"},
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
search = True
param_scale = 0.8
param_seed = 19
