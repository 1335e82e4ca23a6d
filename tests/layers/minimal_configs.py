"""For each layer class a small layer dict that builds it, and data to run it on.

Most are made of the class name alone: a layer on ``data`` with the options of :data:`OPTIONS`. Those that need further
layers are written out.
"""

from __future__ import annotations

from typing import Any

import numpy

from returnn.tensor import FeatureDim, SpatialDim

EXTERN_DATA: dict[str, dict[str, Any]] = {
    "data": {"dim": 6},
    "other": {"dim": 6},
    "classes": {"dim": 6, "sparse": True},
    "labels": {"dim": 4, "sparse": True},
    "short": {"dim": 4, "sparse": True},
    "numbers": {"shape": (None,), "dtype": "int32"},
    "frame": {"shape": (), "dtype": "int32"},
    "waves": {"shape": (None,), "dtype": "float32"},
    "image": {"shape": (None, 4, 3)},
    "long": {"dim": 6},
    "grid": {"shape": (2,), "dtype": "int32"},
}
"""all with the lengths of "data", but for "short" (labels of an alignment), "frame" (one number a sequence), "grid"
(rows and columns, whose product is the length) and "long" (as many frames as windows fit in)"""

LENS = numpy.array([5, 2, 4], "int32")

OPTIONS: dict[str, dict[str, Any]] = {
    "activation": {"activation": "tanh"},
    "batch_norm": {},
    "boolean_mask": {"mask": "is_high", "dims": ["B", "T"]},
    "cast": {"dtype": "float64"},
    "combine": {"kind": "mul", "from": ["data", "data:other"]},
    "combine_dims": {"axes": ["T", "F"], "from": "data:image"},
    "compare": {"kind": "less", "from": ["data", "data:other"]},
    "concat": {"from": [("data", "T"), ("data:other", "T")]},
    "constant": {"value": 2.5, "from": None},
    "conv": {"filter_size": (3,), "padding": "same", "n_out": 4, "with_bias": True},
    "dot": {"from": ["data", "data:other"], "red1": "F", "red2": "F", "var1": "T", "var2": "T"},
    "elemwise_prod": {"axes": "F"},
    "eval": {"eval": "tf.tanh(source(0)) * source(1)", "from": ["data", "data:other"]},
    "expand_dims": {"axis": "F"},
    "flatten_batch": {},
    "forward": {"n_out": 4, "activation": "tanh"},
    "gather": {"position": 1, "axis": "F"},
    "gather_nd": {"position": "data:frame"},
    "gating": {"activation": "tanh"},
    "hidden": {"n_out": 4, "activation": "tanh"},
    "length": {},
    "linear": {"n_out": 4, "activation": "tanh"},
    "math_norm": {"p": 2, "axis": "F"},
    "merge_dims": {"axes": "static", "from": "data:image"},
    "mel_filterbank": {"nr_of_filters": 3, "n_out": 3, "fft_size": 10},
    "norm": {"axes": "F"},
    "pad": {"axes": "F", "padding": 1},
    "pool": {"mode": "max", "pool_size": (2,), "padding": "same"},
    "postfix_in_time": {"postfix": 2.0},
    "prefix_in_time": {"prefix": 2.0},
    "range": {"limit": 4, "from": None},
    "range_in_axis": {"axis": "T"},
    "rec": {"unit": "nativelstm2", "n_out": 3},
    "reduce": {"mode": "mean", "axis": "T"},
    "reduce_out": {"mode": "max", "num_pieces": 2},
    "reinterpret_data": {"switch_axes": "tf", "enforce_time_major": True},
    "relative_positional_encoding": {"n_out": 4, "clipping": 2},
    "remove": {"symbol": 1, "from": "data:classes"},
    "repeat": {"repetitions": 2, "axis": "T"},
    "reshape": {"in_dims": ["F"], "out_dims": [SpatialDim("rows", 2), FeatureDim("columns", 3)]},
    "resize": {"factor": 2, "axis": "T", "kind": "linear"},
    "scaled_grad": {"scale": -0.5},
    "self_attention": {"num_heads": 2, "total_key_dim": 4, "n_out": 6},
    "seq_len_mask": {"mask_value": 3.0},
    "shift_axis": {"axis": "T", "amount": 1},
    "slice": {"axis": "T", "slice_start": 1},
    "slice_nd": {"start": "data:frame", "size": 2},
    "softmax": {"n_out": 4},
    "softmax_over_spatial": {},
    "split": {"num_splits": 2},
    "split_dims": {"axis": "F", "dims": (2, 3)},
    "squeeze": {"axis": "F", "from": "one_high"},
    "stack": {"from": ["data", "data:other"]},
    "swap_axes": {"axis1": "s:1", "axis2": "f", "from": "data:image"},
    "tikhonov_regularization": {},
    "tile": {"multiples": {"F": 2}},
    "tile_features": {"repetitions": 2},
    "time_chunking": {"chunk_size": 3, "chunk_step": 2},
    "top_k": {"axis": "F", "k": 2},
    "twod_lstm": {"n_out": 3, "pooling": "weighted", "from": ["data", "data:labels"]},
    "transpose": {"perm": {"F": "T", "T": "F"}},
    "transposed_conv": {"filter_size": (3,), "strides": (2,), "n_out": 4},
    "variable": {"shape": (3, 4), "init": "glorot_uniform", "from": None},
    "weighted_sum": {"axes": "F"},
    "window": {"window_size": 3},
    "accumulate_mean": {"exp_average": 0.1},
    "alternating_real_to_complex": {},
    "batch_median_pooling": {"pool_size": 3},
    "complex_linear_projection": {"nr_of_filters": 3, "n_out": 3},
    "dct": {},
    "first_t_frames_noise_estimator": {"nr_of_frames": 2},
    "multichannel_multiresolution_stft_layer": {
        "frame_shift": 1,
        "frame_sizes": [4, 2],
        "fft_sizes": [4, 4],
        "nr_of_channels": 6,
    },
    "multichannel_stft_layer": {"frame_shift": 1, "frame_size": 3, "fft_size": 4, "nr_of_channels": 6},
    "print": {},
    "split_concatenated_multichannel": {"nr_of_channels": 2},
    "stft": {"frame_size": 4, "frame_shift": 2, "from": "data:waves"},
    "identity": {},
    "positional_encoding": {"add_to_input": True},
}
"""options of a layer of this class on ``data``"""

HELPERS: dict[str, dict[str, Any]] = {
    "is_high": {"class": "compare", "kind": "greater", "value": 0.0, "from": "one_value"},
    "one_value": {"class": "reduce", "mode": "mean", "axis": "F", "from": "data"},
    "one_high": {"class": "linear", "n_out": 1, "activation": None, "from": "data"},
    "probs": {"class": "softmax", "n_out": 5, "from": "data"},
    "keys": {"class": "linear", "n_out": 6, "activation": "tanh", "from": "data:other"},
    "query": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "log_probs": {"class": "activation", "activation": "log", "from": "probs"},
}
"""layers that others need; built only where they are"""

_SUM = {
    "sum": {
        **{"class": "combine", "kind": "add", "from": ["data:source", "prev:sum"]},
        **{"need_last": True, "is_output_layer": True},
    },
    "output": {"class": "copy", "from": "sum"},
}
_UNSTACK = {
    "x": {"class": "rec_unstack", "from": "base:other_features"},
    "output": {"class": "combine", "kind": "add", "from": ["prev:output", "x", "data:source"]},
}
_SEARCH = {
    "bias": {"class": "linear", "n_out": 6, "activation": None, "from": "prev:output"},
    "scores": {"class": "combine", "kind": "add", "from": ["data:source", "bias"]},
    "output": {
        **{"class": "choice", "target": None, "search": True, "beam_size": 3, "from": "scores"},
        **{"input_type": "logits", "initial_output": 0},
    },
    "beam_scores": {"class": "choice_get_beam_scores", "from": "output", "is_output_layer": True},
    "src_beams": {"class": "choice_get_src_beams", "from": "output", "is_output_layer": True},
}
_LOOP_WITH_SEARCH = {"class": "rec", "from": "data", "unit": _SEARCH}
_TABLE = {
    "output": {"class": "copy", "from": "data:source"},
    "table": {"class": "edit_distance_table", "from": "output", "target": "short", "is_output_layer": True},
    "best": {"class": "optimal_completions", "from": "prev:table", "target": "short", "is_output_layer": True},
}

_HISTORY = {
    "all": {"class": "cum_concat", "from": "data:source"},
    "output": {"class": "reduce", "mode": "sum", "axis": "T", "from": "all"},
}

NETWORKS: dict[str, dict[str, dict[str, Any]]] = {
    "complex_to_alternating_real": {
        "complex": {"class": "alternating_real_to_complex", "from": "data"},
        "output": {"class": "complex_to_alternating_real", "from": "complex"},
    },
    "concat_attention": {
        "output": {"class": "concat_attention", "base": "data:other", "base_ctx": "keys", "from": "query"}
    },
    "copy": {"output": {"class": "copy", "from": ["data", "data:other"]}},
    "ctc_loss": {"output": {"class": "ctc_loss", "logits": "log_probs", "targets": "data:short"}},
    "dot_attention": {"output": {"class": "dot_attention", "base": "data:other", "base_ctx": "keys", "from": "query"}},
    "dropout": {"output": {"class": "dropout", "from": ["data", "data:other"]}},
    "cum_concat": {"output": {"class": "rec", "from": "data", "unit": _HISTORY}},
    "choice": {"loop": _LOOP_WITH_SEARCH, "output": {"class": "copy", "from": "loop/output"}},
    "choice_get_beam_scores": {"loop": _LOOP_WITH_SEARCH, "output": {"class": "copy", "from": "loop/beam_scores"}},
    "choice_get_src_beams": {"loop": _LOOP_WITH_SEARCH, "output": {"class": "copy", "from": "loop/src_beams"}},
    "decide": {"loop": _LOOP_WITH_SEARCH, "output": {"class": "decide", "from": "loop"}},
    "decide_keep_beam": {"loop": _LOOP_WITH_SEARCH, "output": {"class": "decide_keep_beam", "from": "loop"}},
    "split_batch_beam": {"loop": _LOOP_WITH_SEARCH, "output": {"class": "split_batch_beam", "from": "loop"}},
    "edit_distance_table": {
        "relabeled": {"class": "reinterpret_data", "from": "data:classes", "set_sparse_dim": 4},
        "loop": {"class": "rec", "from": "relabeled", "unit": _TABLE},
        "output": {"class": "copy", "from": "loop/table"},
    },
    "get_rec_accumulated": {
        "loop": {"class": "rec", "from": "data", "unit": _SUM},
        "output": {"class": "get_rec_accumulated", "from": "loop", "sub_layer": "sum"},
    },
    "optimal_completions": {
        "relabeled": {"class": "reinterpret_data", "from": "data:classes", "set_sparse_dim": 4},
        "loop": {"class": "rec", "from": "relabeled", "unit": _TABLE},
        "output": {"class": "copy", "from": "loop/best"},
    },
    "rec_last_output": {
        "loop": {"class": "rec", "from": "data", "unit": _SUM},
        "output": {"class": "rec_last_output", "rec_layer": "loop", "sub_layer_name": "sum"},
    },
    "rec_unstack": {
        "other_features": {"class": "linear", "n_out": 6, "activation": "tanh", "from": "data"},
        "output": {"class": "rec", "from": "data", "unit": _UNSTACK},
    },
    "edit_distance": {
        "output": {"class": "edit_distance", "a": "data:classes", "b": "relabeled"},
        "relabeled": {"class": "reinterpret_data", "from": "data:labels", "set_sparse_dim": 6},
    },
    "fast_bw": {
        "output": {"class": "fast_bw", "align_target": "ctc", "align_target_key": "short", "from": "log_probs"}
    },
    "fold": {
        "windows": {"class": "window", "window_size": 3, "from": "data"},
        "output": {
            "class": "fold",
            "mode": "sum",
            "window_dim": "stag:window",
            "in_spatial_dim": "T",
            "from": "windows",
        },
    },
    "forced_align": {
        "output": {
            **{"class": "forced_align", "align_target": "data:short", "topology": "ctc", "input_type": "log_prob"},
            "from": "log_probs",
        }
    },
    "gauss_window_attention": {
        "where": {"class": "reduce", "mode": "sum", "axis": "F", "from": "query"},
        "output": {"class": "gauss_window_attention", "base": "data:other", "window_size": 3, "from": "where"},
    },
    "generic_attention": {
        "energy": {"class": "dot", "from": ["keys", "query"], "red1": "F", "red2": "F", "var1": "T", "var2": None},
        "weights": {"class": "softmax_over_spatial", "from": "energy"},
        "output": {"class": "generic_attention", "weights": "weights", "base": "data:other"},
    },
    "get_last_hidden_state": {
        "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "data"},
        "output": {"class": "get_last_hidden_state", "from": "lstm", "n_out": 6},
    },
    "gradient": {
        "hidden": {"class": "linear", "n_out": 3, "activation": "tanh", "from": "data"},
        "total": {"class": "reduce", "mode": "sum", "axis": ["B", "T", "F"], "from": "hidden"},
        "output": {"class": "gradient", "y": "total", "x": "data"},
    },
    "istft": {
        "spectrum": {"class": "stft", "frame_size": 4, "frame_shift": 2, "from": "data:waves"},
        "output": {"class": "istft", "frame_size": 4, "frame_shift": 2, "from": "spectrum"},
    },
    "loss": {
        "output": {"class": "loss", "loss_": "ce", "target_": "labels", "from": "four"},
        "four": {"class": "softmax", "n_out": 4, "from": "data"},
    },
    "range_from_length": {
        "length": {"class": "length", "from": "data"},
        "output": {"class": "range_from_length", "from": "length"},
    },
    "rnn_cell": {"output": {"class": "rnn_cell", "unit": "standardlstm", "n_out": 3, "from": "query"}},
    "scatter_nd": {
        "output": {
            **{"class": "scatter_nd", "position": "data:numbers", "position_axis": "T", "from": "data"},
            **{"output_dim_via_time_from": "data:long", "filter_invalid_indices": True},
        }
    },
    "search_sorted": {
        "sorted": {"class": "range_in_axis", "axis": "T", "from": "data"},
        "output": {"class": "search_sorted", "sorted_sequence": "sorted", "values": "data:frame"},
    },
    "signal_masking": {"output": {"class": "signal_masking", "signal": "data", "mask": "data:other"}},
    "sparse_softmax_cross_entropy_with_logits": {
        "four": {"class": "linear", "n_out": 4, "activation": None, "from": "data"},
        "output": {"class": "sparse_softmax_cross_entropy_with_logits", "logits": "four", "targets": "data:labels"},
    },
    "split_batch_time": {
        "merged": {"class": "merge_dims", "axes": "BT", "from": "data"},
        "output": {"class": "split_batch_time", "base": "data", "from": "merged"},
    },
    "subnetwork": {
        "output": {
            **{"class": "subnetwork", "from": "data"},
            "subnetwork": {"output": {"class": "linear", "n_out": 3, "activation": "tanh", "from": "data"}},
        }
    },
    "switch": {"output": {"class": "switch", "condition": "is_high", "true_from": "data", "false_from": "data:other"}},
    "synthetic_gradient": {
        "guess": {"class": "linear", "n_out": 6, "activation": None, "from": "data:other"},
        "output": {"class": "synthetic_gradient", "gradient": "guess", "from": "data"},
    },
    "time_unchunking": {
        "chunks": {"class": "time_chunking", "chunk_size": 3, "chunk_step": 2, "from": "data"},
        "output": {"class": "time_unchunking", "chunking_layer": "chunks", "from": "chunks"},
    },
    "unflatten_batch": {
        "flat": {"class": "flatten_batch", "from": "data"},
        "double": {"class": "eval", "eval": "source(0) * 2.0", "from": "flat"},
        "output": {"class": "unflatten_batch", "from": "double"},
    },
    "unflatten_nd": {"output": {"class": "unflatten_nd", "sizes": "data:grid", "num_axes": 2, "from": "data"}},
    "variable_read": {
        "var": {"class": "variable", "shape": (3,), "init": 1.0},
        "output": {"class": "variable_read", "var": "var"},
    },
    "cond": {
        "output": {
            **{"class": "cond", "condition": "is_large", "from": None},
            "true_layer": {"class": "linear", "n_out": 3, "activation": "tanh", "from": "data"},
            "false_layer": {"class": "linear", "n_out": 3, "activation": "relu", "from": "data"},
        },
        "is_large": {"class": "compare", "kind": "greater", "value": 0.0, "from": "sum"},
        "sum": {"class": "reduce", "mode": "sum", "axis": ["B", "T", "F"], "from": "data"},
    },
    "framewise_statistics": {
        "output": {"class": "framewise_statistics", "sil_label_idx": 0, "target": "labels", "from": "four"},
        "four": {"class": "softmax", "n_out": 4, "from": "data"},
    },
    "masked_computation": {
        "output": {
            **{"class": "masked_computation", "mask": "is_high", "from": "data"},
            "unit": {"class": "linear", "n_out": 3, "activation": "tanh", "from": ["data", "keys"]},
        }
    },
    "unmask": {
        "masked": {
            **{"class": "masked_computation", "mask": "is_high", "from": "data"},
            "unit": {"class": "linear", "n_out": 3, "activation": "tanh", "from": "data", "initial_output": 2.0},
        },
        "output": {"class": "unmask", "mask": "is_high", "from": "masked"},
    },
}
"""whole networks, for classes that need more than :data:`OPTIONS`"""


def network_of(name: str) -> dict[str, dict[str, Any]]:
    """
    :param name: of a layer class
    :return: layer dict whose layer "output" is of that class
    """
    if name in NETWORKS:
        return {**HELPERS, **NETWORKS[name]}
    opts = dict(OPTIONS.get(name, {}))
    layer = {"class": name, "from": opts.pop("from", "data"), **opts}
    if layer["from"] is None:
        del layer["from"]
    return {**HELPERS, "output": layer}


def make_data() -> dict[str, numpy.ndarray]:
    """
    :return: key -> value and "key:size1" -> lengths; random behind the ends of sequences, too
    """
    rnd = numpy.random.RandomState(7)
    batch, time = len(LENS), LENS.max()
    data: dict[str, numpy.ndarray] = {
        "data": rnd.normal(size=(batch, time, 6)).astype("float32"),
        "other": rnd.normal(size=(batch, time, 6)).astype("float32"),
        "classes": rnd.randint(0, 6, size=(batch, time)).astype("int32"),
        "labels": rnd.randint(0, 4, size=(batch, time)).astype("int32"),
        "numbers": rnd.randint(0, 9, size=(batch, time)).astype("int32"),
        "waves": rnd.normal(size=(batch, 12)).astype("float32"),
        "image": rnd.normal(size=(batch, time, 4, 3)).astype("float32"),
        "frame": numpy.array([1, 0, 3], "int32"),
        "grid": numpy.array([[1, 5], [2, 1], [2, 2]], "int32"),
        "short": numpy.array([[1, 3], [0, 2], [2, 1]], "int32"),
        "long": rnd.normal(size=(batch, 9, 6)).astype("float32"),
    }
    lens = {key: LENS for key in ("data", "other", "classes", "labels", "numbers", "image")}
    lens.update(
        waves=numpy.array([12, 7, 9], "int32"),
        short=numpy.array([2, 1, 2], "int32"),
        long=numpy.array([9, 8, 9], "int32"),
    )
    return {**data, **{key + ":size1": size for key, size in lens.items()}}
