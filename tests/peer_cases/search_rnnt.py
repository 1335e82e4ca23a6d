"""Label-and-time search: each hypothesis has its own encoder position, which blanks move; end behind the last."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "length": {"class": "length", "from": "encoder"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": "max_len_from('base:encoder') * 2",
        "include_eos": True,
        "unit": {
            "position": {
                "class": "eval",
                "eval": "tf.minimum(source(0), source(1) - 1)",
                "from": ["prev:t", "base:length"],
                "out_type": {"dtype": "int32", "shape": (), "sparse": False, "dim": None},
            },
            "frame": {"class": "gather", "from": "base:encoder", "position": "position", "axis": "T"},
            "embed": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "s": {"class": "linear", "activation": "tanh", "n_out": 4, "from": ["frame", "embed"]},
            "prob": {"class": "softmax", "from": "s", "target": "classes"},
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 4,
                "from": "prob",
                "initial_output": 0,
                "length_normalization": False,
            },
            "is_blank": {"class": "compare", "value": 4, "from": "output"},
            "t": {
                "class": "eval",
                "eval": "source(0) + tf.cast(source(1), tf.int32)",
                "from": ["prev:t", "is_blank"],
                "out_type": {"dtype": "int32", "shape": (), "sparse": False, "dim": None},
                "initial_output": 0,
                "is_output_layer": True,
            },
            "end": {"class": "compare", "kind": "greater_equal", "from": ["t", "base:length"]},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/t", "decision"]
lens = {"data": [4, 2, 3], "classes": [4, 2, 3]}
search = True
param_scale = 0.8
param_seed = 57
