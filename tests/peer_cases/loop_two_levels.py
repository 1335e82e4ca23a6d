"""Three loops inside of each other, with base: through all of them; the innermost over features made a sequence."""

extern_data = {"data": {"dim": 3}, "words": {"dim": 2}}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "output": {
        "class": "rec",
        "from": "data:words",
        "unit": {
            "a": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:out0"]},
            "outer": {"class": "combine", "kind": "add", "from": ["base:data", "a"]},
            "middle": {
                "class": "rec",
                "from": "outer",
                "unit": {
                    "b": {
                        "class": "combine",
                        "kind": "add",
                        "from": ["data:source", "prev:b", "base:a", "base:base:mean"],
                    },
                    "output": {"class": "activation", "activation": "tanh", "from": "b"},
                },
            },
            "out0": {"class": "reduce", "mode": "sum", "axis": "T", "from": "middle", "is_output_layer": True},
            "output": {"class": "copy", "from": "out0", "loss": "as_is"},
        },
    },
}
fetch = ["output", "output/out0"]
lens = {"data": [5, 2, 4], "words": [3, 1, 2]}
train = True
