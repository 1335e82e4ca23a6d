"""time_chunking, time_unchunking, around a recurrent layer too."""

extern_data = {"data": {"dim": 2}}
chunk, unchunk = {"class": "time_chunking", "from": "x"}, {"class": "time_unchunking"}
network = {
    "x": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"},
    "rec": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "data"},
    "c21": {**chunk, "chunk_size": 2, "chunk_step": 1},
    "c22": {**chunk, "chunk_size": 2, "chunk_step": 2, "axis": "T"},
    "c32": {**chunk, "chunk_size": 3, "chunk_step": 2},
    "c24": {**chunk, "chunk_size": 2, "chunk_step": 4},
    "c99": {**chunk, "chunk_size": 9, "chunk_step": 9},
    "time_major": {**chunk, "from": "rec", "chunk_size": 3, "chunk_step": 2},
    "in_chunks": {"class": "rec", "unit": "standardlstm", "n_out": 2, "from": "c32"},
    "u21": {**unchunk, "from": "c21", "chunking_layer": "c21"},
    "u24": {**unchunk, "from": "c24", "chunking_layer": "c24"},
    "u99": {**unchunk, "from": "c99", "chunking_layer": "c99"},
    "u_time_major": {**unchunk, "from": "time_major", "chunking_layer": "time_major"},
    "u_rec": {**unchunk, "from": "in_chunks", "chunking_layer": "c32", "loss": "as_is"},
    "output": {"class": "linear", "activation": "tanh", "n_out": 2, "from": "u21", "loss": "as_is"},
}
network = {name: {**layer, "is_output_layer": True} for name, layer in network.items()}
lens = {"data": [6, 2, 4]}
train = True
