"""scatter_nd: values, constants and sequences, filtered positions, Dims."""

from returnn.tensor import Dim, batch_dim

time, labels_time = Dim(None, name="time"), Dim(None, name="labels-time")
feature, three = Dim(2, name="feature", kind=Dim.Types.Feature), Dim(3, name="three")
extern_data = {
    "data": {"dim_tags": [batch_dim, time, feature], "dtype": "float32"},
    "labels": {
        "dim_tags": [batch_dim, labels_time],
        "dtype": "int32",
        "sparse_dim": Dim(6, name="classes"),
        "available_for_inference": True,
    },
}
number = "tf.cast(tf.abs(source(0, auto_convert=False)[:, :, 0]) * 4.0, tf.int32) % 3"
places = {"dtype": "int32", "shape": (None,), "dim": 3, "sparse": True, "feature_dim_axis": None}
scatter = {
    "class": "scatter_nd",
    "from": "x",
    "position": "places",
    "position_axis": "T",
    "output_dim_via_time_from": "data:labels",
}
in_labels = {**scatter, "position": "small", "output_dim_via_time_from": "x"}
network = {
    "x": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
    "rec": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
    "places": {"class": "eval", "eval": number, "from": "data", "out_type": places},
    "small": {"class": "eval", "eval": "source(0) % 3", "from": "data:labels"},
    "shifted": {"class": "eval", "eval": "source(0) - 1", "from": "data:labels"},
    "one": {"class": "constant", "value": 1.0},
    "highest": {"class": "reduce", "mode": "max", "axis": "T", "from": "rec"},
    "frames": {**scatter, "loss": "as_is"},
    "time_major": {**scatter, "from": "rec", "loss": "as_is"},
    "counts": {**in_labels, "from": "one"},
    "per_seq": {**in_labels, "from": "highest", "loss": "as_is"},
    "filtered": {**in_labels, "from": "one", "position": "shifted", "filter_invalid_indices": True},
    "into_three": {**scatter, "output_dim_via_time_from": None, "out_spatial_dim": three, "loss": "as_is"},
    "into_time": {
        **in_labels,
        "from": "highest",
        "position_axis": labels_time,
        "output_dim_via_time_from": None,
        "out_spatial_dim": time,
    },
    "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "frames", "loss": "as_is"},
}
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4], "labels": [3, 4, 3]}
train = True
