"""Two choices a frame in training: two targets of the same length, each fed back."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("labels")
extern_data = {
    "data": {"dim": 3},
    "word": {"dim": 5, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
    "factor": {"dim": 3, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": ["word", "factor"],
        "max_seq_len": 10,
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "embed2": {"class": "linear", "activation": None, "n_out": 2, "from": "prev:f"},
            "both": {"class": "copy", "from": ["embed", "embed2"]},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 3, "from": ["both", "base:mean"]},
            "prob": {"class": "softmax", "from": "s", "target": "word", "loss": "ce"},
            "output": {"class": "choice", "target": "word", "beam_size": 3, "from": "prob", "initial_output": 0},
            "now": {"class": "linear", "activation": None, "n_out": 2, "from": "output"},
            "prob_f": {"class": "softmax", "from": ["s", "now"], "target": "factor", "loss": "ce"},
            "f": {
                "class": "choice",
                "target": "factor",
                "beam_size": 3,
                "from": "prob_f",
                "initial_output": 0,
                "is_output_layer": True,
            },
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
}
fetch = ["output", "output/f"]
lens = {"data": [5, 2, 4], "word": [4, 2, 3], "factor": [4, 2, 3]}
train = True
