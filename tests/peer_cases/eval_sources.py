"""Eval: how sources are seen, out_type, locals, functions."""


def scaled(source, self, factor, **kwargs):
    assert self.name == "function"
    return source(0) * factor


def steps(source, network, **kwargs):
    assert network.train_flag is not None
    return source.placeholder + 1.0


def without_time(sources, name, network, **kwargs):
    return sources[0].output.copy_template_excluding_time_dim(name="%s_output" % name)


extern_data = {"data": {"dim": 4}, "labels": {"dim": 6, "sparse": True, "available_for_inference": True}}
config = {"transform": steps}
network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "time_major": {"class": "rec", "unit": "standardlstm", "n_out": 4, "from": "data"},
    "square": {"class": "eval", "eval": "tf.square(source(0))", "from": "data", "is_output_layer": True},
    "two": {"class": "eval", "eval": "source(0) - source(1)", "from": ["data", "mean"], "is_output_layer": True},
    "two_tb": {
        "class": "eval",
        "eval": "source(0) - source(1)",
        "from": ["data", "time_major"],
        "is_output_layer": True,
    },
    "two_bt": {
        "class": "eval",
        "eval": "source(1) - source(0)",
        "from": ["time_major", "data"],
        "is_output_layer": True,
    },
    "as_data": {
        "class": "eval",
        "eval": "source(0, as_data=True).placeholder * 2.0",
        "from": "data",
        "is_output_layer": True,
    },
    "as_data_axes": {
        "class": "eval",
        "from": "time_major",
        "is_output_layer": True,
        "eval": "tf.cumsum(source(0, as_data=True).placeholder, axis=source(0, as_data=True).time_dim_axis)",
    },
    "as_data_two": {
        "class": "eval",
        "from": ["data", "mean"],
        "is_output_layer": True,
        "eval": "source(0, as_data=True).placeholder - source(1, as_data=True).placeholder",
    },
    "as_data_tb": {
        "class": "eval",
        "from": ["data", "time_major"],
        "is_output_layer": True,
        "eval": "source(0, as_data=True).placeholder - source(1, as_data=True).placeholder",
    },
    "locals": {
        "class": "eval",
        "eval": "source(0) * factor",
        "eval_locals": {"factor": 3.0},
        "from": "data",
        "is_output_layer": True,
    },
    "function": {
        "class": "eval",
        "eval": scaled,
        "eval_locals": {"factor": 0.5},
        "from": "data",
        "is_output_layer": True,
    },
    "from_config": {
        "class": "eval",
        "from": "data",
        "is_output_layer": True,
        "eval": "self.network.get_config().typed_value('transform')(source(0, as_data=True), network=self.network)",
    },
    "labels": {"class": "eval", "eval": "tf.maximum(source(0) - 1, 0)", "from": "data:labels", "is_output_layer": True},
    "to_dense": {
        "class": "eval",
        "eval": "tf.cast(source(0), tf.float32) / 2",
        "from": "data:labels",
        "is_output_layer": True,
        "out_type": {"dtype": "float32", "sparse": False, "shape": (None,), "dim": None},
    },
    "to_labels": {
        "class": "eval",
        "eval": "tf.cast(tf.argmax(source(0, auto_convert=False), axis=-1), tf.int32)",
        "from": "data",
        "is_output_layer": True,
        "out_type": {"dtype": "int32", "sparse": True, "dim": 4, "shape": (None,)},
    },
    "flags": {
        "class": "eval",
        "eval": "source(0) > 0",
        "from": "data",
        "out_type": {"dtype": "bool"},
        "is_output_layer": True,
    },
    "sliced": {
        "class": "eval",
        "eval": "source(0, auto_convert=False)[:, :, :2]",
        "from": "data",
        "out_type": {"dim": 2, "shape": (None, 2)},
        "is_output_layer": True,
    },
    "no_time": {
        "class": "eval",
        "eval": "source(0, auto_convert=False)[:, 0]",
        "from": "data",
        "is_output_layer": True,
        "out_type": {"shape": (4,), "time_dim_axis": None},
    },
    "no_time_fn": {
        "class": "eval",
        "eval": "source(0, auto_convert=False)[:, 0]",
        "from": "data",
        "is_output_layer": True,
        "out_type": without_time,
    },
    "batch_major": {
        "class": "eval",
        "eval": "source(0, enforce_batch_major=True)",
        "from": "data",
        "is_output_layer": True,
    },
    "lens": {
        "class": "eval",
        "from": "data",
        "is_output_layer": True,
        "eval": "tf.cast(source(0, as_data=True, auto_convert=False).get_sequence_lengths(), tf.float32)",
        "out_type": {"shape": (), "batch_dim_axis": 0, "time_dim_axis": None, "feature_dim_axis": None, "dim": None},
    },
    "is_train": {
        "class": "eval",
        "from": "data",
        "is_output_layer": True,
        "eval": "self.network.cond_on_train(lambda: source(0) * 2.0, lambda: source(0) * 3.0)",
    },
    "helpers": {"class": "eval", "eval": "safe_log(tf.abs(source(0)))", "from": "data", "is_output_layer": True},
    "where": {
        "class": "eval",
        "eval": "where_bc(source(0) > 0, source(0), 0.5)",
        "from": "data",
        "is_output_layer": True,
    },
    "acted": {"class": "eval", "eval": "source(0) * 2", "activation": "tanh", "from": "data", "is_output_layer": True},
    "output": {"class": "eval", "eval": "source(0) * source(1)", "from": ["function", "two"], "n_out": 4},
}
lens = {"data": [4, 2, 3], "labels": [3, 1, 2]}
