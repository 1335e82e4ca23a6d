"""Options of recurrent units and layers besides those of the other cases."""

extern_data = {"data": {"dim": 4}}
R = {"class": "rec", "from": "data", "n_out": 3, "is_output_layer": True}
network = {
    "cudnn": {**R, "unit": "CudnnLSTM"},
    "fused": {**R, "unit": "LSTMBlockFused", "direction": -1},
    "gru": {**R, "unit": "gru", "unit_opts": {"activation": "relu"}},
    "standard": {**R, "unit": "standardlstm", "unit_opts": {"activation": "relu", "forget_bias": 0.0}},
    "peepholes": {**R, "unit": "standardlstm", "unit_opts": {"activation": "sigmoid", "use_peepholes": True}},
    "basic": {**R, "unit": "basiclstm", "unit_opts": {"activation": "sigmoid"}},
    "simple": {**R, "unit": "basicrnn", "unit_opts": {"activation": "sigmoid"}, "direction": -1},
    "unrolled": {**R, "unit": "gru", "unroll": True, "max_seq_len": 10},
    "options": {**R, "unit": "gru", "use_global_rec_step_offset": True, "debug": True},
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "single": {**R, "unit": "nativelstm2", "from": "mean", "initial_state": 1},
    "single_last": {"class": "get_last_hidden_state", "from": "single", "key": "c", "n_out": 3},
    "single_h": {"class": "copy", "from": "single"},
    "tuple": {**R, "unit": "nativelstm2", "initial_state": ["single_last", "single_h"]},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "loss": "as_is",
        "from": [
            "cudnn",
            "fused",
            "gru",
            "standard",
            "peepholes",
            "basic",
            "simple",
            "unrolled",
            "options",
            "single",
            "tuple",
        ],
    },
}
lens = {"data": [4, 2, 3]}
train = True
