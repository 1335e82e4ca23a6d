"""Variables of all kinds: saved or not, trained or not, with batch and time axis, started by a layer."""

extern_data = {"data": {"dim": 2}}
network = {
    "v": {"class": "variable", "shape": [2], "is_output_layer": True},
    "named": {
        "class": "variable",
        "shape": [2, 3],
        "init": 1,
        "param_name": "foo",
        "add_batch_axis": True,
        "is_output_layer": True,
    },
    "time": {"class": "variable", "shape": [2, 3], "add_time_axis": True, "is_output_layer": True},
    "both": {
        "class": "variable",
        "shape": [2, 3],
        "add_time_axis": True,
        "add_batch_axis": True,
        "dtype": "int32",
        "trainable": False,
        "is_output_layer": True,
    },
    "fixed": {"class": "variable", "shape": [2], "trainable": False, "is_output_layer": True},
    "unsaved": {"class": "variable", "shape": [2], "saveable": False, "is_output_layer": True},
    "uncritical": {"class": "variable", "shape": [2], "non_critical_for_restore": True, "is_output_layer": True},
    "scalar": {"class": "variable", "shape": (), "is_output_layer": True},
    "start": {"class": "constant", "value": 3.5, "shape": [2]},
    "by_layer": {"class": "variable", "shape": [2], "init_by_layer": "start", "is_output_layer": True},
    "output": {"class": "combine", "kind": "add", "from": ["data", "v"], "loss": "as_is"},
}
train = True
