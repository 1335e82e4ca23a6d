"""The network of search_two_sources in training: both labels are given, both have a loss."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("labels")
extern_data = {
    "data": {"dim": 4},
    "a": {"dim": 4, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
    "b": {"dim": 3, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "a",
        "max_seq_len": 4,
        "unit": {
            "embed_a": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "embed_b": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:second"},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["embed_a", "embed_b", "base:mean"]},
            "prob_a": {"class": "softmax", "from": "s", "target": "a", "loss": "ce"},
            "prob_b": {"class": "softmax", "from": "s", "target": "b", "loss": "ce"},
            "c": {
                "class": "choice",
                "from": ["prob_a", "prob_b"],
                "target": ["a", "b"],
                "beam_size": 3,
                "source_beam_sizes": [3, 2],
                "initial_output": 0,
            },
            "output": {"class": "copy", "from": "c/out_0", "initial_output": 0},
            "second": {"class": "copy", "from": "c/out_1", "initial_output": 0, "is_output_layer": True},
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
}
fetch = ["output", "output/second"]
lens = {"data": [5, 2, 4], "a": [3, 2, 2], "b": [3, 2, 2]}
train = True
param_scale = 0.7
param_seed = 6
