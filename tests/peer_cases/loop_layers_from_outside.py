"""output/x from outside: x in the loop, moved out, a member, input of a moved one; get_rec_accumulated."""

extern_data = {"data": {"dim": 3}}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "pre": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data:source"},
            "s": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 2,
                "from": ["pre", "prev:s"],
                "is_output_layer": True,
            },
            "feeds": {"class": "linear", "activation": "tanh", "n_out": 2, "from": ["pre", "prev:feeds", "s"]},
            "post": {"class": "linear", "activation": None, "n_out": 4, "from": "feeds"},
            "parts": {"class": "split", "axis": "F", "num_splits": 2, "from": "post", "is_output_layer": True},
            "sub": {
                "class": "subnetwork",
                "from": "s",
                "subnetwork": {
                    "inner": {"class": "linear", "activation": "sigmoid", "n_out": 2, "from": "data"},
                    "output": {"class": "copy", "from": "inner"},
                },
                "is_output_layer": True,
            },
            "output": {"class": "copy", "from": ["parts/1", "sub"]},
        },
    },
    "s": {"class": "copy", "from": "output/s", "is_output_layer": True},
    "pre": {"class": "copy", "from": "output/pre", "is_output_layer": True},
    "feeds": {"class": "linear", "activation": None, "n_out": 3, "from": "output/feeds", "is_output_layer": True},
    "accumulated": {"class": "get_rec_accumulated", "from": "output", "sub_layer": "s", "is_output_layer": True},
    "inner": {"class": "reduce", "mode": "sum", "axis": "T", "from": "output/sub/inner", "is_output_layer": True},
    "with_data": {"class": "combine", "kind": "add", "from": ["data", "feeds"], "is_output_layer": True},
}
fetch = ["output", "s", "pre", "feeds", "accumulated", "inner", "with_data"]
lens = {"data": [5, 1, 4]}
