"""Layers that move frames, on input with more axes [batch, time, rows, feature]: over time and over rows."""

from returnn.tensor import Dim, batch_dim

time, rows, feature = Dim(None, name="time"), Dim(3, name="rows"), Dim(2, name="feature", kind=Dim.Types.Feature)
extern_data = {"data": {"dim_tags": [batch_dim, time, rows, feature], "dtype": "float32"}}
IN = {"from": "x"}
over_time = {
    "prefix": {"class": "prefix_in_time", "prefix": 0.5},
    "postfix": {"class": "postfix_in_time", "postfix": "highest"},
    "pad": {"class": "pad", "axes": ["T", rows], "padding": [(1, 2), (0, 1)], "handle_dynamic_dims": True},
    "slice": {"class": "slice", "axis": "T", "slice_start": 1, "slice_step": 2},
    "slice_nd": {"class": "slice_nd", "start": "last", "size": None},
    "slice_nd2": {"class": "slice_nd", "start": "last", "size": 2},
    "gather_nd": {"class": "gather_nd", "position": "last"},
    "gather": {"class": "gather", "axis": "T", "position": "last"},
    "shift": {"class": "shift_axis", "axis": "T", "amount": 1},
    "mask": {"class": "seq_len_mask", "mask_value": 0.5},
    "repeat": {"class": "repeat", "axis": "T", "repetitions": 2},
    "cumsum": {"class": "cumsum"},
    "chunks": {"class": "time_chunking", "chunk_size": 2, "chunk_step": 2},
    "window": {"class": "window", "window_size": 3, "stride": 2},
}
over_rows = {
    "rows_prefix": {"class": "prefix_in_time", "axis": rows, "repeat": 2},
    "rows_postfix": {"class": "postfix_in_time", "axis": rows, "postfix": 1.5},
    "rows_slice": {"class": "slice", "axis": rows, "slice_start": 1},
    "rows_slice_end": {"class": "slice", "axis": rows, "slice_end": -1},
    "rows_gather": {"class": "gather", "axis": rows, "position": "one"},
    "rows_gather_number": {"class": "gather", "axis": rows, "position": 2},
    "rows_shift": {"class": "shift_axis", "axis": rows, "amount": -1, "pad": False},
    "rows_repeat": {"class": "repeat", "axis": rows, "repetitions": 2},
    "rows_cumsum": {"class": "cumsum", "axis": rows, "reverse": True},
    "rows_top_k": {"class": "top_k", "axis": rows, "k": 2},
    "rows_window": {"class": "window", "axis": rows, "window_size": 2},
}
network = {name: {**IN, **layer} for name, layer in {**over_time, **over_rows}.items()}
network.update(
    {
        "x": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
        "highest": {"class": "reduce", "mode": "max", "axis": "T", "from": "x"},
        "len": {"class": "length", "from": "data"},
        "last": {"class": "eval", "eval": "source(0) - 1", "from": "len"},
        "one": {"class": "eval", "eval": "source(0) * 0 + 1", "from": "len"},
        "unchunked": {"class": "time_unchunking", "chunking_layer": "chunks", "from": "chunks"},
        "rows_top_places": {"class": "copy", "from": "rows_top_k/indices"},
        "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "slice", "loss": "as_is"},
    }
)
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [5, 2, 4]}
train = True
