"""slice: start, end, step, axes. Ends are within the longest sequence: behind it, the reference has a static axis of
another size than its array. And not of data itself: whether the reference takes the static axis for time depends on the
layers in front."""

extern_data = {"data": {"dim": 3}, "labels": {"dim": 6, "sparse": True, "available_for_inference": True}}
cut = {"class": "slice", "from": "x", "axis": "T", "loss": "as_is"}
opts = {
    "start1": {"slice_start": 1},
    "start4": {"slice_start": 4},
    "end2": {"slice_end": 2},
    "end4": {"slice_end": 4},
    "part": {"slice_start": 1, "slice_end": 3},
    "part_step": {"slice_start": 1, "slice_end": 4, "slice_step": 2},
    "but_last": {"slice_end": -1},
    "middle": {"slice_start": 1, "slice_end": -1},
    "step2": {"slice_step": 2},
    "start_step": {"slice_start": 1, "slice_step": 2},
    "backwards": {"slice_step": -1},
    "backwards2": {"slice_step": -2},
    "features": {"axis": "F", "slice_start": 1},
    "features_end": {"axis": "F", "slice_end": 2},
    "features_but_last": {"axis": "F", "slice_end": -1},
    "features_step": {"axis": "F", "slice_step": 2},
    "time_major": {"from": "rec", "slice_start": 1},
    "time_major_end": {"from": "rec_linear", "slice_end": 2},
}
network = {name: {**cut, **o} for name, o in opts.items()}
network.update(
    {
        "x": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"},
        "rec": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
        "rec_linear": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "rec"},
        "labels": {"class": "slice", "axis": "T", "slice_start": 1, "from": "data:labels"},
        "merged": {"class": "merge_dims", "axes": "static", "from": "end2", "loss": "as_is"},
        "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "start1", "loss": "as_is"},
    }
)
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4], "labels": [3, 1, 2]}
train = True
