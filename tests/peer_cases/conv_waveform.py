"""Features from samples: long filters with strides, envelopes, pooling, a root; chunks of samples as features."""

extern_data = {"data": {"dim": 1}}
network = {
    "filters": {
        "class": "conv",
        "filter_size": (8,),
        "strides": (2,),
        "padding": "valid",
        "n_out": 4,
        "activation": "abs",
        "from": "data",
        "is_output_layer": True,
    },
    "image": {"class": "split_dims", "axis": "F", "dims": (-1, 1), "from": "filters"},
    "envelope": {
        "class": "conv",
        "filter_size": (4, 1),
        "strides": (2, 1),
        "padding": "valid",
        "n_out": 3,
        "from": "image",
        "is_output_layer": True,
    },
    "merged": {"class": "merge_dims", "axes": "static", "from": "envelope"},
    "rooted": {"class": "eval", "eval": "tf.sign(source(0)) * tf.pow(tf.abs(source(0)) + 1e-4, 0.4)", "from": "merged"},
    "norm": {"class": "batch_norm", "masked_time": True, "from": "rooted"},
    "frames": {
        "class": "conv",
        "filter_size": (6,),
        "strides": 3,
        "padding": "same",
        "n_out": 2,
        "with_bias": True,
        "activation": "tanh",
        "from": "data",
        "is_output_layer": True,
    },
    "low": {"class": "pool", "mode": "avg", "pool_size": (4,), "strides": (2,), "padding": "valid", "from": "frames"},
    "low_static": {
        "class": "pool",
        "mode": "max",
        "pool_size": (5,),
        "strides": 4,
        "padding": "same_static",
        "from": "data",
    },
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": "norm", "loss": "as_is"},
    "low_loss": {"class": "linear", "activation": None, "n_out": 2, "from": "low", "loss": "as_is"},
    "static_loss": {"class": "linear", "activation": None, "n_out": 2, "from": "low_static", "loss": "as_is"},
}
lens = {"data": [40, 25]}
batch = {"n_batch": 2}
train = True
