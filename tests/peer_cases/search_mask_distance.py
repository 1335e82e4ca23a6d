"""search_sorted, boolean_mask over all its axes, edit_distance."""

from returnn.tensor import Dim, batch_dim

time, labels_time, places = Dim(None, name="time"), Dim(None, name="labels-time"), Dim(4, name="places")
feature, kept = Dim(2, name="feature", kind=Dim.Types.Feature), Dim(None, name="kept")
extern_data = {
    "data": {"dim_tags": [batch_dim, time, feature], "dtype": "float32"},
    "labels": {
        "dim_tags": [batch_dim, labels_time],
        "dtype": "int32",
        "sparse_dim": Dim(3, name="classes"),
        "available_for_inference": True,
    },
    "steps": {"dim_tags": [batch_dim, places], "dtype": "float32", "available_for_inference": True},
}
search = {"class": "search_sorted", "sorted_sequence": "sorted", "values": "sums", "axis": places}
mask = {"class": "boolean_mask", "from": "data", "mask": "positive"}
positive = "source(0, auto_convert=False) > 0.0"
rounds = "tf.round(source(0)) * 0.5"
network = {
    "rounded": {"class": "eval", "eval": rounds, "from": "data:steps"},
    "sorted": {"class": "eval", "eval": "tf.sort(source(0, auto_convert=False), axis=-1)", "from": "rounded"},
    "sums": {"class": "reduce", "mode": "max", "axis": "F", "from": "halves"},
    "halves": {"class": "eval", "eval": rounds, "from": "data"},
    "left": search,
    "right": {**search, "side": "right"},
    "times": {"class": "cumsum", "from": "ones"},
    "ones": {"class": "eval", "eval": "source(0) * 0.0 + 0.5", "from": "sums"},
    "in_time": {"class": "search_sorted", "sorted_sequence": "times", "values": "rounded", "axis": time},
    "positive": {"class": "eval", "eval": positive, "from": "sums", "out_type": {"dtype": "bool"}},
    "kept": {**mask, "dims": [batch_dim, time]},
    "kept_time_first": {**mask, "dims": [time, batch_dim]},
    "kept_named": {**mask, "dims": [batch_dim, time], "out_dim": kept},
    "rec": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "best": {"class": "reduce", "mode": "argmax", "axis": "F", "from": "rec"},
    "distance": {"class": "edit_distance", "a": "data:labels", "b": "best"},
    "distance_back": {"class": "edit_distance", "a": "best", "b": "data:labels"},
    "distance_same": {"class": "edit_distance", "a": "data:labels", "b": "data:labels"},
    "distance_dims": {
        "class": "edit_distance",
        "a": "best",
        "b": "data:labels",
        "a_spatial_dim": time,
        "b_spatial_dim": labels_time,
    },
    "output": {"class": "copy", "from": "data"},
}
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4], "labels": [3, 4, 1]}
