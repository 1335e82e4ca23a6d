"""Positional encodings: absolute ones, with offsets; relative ones, with other axes."""

from returnn.tensor import Dim, batch_dim

frames, places = Dim(None, name="frames"), Dim(None, name="places")
feature, other = Dim(4, name="feature", kind=Dim.Types.Feature), Dim(6, name="other", kind=Dim.Types.Feature)
extern_data = {
    "data": {"dim_tags": [batch_dim, frames, feature], "time_dim_axis": 1, "dtype": "float32"},
    "query": {
        "dim_tags": [batch_dim, places, other],
        "time_dim_axis": 1,
        "dtype": "float32",
        "available_for_inference": True,
    },
}
network = {
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "lens": {"class": "length", "from": "data"},
    "vector": {"class": "reduce", "mode": "max", "axis": "T", "from": "data"},
    "wide": {"class": "linear", "activation": None, "n_out": 10, "from": "data"},
    "heads": {"class": "split_dims", "axis": "F", "dims": (2, -1), "from": "wide"},
    "abs": {"class": "positional_encoding", "n_out": 4, "from": "data"},
    "abs_odd": {"class": "positional_encoding", "n_out": 7, "from": "data"},
    "abs_tb": {"class": "positional_encoding", "n_out": 6, "from": "time_major"},
    "abs_added": {"class": "positional_encoding", "add_to_input": True, "from": "data"},
    "abs_added_tb": {"class": "positional_encoding", "add_to_input": True, "n_out": 4, "from": "time_major"},
    "abs_heads": {"class": "positional_encoding", "add_to_input": True, "from": "heads"},
    "abs_const": {"class": "positional_encoding", "n_out": 5, "constant": 3, "from": "data"},
    "abs_const_vector": {"class": "positional_encoding", "n_out": 5, "constant": 3, "from": "vector"},
    "abs_const_added": {"class": "positional_encoding", "add_to_input": True, "constant": 0, "from": "data"},
    "abs_offset": {"class": "positional_encoding", "n_out": 5, "offset": "lens", "from": "data"},
    "abs_offset_added": {"class": "positional_encoding", "add_to_input": True, "offset": "lens", "from": "time_major"},
    "abs_axis": {"class": "positional_encoding", "axis": "T", "n_out": 4, "from": "data"},
    "rel": {"class": "relative_positional_encoding", "n_out": 3, "from": "data"},
    "rel_cut": {"class": "relative_positional_encoding", "n_out": 3, "clipping": 1, "from": "time_major"},
    "rel_sin": {"class": "relative_positional_encoding", "n_out": 5, "fixed": True, "clipping": 3, "from": "data"},
    "rel_zeros": {"class": "relative_positional_encoding", "n_out": 3, "forward_weights_init": 0.0, "from": "data"},
    "rel_offset": {
        "class": "relative_positional_encoding",
        "n_out": 3,
        "query_offset": 2,
        "clipping": 3,
        "from": "data",
    },
    "rel_both": {
        "class": "relative_positional_encoding",
        "n_out": 3,
        "query_spatial_dim": frames,
        "key_value_spatial_dim": places,
        "from": "data",
    },
    "rel_query": {"class": "relative_positional_encoding", "n_out": 3, "query_spatial_dim": frames, "from": "data"},
    "rel_key": {
        "class": "relative_positional_encoding",
        "n_out": 4,
        "key_value_spatial_dim": places,
        "from": "data",
        "fixed": True,
    },
    "use": {"class": "linear", "activation": None, "n_out": 2, "from": "data:query", "loss": "as_is"},
    "rel_sum": {"class": "reduce", "mode": "sum", "axis": "F", "from": "rel_flat"},
    "rel_flat": {"class": "eval", "eval": "source(0) * source(0)", "from": "rel_cut"},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["abs_added_tb", "abs_offset"],
        "loss": "as_is",
    },
}
for _name, _layer in network.items():
    if "positional" in _layer["class"]:
        _layer["is_output_layer"] = True
lens = {"data": [6, 3, 5], "query": [2, 4, 3]}
train = True
