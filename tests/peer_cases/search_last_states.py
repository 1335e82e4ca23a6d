"""Search where layers take hidden states of cells of this and of the previous step, and a cell starts from them."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": 5,
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 3, "from": ["base:mean", "embed", "prev_c"]},
            "prev_c": {"class": "get_last_hidden_state", "from": "prev:s", "key": "c", "n_out": 3},
            "c": {"class": "get_last_hidden_state", "from": "s", "n_out": 6},
            "z": {
                "class": "rnn_cell",
                "unit": "zoneoutlstm",
                "unit_opts": {"zoneout_factor_cell": 0.2, "zoneout_factor_output": 0.1},
                "n_out": 3,
                "from": "c",
            },
            "norm": {"class": "rnn_cell", "unit": "layernormvariantslstm", "n_out": 3, "from": "c"},
            "prob": {"class": "softmax", "from": ["z", "c", "norm"], "target": "classes"},
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "decision"]
lens = {"data": [5, 2, 4], "classes": [4, 2, 3]}
search = True
param_scale = 1.8
param_seed = 10
