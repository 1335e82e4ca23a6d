"""Search with self-attention of cum_concat and relative positions: histories follow the hypotheses."""

from returnn.tf.util.data import SpatialDim

hist = SpatialDim("history")
extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": "max_len_from('base:data')",
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 4, "from": "prev:output"},
            "x": {"class": "combine", "kind": "add", "from": ["embed", "base:mean"]},
            "all": {"class": "cum_concat", "out_spatial_dim": hist, "from": "x"},
            "energy": {"class": "dot", "from": ["x", "all"], "red1": "F", "red2": "F", "var1": None, "var2": hist},
            "weights": {"class": "softmax_over_spatial", "from": "energy", "axis": hist},
            "att": {"class": "dot", "from": ["weights", "all"], "red1": hist, "red2": hist, "var1": None, "var2": "F"},
            "rel": {"class": "relative_positional_encoding", "n_out": 2, "clipping": 2, "from": "x"},
            "self": {
                "class": "self_attention",
                "num_heads": 2,
                "total_key_dim": 4,
                "n_out": 4,
                "attention_left_only": True,
                "key_shift": "rel",
                "from": "x",
            },
            "pos": {"class": "positional_encoding", "add_to_input": True, "from": "self"},
            "prob": {"class": "softmax", "from": ["att", "pos"], "target": "classes"},
            "output": {"class": "choice", "target": "classes", "beam_size": 3, "from": "prob", "initial_output": 0},
            "end": {"class": "compare", "value": 0, "from": "output"},
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "decision"]
lens = {"data": [5, 2, 4], "classes": [4, 2, 3]}
search = True
param_scale = 0.8
param_seed = 53
