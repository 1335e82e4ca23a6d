"""The network of search_fusion on the dev set."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": "max_len_from('base:encoder')",
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 4, "from": "output", "initial_output": 0},
            "s": {
                "class": "rnn_cell",
                "unit": "standardlstm",
                "n_out": 4,
                "from": ["base:mean", "prev:embed", "prev:att"],
            },
            "energy": {
                "class": "dot",
                "red1": -1,
                "red2": -1,
                "var1": "T",
                "var2": "T?",
                "from": ["base:encoder", "s"],
            },
            "weights": {"class": "softmax_over_spatial", "from": "energy"},
            "att": {"class": "generic_attention", "weights": "weights", "base": "base:encoder"},
            "prob": {"class": "softmax", "from": ["s", "att"], "target": "classes", "loss": "ce"},
            "lm": {
                "class": "subnetwork",
                "from": "prev:output",
                "subnetwork": {
                    "input": {"class": "linear", "activation": None, "with_bias": False, "n_out": 3, "from": "data"},
                    "lstm0": {
                        "class": "rnn_cell",
                        "unit": "LSTMBlock",
                        "n_out": 3,
                        "unit_opts": {"forget_bias": 0.0},
                        "from": "input",
                    },
                    "lstm1": {
                        "class": "rnn_cell",
                        "unit": "LSTMBlock",
                        "n_out": 3,
                        "unit_opts": {"forget_bias": 0.0},
                        "from": "lstm0",
                    },
                    "output": {"class": "softmax", "n_out": 5, "from": "lstm1"},
                },
            },
            "combined": {
                "class": "eval",
                "eval": "safe_log(source(0)) + 0.3 * safe_log(source(1))",
                "from": ["prob", "lm"],
            },
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 4,
                "from": "combined",
                "input_type": "log_prob",
                "initial_output": 0,
            },
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "decision"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
param_scale = 0.7
param_seed = 36
