"""First prev: values that are outer layers, tiled over the beam; a cell with learned initial state."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "start": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "mean"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": 5,
        "unit": {
            "embed": {
                "class": "linear",
                "activation": None,
                "n_out": 3,
                "from": "output",
                "initial_output": "base:start",
            },
            "old": {
                "class": "combine",
                "kind": "add",
                "from": ["prev:old", "embed"],
                "initial_output": "base:start",
                "is_output_layer": True,
            },
            "s": {
                "class": "rnn_cell",
                "unit": "LSTMBlock",
                "n_out": 3,
                "from": ["prev:embed", "prev:old"],
                "initial_state": "ones",
            },
            "native": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "s", "initial_state": "ones"},
            "prob": {"class": "softmax", "from": ["native", "prev:old"], "target": "classes"},
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 1},
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/old", "decision"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
search = True
param_scale = 0.8
param_seed = 2
