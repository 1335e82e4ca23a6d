"""Search in which layers leave the loop: before it those of the source, behind it those nobody in it needs."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 4, "same_dim_tags_as": {"T": time}},
    "extra": {"dim": 2, "same_dim_tags_as": {"T": time}},
}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
    "output": {
        "class": "rec",
        "from": "data",
        "target": None,
        "include_eos": True,
        "unit": {
            "pre": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source"]},
            "cell": {"class": "rnn_cell", "unit": "LSTMBlock", "n_out": 3, "from": "pre"},
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "combine", "kind": "add", "from": ["embed", "cell"]},
            "scores": {"class": "linear", "activation": None, "n_out": 4, "from": "s"},
            "output": {
                "class": "choice",
                "target": None,
                "beam_size": 3,
                "from": "scores",
                "input_type": "logits",
                "initial_output": 0,
            },
            "post": {"class": "linear", "activation": "tanh", "n_out": 2, "from": ["s"], "is_output_layer": True},
            "post_cell": {"class": "rec", "unit": "gru", "n_out": 2, "from": "embed_now", "is_output_layer": True},
            "embed_now": {"class": "linear", "activation": None, "n_out": 2, "from": "output"},
            "old": {"class": "linear", "activation": None, "n_out": 2, "from": ["s"], "is_output_layer": True},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/post", "output/post_cell", "output/old", "decision"]
lens = {"data": [5, 2, 4], "extra": [5, 2, 4]}
search = True
param_scale = 0.8
param_seed = 15
