"""rec layers with cell units inside the loop: one step of each unit a frame, with initial states."""

extern_data = {"data": {"dim": 3}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}
cells = {
    "native2": {"unit": "nativelstm2"},
    "lstm": {"unit": "lstm", "initial_state": "ones"},
    "lstmp": {"unit": "lstmp"},
    "standard": {"unit": "standardlstm", "initial_state": "ones"},
    "gru": {"unit": "gru", "initial_state": "base:start"},
    "native_var": {"unit": "nativelstm2", "initial_state": {"c": "base:start", "h": "zeros"}},
    "norm": {"unit": "layernormvariantslstm"},
    "zoneout": {"unit": "zoneoutlstm", "unit_opts": {"zoneout_factor_cell": 0.3, "zoneout_factor_output": 0.2}},
}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "start": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "mean"},
    "output": {
        "class": "rec",
        "from": "data",
        "target": "classes",
        "unit": {
            **{
                name: {"class": "rec", "n_out": 2, "from": ["data:source", "prev:all"], **opts, "is_output_layer": True}
                for name, opts in cells.items()
            },
            "all": {"class": "linear", "activation": "tanh", "n_out": 3, "from": sorted(cells)},
            "prob": {"class": "softmax", "from": "all", "target": "classes", "loss": "ce"},
            "output": {"class": "copy", "from": "prob"},
        },
    },
}
fetch = ["output"] + ["output/" + name for name in cells]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
param_scale = 0.7
