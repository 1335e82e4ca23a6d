"""masked_computation and unmask in the loop: linear, cell, self-attention, subnetwork; mask from the previous frame."""

extern_data = {"data": {"dim": 4}}
masked = {"class": "masked_computation", "mask": "prev:emit", "from": "s"}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "s": {"class": "linear", "activation": "tanh", "n_out": 4, "from": ["data:source", "prev:sum"]},
            "emit_": {"class": "reduce", "mode": "sum", "axis": "F", "from": "s"},
            "emit": {
                "class": "compare",
                "kind": "greater",
                "value": 0.1,
                "from": "emit_",
                "initial_output": True,
                "is_output_layer": True,
            },
            "linear": {
                **masked,
                "unit": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data", "initial_output": 0.5},
            },
            "cell": {
                **masked,
                "unit": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 2, "from": "data", "initial_state": "ones"},
            },
            "rec": {**masked, "unit": {"class": "rec", "unit": "nativelstm2", "n_out": 2, "from": "data"}},
            "att": {
                **masked,
                "unit": {
                    "class": "self_attention",
                    "num_heads": 1,
                    "total_key_dim": 2,
                    "n_out": 2,
                    "attention_left_only": True,
                    "from": "data",
                },
            },
            "sub": {
                **masked,
                "unit": {
                    "class": "subnetwork",
                    "from": "data",
                    "subnetwork": {
                        "a": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
                        "cell": {"class": "rnn_cell", "unit": "gru", "n_out": 2, "from": ["a", "base:prev:sum"]},
                        "output": {"class": "copy", "from": "cell"},
                    },
                },
            },
            **{
                name + "_": {"class": "unmask", "mask": "prev:emit", "from": name, "is_output_layer": True}
                for name in ["linear", "cell", "rec", "att", "sub"]
            },
            "sum": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 3,
                "from": ["linear_", "cell_", "rec_", "att_", "sub_"],
            },
            "output": {"class": "copy", "from": "sum"},
        },
    },
}
fetch = ["output", "output/emit"] + ["output/%s_" % name for name in ["linear", "cell", "rec", "att", "sub"]]
lens = {"data": [6, 2, 4]}
param_scale = 0.7
