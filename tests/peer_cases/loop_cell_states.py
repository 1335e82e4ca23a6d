"""initial_state of rnn_cell in all forms within a loop; last hidden states of this and the previous step."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
lstm = {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 2, "from": ["data:source", "prev:all"]}
gru = {"class": "rnn_cell", "unit": "gru", "n_out": 2, "from": ["data:source", "prev:all"]}
cells = {
    "zeros": dict(lstm, initial_state="zeros"),
    "ones": dict(lstm, initial_state="ones"),
    "one": dict(gru, initial_state=1),
    "var": dict(lstm, initial_state="var"),
    "var_gru": dict(gru, initial_state="var"),
    "dict": dict(lstm, initial_state={"c": "base:start", "h": "var"}),
    "list": dict(lstm, initial_state=["base:start", "base:start2"]),
    "layer": dict(gru, initial_state="base:start"),
    "hidden": dict(lstm, initial_state={"c": "base:last_c", "h": "base:last_h"}),
}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "start": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "mean"},
    "start2": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "mean"},
    "enc": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
    "last_c": {"class": "get_last_hidden_state", "from": "enc", "key": "c", "n_out": 2},
    "last_h": {"class": "get_last_hidden_state", "from": "enc", "key": "h", "n_out": 2},
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "unit": {
            **cells,
            "c_var": {"class": "get_last_hidden_state", "from": "var", "key": "c", "n_out": 2, "is_output_layer": True},
            "ch": {"class": "get_last_hidden_state", "from": "dict", "n_out": 4, "is_output_layer": True},
            "prev_h": {
                "class": "get_last_hidden_state",
                "from": "prev:hidden",
                "key": "h",
                "n_out": 2,
                "is_output_layer": True,
            },
            "two": {
                "class": "get_last_hidden_state",
                "from": ["list", "ones"],
                "key": "c",
                "combine": "add",
                "n_out": 2,
                "is_output_layer": True,
            },
            "all": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 3,
                "from": [*sorted(cells), "c_var", "ch", "prev_h", "two"],
            },
            "prob": {"class": "softmax", "from": "all", "target": "classes", "loss": "ce"},
            "output": {"class": "copy", "from": "prob"},
        },
    },
}
fetch = ["output", "output/c_var", "output/ch", "output/prev_h", "output/two"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
param_scale = 0.7
train = True
