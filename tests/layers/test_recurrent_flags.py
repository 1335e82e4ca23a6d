"""Which layers need sequences apart: if none does, a batch is all frames of its sequences in one row."""

from __future__ import annotations

from typing import Any

import pytest

from tests.layers.recurrent.common import NetworkRun, fresh_graph

IN = {"from": "data"}
LINEAR = {"class": "linear", "activation": "tanh", "n_out": 2, **IN}
APART: dict[str, dict[str, Any]] = {
    "rec": {"class": "rec", "unit": "gru", "n_out": 2, **IN},
    "pool": {"class": "pool", "mode": "max", "pool_size": (3,), "strides": 1, "padding": "same", **IN},
    "conv": {"class": "conv", "filter_size": (3,), "padding": "same", "n_out": 2, **IN},
    "transposed_conv": {"class": "transposed_conv", "filter_size": (3,), "n_out": 2, **IN},
    "noise": {"class": "first_t_frames_noise_estimator", "nr_of_frames": 2, **IN},
    "window": {"class": "window", "window_size": 3, **IN},
    "eval": {"class": "eval", "eval": "source(0) * 2.0", **IN},
    "combine_eval": {"class": "combine", "kind": "eval", "eval": "source(0) * 2.0", **IN},
    "subnetwork": {"class": "subnetwork", "subnetwork": {"output": LINEAR}, **IN},
    "ctc": {"class": "softmax", "n_out": 6, "loss": "ctc", "target": "classes", **IN},
    # the next four would mix the frames of different sequences
    "reduce_time": {"class": "reduce", "mode": "max", "axis": "T", **IN},
    "reduce_batch": {"class": "reduce", "mode": "mean", "axis": "B", **IN},
    "split_time": {"class": "split_dims", "axis": "T", "dims": (-1, 2), **IN},
    "merge_time": {"class": "merge_dims", "axes": ["T", "F"], **IN},
    "concat_time": {"class": "concat", "from": [("data", "T"), ("data", "T")]},
    # lengths would be other ones
    "length": {"class": "length", **IN},
    "range_in_axis": {"class": "range_in_axis", "axis": "T", **IN},
    "slice_time": {"class": "slice", "axis": "T", "slice_start": 1, **IN},
    "gather_time": {"class": "gather", "axis": "T", "position": 0, **IN},
    "pad_time": {"class": "pad", "axes": ["F", "T"], "padding": 1, **IN},
    "prefix_in_time": {"class": "prefix_in_time", **IN},
    "shift_time": {"class": "shift_axis", "axis": "T", "amount": 1, "adjust_size_info": False, **IN},
    "cumsum_time": {"class": "cumsum", **IN},
    "top_k_time": {"class": "top_k", "axis": "T", "k": 1, **IN},
}
TOGETHER: dict[str, dict[str, Any]] = {
    "linear": LINEAR,
    "copy": {"class": "copy", "dropout": 0.1, **IN},
    "activation": {"class": "activation", "activation": "tanh", **IN},
    "combine": {"class": "combine", "kind": "add", "from": ["data", "data"]},
    "reduce_feature": {"class": "reduce", "mode": "max", "axis": "F", "keep_dims": True, **IN},
    "reduce_out": {"class": "reduce_out", "mode": "max", "num_pieces": 2, **IN},
    "split_feature": {"class": "split_dims", "axis": "F", "dims": (-1, 2), **IN},
    "slice_feature": {"class": "slice", "axis": "F", "slice_start": 1, **IN},
    "gather_feature": {"class": "gather", "axis": "F", "position": 0, **IN},
    "pad_feature": {"class": "pad", "axes": "F", "padding": 1, **IN},
    "shift_feature": {"class": "shift_axis", "axis": "F", "amount": 1, **IN},
    "repeat_feature": {"class": "repeat", "axis": "F", "repetitions": 2, **IN},
    "cumsum_feature": {"class": "cumsum", "axis": "F", **IN},
    "top_k_feature": {"class": "top_k", "axis": "F", "k": 1, **IN},
    "merge_batch": {"class": "merge_dims", "axes": "BT", **IN},
    "concat_feature": {"class": "concat", "from": [("data", "F"), ("data", "F")]},
    "stack": {"class": "stack", "from": ["data", "data"]},
    "split": {"class": "split", "num_splits": 2, **IN},
    "expand_dims": {"class": "expand_dims", "axis": "F", **IN},
    "swap_axes": {"class": "swap_axes", "axis1": "T", "axis2": "F", **IN},
    "reinterpret_data": {"class": "reinterpret_data", "enforce_time_major": True, **IN},
    "flatten_batch": {"class": "flatten_batch", **IN},
    "batch_norm": {"class": "batch_norm", **IN},
    "layer_norm": {"class": "layer_norm", **IN},
    "dct": {"class": "dct", **IN},
    "ce": {"class": "softmax", "n_out": 5, "loss": "ce", "target": "classes", **IN},
}
EXTERN_DATA = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True}}


def needs_sequences_apart(layer: dict[str, Any]) -> bool:
    with fresh_graph():
        run = NetworkRun({"x": dict(layer, is_output_layer=True)}, extern_data=EXTERN_DATA)
        return any(x.recurrent for x in run.network.layers.values())


@pytest.mark.parametrize("name", APART)
def test_layers_that_look_at_other_frames(name: str) -> None:
    assert needs_sequences_apart(APART[name])


@pytest.mark.parametrize("name", TOGETHER)
def test_layers_that_look_at_each_frame_alone(name: str) -> None:
    assert not needs_sequences_apart(TOGETHER[name])
