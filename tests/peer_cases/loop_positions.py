"""Positional encodings in the loop and out of it: added, plain, of a constant, with an offset."""

extern_data = {"data": {"dim": 4}}


def net(optimize):
    """:return: loop"""
    return {
        "class": "rec",
        "from": "data",
        "optimize_move_layers_out": optimize,
        "unit": {
            "added": {"class": "positional_encoding", "add_to_input": True, "from": "data:source"},
            "plain": {"class": "positional_encoding", "n_out": 4, "from": "data:source"},
            **(
                {"const": {"class": "positional_encoding", "constant": 3, "add_to_input": True, "from": "data:source"}}
                if optimize
                else {}
            ),
            "in_loop": {"class": "positional_encoding", "add_to_input": True, "from": "prev:output"},
            "offset": {
                "class": "positional_encoding",
                "add_to_input": True,
                "offset": "base:offset",
                "from": "data:source",
            },
            "output": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 4,
                "from": ["added", "plain", "in_loop", "offset"] + ["const"] * optimize,
            },
            "second": {"class": "positional_encoding", "add_to_input": True, "from": "output", "is_output_layer": True},
        },
    }


network = {
    "length": {"class": "length", "from": "data"},
    "offset": {"class": "eval", "eval": "source(0) * 0 + 2", "from": "length"},
    "moved": net(True),
    "in_loop": net(False),
    "output": {"class": "copy", "from": ["moved", "in_loop"]},
}
fetch = ["moved", "in_loop", "moved/second", "in_loop/second"]
lens = {"data": [5, 2, 4]}
