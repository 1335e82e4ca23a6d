"""masked_computation of cells and self-attention under search: states of skipped frames follow the hypotheses."""

extern_data = {"data": {"dim": 4}, "align": {"dim": 5, "sparse": True, "available_for_inference": False}}
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
            "att": {
                "class": "masked_computation",
                "mask": "prev:emit",
                "from": "embed",
                "unit": {
                    "class": "self_attention",
                    "num_heads": 1,
                    "total_key_dim": 2,
                    "n_out": 3,
                    "attention_left_only": True,
                    "from": "data",
                },
            },
            "s": {"class": "linear", "activation": "tanh", "n_out": 4, "from": ["data:source", "cell", "att"]},
            "prob": {"class": "softmax", "from": "s", "target": "align"},
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
search = True
param_scale = 1.8
param_seed = 27
