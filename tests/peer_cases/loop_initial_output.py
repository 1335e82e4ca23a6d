"""Values of prev: in the first frame: zeros, ones, numbers, a variable, apply(0), layers of the outer network."""

extern_data = {"data": {"dim": 2}}
add = {"class": "combine", "kind": "add", "is_output_layer": True}
forms = {
    "zeros": "zeros",
    "ones": "ones",
    "five": 5,
    "minus": -1.5,
    "var": "var",
    "max": "base:max",
    "first": "base:first",
}
network = {
    "max": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "first": {"class": "gather", "axis": "T", "position": 0, "from": "data"},
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            **{
                name: {**add, "from": ["prev:" + name, "data:source"], "initial_output": value}
                for name, value in forms.items()
            },
            "default": {**add, "from": ["prev:default", "data:source"]},
            "lin": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 2,
                "from": ["data:source", "prev:var"],
                "initial_output": "apply(0)",
                "is_output_layer": True,
            },
            "output": {**add, "from": ["prev:lin", "default", "max"]},
        },
    },
    "loss": {"class": "copy", "from": ["output", "output/var", "output/lin"], "loss": "as_is"},
}
fetch = ["output"] + ["output/" + name for name in [*forms, "default", "lin"]]
lens = {"data": [4, 1, 3]}
train = True
