"""The option out_type on several layers, as a dict and as a function; n_out given twice."""


def like_source(sources, name, network, n_out=None, **kwargs):
    assert n_out == 4
    return sources[0].output.copy_template("%s_output" % name)


extern_data = {"data": {"dim": 4}, "labels": {"dim": 6, "sparse": True, "available_for_inference": True}}
network = {
    "fn": {
        "class": "eval",
        "eval": "source(0) * 2",
        "from": "data",
        "n_out": 4,
        "out_type": like_source,
        "is_output_layer": True,
    },
    "dtype": {
        "class": "eval",
        "eval": "tf.cast(source(0), tf.int32)",
        "from": "data",
        "out_type": {"dtype": "int32"},
        "is_output_layer": True,
    },
    "dim_shape": {
        "class": "eval",
        "eval": "tf.concat([source(0), source(0)], axis=-1)",
        "from": "data",
        "out_type": {"dim": 8, "shape": (None, 8)},
        "is_output_layer": True,
    },
    "wider": {
        "class": "eval",
        "eval": "tf.expand_dims(source(0, auto_convert=False), axis=2)",
        "from": "data",
        "out_type": {"shape": (None, 1, 4), "dim": 4},
        "is_output_layer": True,
    },
    "one_hot": {
        "class": "eval",
        "eval": "tf.one_hot(source(0, auto_convert=False), 6)",
        "from": "data:labels",
        "is_output_layer": True,
        "out_type": {"sparse": False, "dim": 6, "shape": (None, 6), "dtype": "float32"},
    },
    "more_classes": {
        "class": "eval",
        "eval": "source(0) + 1",
        "from": "data:labels",
        "out_type": {"dim": 7},
        "is_output_layer": True,
    },
    "sparse_dim": {
        "class": "eval",
        "eval": "source(0) + 1",
        "from": "data:labels",
        "out_type": {"dim": 7, "sparse": True},
        "is_output_layer": True,
    },
    "time_first": {
        "class": "eval",
        "eval": "tf.transpose(source(0, auto_convert=False), [1, 0, 2])",
        "from": "data",
        "is_output_layer": True,
        "out_type": {"shape": (None, 4), "batch_dim_axis": 1, "time_dim_axis": 0},
    },
    "time_first2": {"class": "linear", "n_out": 3, "activation": "tanh", "from": "time_first", "is_output_layer": True},
    "no_batch": {
        "class": "eval",
        "eval": "tf.reduce_max(source(0, auto_convert=False), axis=[0, 1])",
        "from": "data",
        "is_output_layer": True,
        "out_type": {"batch_dim_axis": None, "shape": (4,), "time_dim_axis": None},
    },
    "scalar": {
        "class": "eval",
        "eval": "tf.reduce_max(source(0, auto_convert=False))",
        "from": "data",
        "is_output_layer": True,
        "out_type": {"batch_dim_axis": None, "shape": ()},
    },
    "linear_dim": {
        "class": "linear",
        "activation": None,
        "out_type": {"dim": 3},
        "from": "data",
        "is_output_layer": True,
    },
    "output": {"class": "copy", "from": ["fn", "dim_shape"]},
}
lens = {"data": [5, 2, 4], "labels": [3, 4, 2]}
