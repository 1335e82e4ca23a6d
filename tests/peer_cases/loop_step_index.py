"""The step index `:i`: within the loop, and moved out of it; labels and masks made from it."""

extern_data = {"data": {"dim": 2}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "i": {"class": "copy", "from": ":i", "is_output_layer": True},
            "i_float": {"class": "cast", "dtype": "float32", "from": ":i"},
            "plus": {"class": "combine", "kind": "add", "from": ["data:source", "i_float"], "is_output_layer": True},
            "first": {"class": "compare", "kind": "equal", "value": 0, "from": ":i", "is_output_layer": True},
            "late": {"class": "compare", "kind": "greater", "value": 1, "from": ":i"},
            "in_loop": {"class": "combine", "kind": "add", "from": ["prev:output", "i_float"], "is_output_layer": True},
            "sum_i": {
                "class": "combine",
                "kind": "add",
                "from": [":i", "prev:sum_i"],
                "initial_output": 0,
                "is_output_layer": True,
            },
            "chosen": {"class": "switch", "condition": "late", "true_from": "in_loop", "false_from": "data:source"},
            "output": {"class": "combine", "kind": "add", "from": ["chosen", "data:source"]},
        },
    },
}
fetch = ["output"] + ["output/" + name for name in ["i", "plus", "first", "in_loop", "sum_i"]]
lens = {"data": [5, 1, 3]}
