"""masked_computation and unmask that leave the loop, before it and behind it; one without unmask."""

extern_data = {"data": {"dim": 4}}
lin = {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "in_sum": {"class": "reduce", "mode": "sum", "axis": "F", "from": "data:source"},
            "in_mask": {"class": "compare", "kind": "greater", "value": 0.0, "from": "in_sum"},
            "masked_in": {
                "class": "masked_computation",
                "mask": "in_mask",
                "from": "data:source",
                "unit": {"class": "rnn_cell", "unit": "gru", "n_out": 2, "from": "data"},
            },
            "unmasked_in": {"class": "unmask", "mask": "in_mask", "from": "masked_in"},
            "s": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["unmasked_in", "prev:s"]},
            "out_sum": {"class": "reduce", "mode": "sum", "axis": "F", "from": ["s_kept"]},
            "s_kept": {"class": "eval", "eval": "source(0) * tf.sign(tf.abs(source(1)))", "from": ["s", "in_size"]},
            "in_abs": {"class": "activation", "activation": "abs", "from": "data:source"},
            "in_size": {"class": "reduce", "mode": "sum", "axis": "F", "keep_dims": True, "from": "in_abs"},
            "out_mask": {
                "class": "compare",
                "kind": "greater",
                "value": 0.0,
                "from": "out_sum",
                "initial_output": True,
                "is_output_layer": True,
            },
            "masked_out": {
                "class": "masked_computation",
                "mask": "out_mask",
                "from": "s",
                "unit": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
            },
            "unmasked_out": {"class": "unmask", "mask": "out_mask", "from": "masked_out"},
            "seven": {
                "class": "masked_computation",
                "mask": "out_mask",
                "from": "s",
                "unit": {**lin, "initial_output": 7},
            },
            "output": {"class": "combine", "kind": "add", "from": ["unmasked_out", "seven"]},
        },
    },
    "packed": {
        "class": "masked_computation",
        "mask": "output/out_mask",
        "from": "output",
        "unit": lin,
        "is_output_layer": True,
    },
}
fetch = ["output", "output/unmasked_in", "output/out_mask", "output/seven", "packed"]
lens = {"data": [6, 2, 4]}
param_scale = 0.7
zero_padding = True
