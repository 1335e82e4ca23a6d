"""Self-attention: both directions, left only, with relative positions; batch-major and time-major."""

extern_data = {"data": {"dim": 4}}
_att = {"class": "self_attention", "num_heads": 2, "total_key_dim": 4, "n_out": 6, "is_output_layer": True}
network = {
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "positions": {"class": "relative_positional_encoding", "n_out": 2, "clipping": 2, "from": "data"},
    "positions_tb": {"class": "relative_positional_encoding", "n_out": 2, "from": "time_major"},
    "positions_sin": {"class": "relative_positional_encoding", "n_out": 4, "fixed": True, "from": "data"},
    "plain": {**_att, "from": "data"},
    "plain_tb": {**_att, "from": "time_major"},
    "left": {**_att, "attention_left_only": True, "from": "data"},
    "left_tb": {**_att, "attention_left_only": True, "from": "time_major"},
    "shifted": {**_att, "key_shift": "positions", "from": "data"},
    "shifted_tb": {**_att, "key_shift": "positions_tb", "attention_left_only": True, "from": "time_major"},
    "shifted_sin": {**_att, "key_shift": "positions_sin", "total_key_dim": 8, "from": "data"},
    "one_head": {**_att, "num_heads": 1, "total_key_dim": 3, "n_out": 5, "from": "data"},
    "joined": {**_att, "from": ["data", "time_major"], "restrict_state_to_last_seq": True},
    "of_two": {**_att, "from": "plain", "attention_dropout": 0.0},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": ["of_two", "left_tb"], "loss": "as_is"},
    "loss_2": {"class": "linear", "activation": None, "n_out": 2, "from": ["shifted", "shifted_tb"], "loss": "as_is"},
}
lens = {"data": [6, 3, 5]}
train = True
