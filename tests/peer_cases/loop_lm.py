"""Language model of two cells with tied embedding, learned initial states; dev set, so without dropout."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("words")
extern_data = {
    "data": {"dim": 6, "sparse": True, "same_dim_tags_as": {"T": time}},
    "delayed": {"dim": 6, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": True},
}
network = {
    "output": {
        "class": "rec",
        "from": "data:delayed",
        "target": "data",
        "unit": {
            "input": {"class": "linear", "activation": None, "with_bias": False, "n_out": 4, "from": "data:source"},
            "lstm0": {
                "class": "rnn_cell",
                "unit": "LSTMBlock",
                "unit_opts": {"forget_bias": 0.0},
                "initial_state": "ones",
                "dropout": 0.3,
                "n_out": 4,
                "from": "input",
            },
            "lstm1": {"class": "rec", "unit": "lstm", "n_out": 4, "dropout": 0.3, "from": ["lstm0", "prev:lstm0"]},
            "output": {
                "class": "softmax",
                "from": "lstm1",
                "use_transposed_weights": True,
                "reuse_params": {"map": {"W": {"reuse_layer": "input"}, "b": None}},
                "loss": "ce",
                "target": "data",
            },
        },
    },
}
fetch = ["output", "output/lstm0"]
lens = {"data": [5, 2, 4], "delayed": [5, 2, 4]}
