"""edit_distance_table and optimal_completions frame by frame."""

extern_data = {"data": {"dim": 5}, "classes": {"dim": 5, "sparse": True}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "optimize_move_layers_out": False,
        "unit": {
            "s": {"class": "linear", "activation": "tanh", "n_out": 5, "from": ["data:source", "prev:s"]},
            "output": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "s", "initial_output": 0},
            "table": {
                "class": "edit_distance_table",
                "from": "output",
                "target": "layer:base:data:classes",
                "is_output_layer": True,
            },
            "best": {
                "class": "optimal_completions",
                "from": "prev:table",
                "target": "layer:base:data:classes",
                "is_output_layer": True,
            },
        },
    },
}
fetch = ["output", "output/table", "output/best"]
lens = {"data": [5, 2, 4], "classes": [3, 4, 1]}
