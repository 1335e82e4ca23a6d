"""Framewise transducer on a given alignment, everything left in the loop; dev set."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 4, "same_dim_tags_as": {"T": time}},
    "align": {"dim": 5, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
}
network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data"},
    "output": {
        "class": "rec",
        "from": "encoder",
        "target": "align",
        "size_target": "align",
        "optimize_move_layers_out": False,
        "unit": {
            "am": {"class": "copy", "from": "data:source"},
            "lm_masked": {
                "class": "masked_computation",
                "mask": "prev:emit",
                "from": "prev:output",
                "unit": {
                    "class": "subnetwork",
                    "from": "data",
                    "subnetwork": {
                        "embed": {
                            "class": "linear",
                            "activation": None,
                            "with_bias": False,
                            "n_out": 4,
                            "from": "data",
                        },
                        "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "embed"},
                        "output": {"class": "copy", "from": "lstm"},
                    },
                },
            },
            "lm": {"class": "unmask", "mask": "prev:emit", "from": "lm_masked"},
            "prev_embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "rec", "unit": "nativelstm2", "n_out": 4, "from": ["am", "prev_embed", "lm"]},
            "readout": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 4,
                "from": ["s", "lm"],
                "is_output_layer": True,
            },
            "output_prob": {
                "class": "softmax",
                "from": "readout",
                "target": "align",
                "loss": "ce",
                "loss_opts": {"focal_loss_factor": 2.0},
            },
            "output": {
                "class": "choice",
                "target": "align",
                "beam_size": 4,
                "from": "output_prob",
                "initial_output": 4,
            },
            "emit": {
                "class": "compare",
                "kind": "not_equal",
                "value": 4,
                "from": "output",
                "initial_output": True,
                "is_output_layer": True,
            },
        },
    },
    "labels": {
        "class": "masked_computation",
        "mask": "output/emit",
        "from": "output",
        "unit": {"class": "copy"},
        "is_output_layer": True,
    },
    "labels_dim": {"class": "reinterpret_data", "set_sparse_dim": 4, "from": "labels", "is_output_layer": True},
}
fetch = ["output", "output/readout", "output/emit", "labels", "labels_dim"]
lens = {"data": [6, 4, 5], "align": [6, 4, 5]}
values = {"align": [[4, 1, 4, 2, 0, 4], [3, 4, 4, 1, 0, 0], [4, 2, 2, 4, 4, 0]]}
