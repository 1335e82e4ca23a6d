"""Layer dicts of two encoders as speech recognisers have them, for benchmarks. Plain data, no imports."""

from __future__ import annotations

from typing import Any

INPUTS, CLASSES = 40, 1000
EXTERN_DATA: dict[str, Any] = {
    "data": {"dim": INPUTS},
    "classes": {"dim": CLASSES, "sparse": True, "available_for_inference": False},
}


def transformer(num_blocks: int = 12, *, dim: int = 256, heads: int = 4, dropout: float = 0.1) -> dict[str, Any]:
    """
    :param num_blocks: of self attention and two feed-forward layers, each with layer norm before and dropout behind
    :param dim: of the model
    :param heads: of the attention
    :param dropout: everywhere
    :return: layer dict; about nine layers a block
    """
    net: dict[str, Any] = {
        "embed": {"class": "linear", "activation": None, "with_bias": False, "n_out": dim, "from": "data"},
        "pos": {"class": "positional_encoding", "add_to_input": True, "from": "embed"},
        "block0": {"class": "dropout", "dropout": dropout, "from": "pos"},
    }
    for i in range(1, num_blocks + 1):
        x, p = "block%i" % (i - 1), "block%i_" % i
        net[p + "att_norm"] = {"class": "layer_norm", "from": x}
        net[p + "att"] = {
            **{"class": "self_attention", "num_heads": heads, "total_key_dim": dim, "n_out": dim},
            **{"attention_left_only": False, "attention_dropout": dropout, "from": p + "att_norm"},
        }
        net[p + "att_lin"] = {
            "class": "linear",
            "activation": None,
            "with_bias": False,
            "n_out": dim,
            "from": p + "att",
        }
        net[p + "att_drop"] = {"class": "dropout", "dropout": dropout, "from": p + "att_lin"}
        net[p + "att_out"] = {"class": "combine", "kind": "add", "n_out": dim, "from": [x, p + "att_drop"]}
        net[p + "ff_norm"] = {"class": "layer_norm", "from": p + "att_out"}
        net[p + "ff1"] = {"class": "linear", "activation": "relu", "n_out": 4 * dim, "from": p + "ff_norm"}
        net[p + "ff2"] = {
            "class": "linear",
            **{"activation": None, "n_out": dim, "dropout": dropout, "from": p + "ff1"},
        }
        net[p + "ff_drop"] = {"class": "dropout", "dropout": dropout, "from": p + "ff2"}
        net["block%i" % i] = {"class": "combine", "kind": "add", "n_out": dim, "from": [p + "att_out", p + "ff_drop"]}
    net["encoder"] = {"class": "layer_norm", "from": "block%i" % num_blocks}
    net["output"] = {"class": "softmax", "loss": "ce", "target": "classes", "from": "encoder"}
    return net


def blstm_with_conv_front_end(num_layers: int = 6, *, dim: int = 256, dropout: float = 0.1) -> dict[str, Any]:
    """
    :param num_layers: of bidirectional LSTMs
    :param dim: units of each direction
    :param dropout: on the inputs of these
    :return: layer dict: two 2D convolutions that keep the number of frames, then the LSTMs
    """
    conv = {"class": "conv", "filter_size": (3, 3), "padding": "same", "activation": "relu", "with_bias": True}
    net: dict[str, Any] = {
        "source": {"class": "split_dims", "axis": "F", "dims": (-1, 1), "from": "data"},
        "conv0": {**conv, "n_out": 32, "from": "source"},
        "pool0": {"class": "pool", "mode": "max", "pool_size": (1, 2), "padding": "same", "from": "conv0"},
        "conv1": {**conv, "n_out": 32, "from": "pool0"},
        "pool1": {"class": "pool", "mode": "max", "pool_size": (1, 2), "padding": "same", "from": "conv1"},
        "front": {"class": "merge_dims", "axes": "static", "from": "pool1"},
    }
    sources = ["front"]
    for i in range(num_layers):
        for name, direction in (("fw", 1), ("bw", -1)):
            net["lstm%i_%s" % (i, name)] = {
                **{"class": "rec", "unit": "nativelstm2", "n_out": dim, "direction": direction},
                **{"dropout": dropout, "from": sources},
            }
        sources = ["lstm%i_fw" % i, "lstm%i_bw" % i]
    net["output"] = {"class": "softmax", "loss": "ce", "target": "classes", "from": sources}
    return net


NETWORKS = {"transformer": transformer, "blstm": blstm_with_conv_front_end}
