"""Dropout of the LSTM with layer normalisation does nothing in evaluation."""

extern_data = {"data": {"dim": 3}}
network = {
    "lstm": {
        "class": "rec",
        "unit": "LayerNormVariantsLSTM",
        "unit_opts": {"dropout": 0.3, "dropout_h": 0.5},
        "n_out": 3,
        "from": "data",
    },
    "output": {"class": "copy", "from": "lstm", "loss": "as_is"},
}
lens = {"data": [5, 1, 3]}
