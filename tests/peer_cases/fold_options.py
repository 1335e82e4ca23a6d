"""fold, and window with Dims. Strides of "valid" and those larger than the window are left out: there the reference has
lengths beyond its array."""

from returnn.tensor import Dim, batch_dim

time, window = Dim(None, name="time"), Dim(3, name="window")
feature, three = Dim(2, name="feature", kind=Dim.Types.Feature), Dim(3, name="three")
frames, strided = Dim(None, name="frames"), Dim(None, name="strided")
extern_data = {
    "data": {"dim_tags": [batch_dim, time, feature], "dtype": "float32"},
    "windows": {
        "dim_tags": [batch_dim, time, window, feature],
        "dtype": "float32",
        "available_for_inference": True,
    },
}
fold = {"class": "fold", "from": "x", "in_spatial_dim": time, "window_dim": window, "mode": "sum", "loss": "as_is"}
opts = {
    "sum": {},
    "mean": {"mode": "mean"},
    "valid": {"padding": "valid"},
    "valid_mean": {"padding": "valid", "mode": "mean"},
    "stride2": {"stride": 2},
    "left2": {"window_left": 2},
    "left0": {"window_left": 0, "mode": "mean"},
    "right2": {"window_right": 2},
    "named": {"out_spatial_dim": frames, "padding": "valid", "mode": "mean"},
}
network = {name: {**fold, **o} for name, o in opts.items()}
network.update(
    {
        "x": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data:windows"},
        "wide": {"class": "window", "window_size": 3, "window_dim": three, "from": "data"},
        "wide_by_dim": {"class": "window", "window_dim": three, "from": "data"},
        "strided": {"class": "window", "window_size": 3, "stride": 2, "out_spatial_dim": strided, "from": "data"},
        "again": {**fold, "from": "wide", "window_dim": three, "mode": "mean"},
        "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "sum", "loss": "as_is"},
    }
)
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4], "windows": [5, 2, 4]}
train = True
