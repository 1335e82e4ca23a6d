"""Labels and flags carried from step to step, with a number or a bool as initial_output."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 4, "same_dim_tags_as": {"T": time}},
    "labels": {"dim": 5, "sparse": True, "same_dim_tags_as": {"T": time}},
}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "label": {
                "class": "reduce",
                "mode": "argmax",
                "axis": "F",
                "from": "s",
                "initial_output": 3,
                "is_output_layer": True,
            },
            "same": {
                "class": "compare",
                "kind": "equal",
                "from": ["label", "prev:label"],
                "initial_output": True,
                "is_output_layer": True,
            },
            "different": {
                "class": "compare",
                "kind": "not_equal",
                "value": 2,
                "from": "data:labels",
                "initial_output": False,
                "is_output_layer": True,
            },
            "one_hot": {"class": "linear", "activation": None, "with_bias": False, "n_out": 4, "from": "prev:label"},
            "kept": {
                "class": "switch",
                "condition": "prev:same",
                "true_from": "label",
                "false_from": "prev:kept",
                "initial_output": 1,
                "is_output_layer": True,
            },
            "count": {
                "class": "eval",
                "eval": "source(0) + tf.cast(source(1, auto_convert=False), 'int32')",
                "from": ["prev:count", "prev:different"],
                "out_type": {"dtype": "int32", "sparse": False, "shape": (), "dim": None},
                "initial_output": 0,
                "is_output_layer": True,
            },
            "s": {"class": "combine", "kind": "add", "from": ["data:source", "one_hot"]},
            "output": {"class": "copy", "from": "s"},
        },
    },
}
fetch = ["output"] + ["output/" + name for name in ["label", "same", "different", "kept", "count"]]
lens = {"data": [5, 2, 4], "labels": [5, 2, 4]}
