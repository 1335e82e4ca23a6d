"""The attention decoder of :mod:`benchmarks.decoder`."""

from __future__ import annotations

from typing import Any

INPUTS, CLASSES = 40, 1000
EXTERN_DATA = {
    "data": {"dim": INPUTS},
    "classes": {"dim": CLASSES, "sparse": True, "available_for_inference": False},
}


def network(*, with_encoder: bool) -> dict[str, Any]:
    """
    :param with_encoder: six bidirectional LSTM layers, else one linear layer
    :return: layer dict
    """
    net: dict[str, Any] = {}
    source: Any = "data"
    if with_encoder:
        for i in range(6):
            for direction, name in ((1, "fw"), (-1, "bw")):
                net["lstm%i_%s" % (i, name)] = {
                    "class": "rec",
                    "unit": "nativelstm2",
                    "direction": direction,
                    "n_out": 128,
                    "from": source,
                }
            source = ["lstm%i_fw" % i, "lstm%i_bw" % i]
    net["encoder"] = {"class": "linear", "activation": "tanh", "n_out": 256, "from": source}
    net["enc_ctx"] = {"class": "linear", "activation": None, "n_out": 256, "from": "encoder"}
    net["inv_fertility"] = {
        "class": "linear",
        "activation": "sigmoid",
        "with_bias": False,
        "n_out": 1,
        "from": "encoder",
    }
    net["output"] = {
        "class": "rec",
        "from": [],
        "target": "classes",
        "max_seq_len": 25,
        "unit": {
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 12,
                "from": "output_prob",
                "initial_output": 0,
            },
            "end": {"class": "compare", "kind": "equal", "from": "output", "value": 0},
            "embed": {"class": "linear", "activation": None, "with_bias": False, "n_out": 256, "from": "output"},
            "weight_feedback": {
                "class": "linear",
                "activation": None,
                "with_bias": False,
                "from": "prev:accum_att_weights",
                "n_out": 256,
            },
            "s_transformed": {"class": "linear", "activation": None, "with_bias": False, "from": "s", "n_out": 256},
            "energy_in": {
                "class": "combine",
                "kind": "add",
                "from": ["base:enc_ctx", "weight_feedback", "s_transformed"],
                "n_out": 256,
            },
            "energy_tanh": {"class": "activation", "activation": "tanh", "from": "energy_in"},
            "energy": {"class": "linear", "activation": None, "with_bias": False, "from": "energy_tanh", "n_out": 1},
            "att_weights": {"class": "softmax_over_spatial", "from": "energy"},
            "accum_att_weights": {
                "class": "eval",
                "from": ["prev:accum_att_weights", "att_weights", "base:inv_fertility"],
                "eval": "source(0) + source(1) * source(2) * 0.5",
                "out_type": {"dim": 1, "shape": (None, 1)},
            },
            "att0": {"class": "generic_attention", "weights": "att_weights", "base": "base:encoder"},
            "att": {"class": "merge_dims", "axes": "except_batch", "from": "att0"},
            "s": {"class": "rnn_cell", "unit": "LSTMBlock", "from": ["prev:embed", "prev:att"], "n_out": 256},
            "readout_in": {
                "class": "linear",
                "from": ["s", "prev:embed", "att"],
                "activation": None,
                "n_out": 256,
            },
            "readout": {"class": "reduce_out", "mode": "max", "num_pieces": 2, "from": "readout_in"},
            "output_prob": {
                "class": "softmax",
                "from": "readout",
                "target": "classes",
                "loss": "ce",
                "loss_only_on_non_search": True,
            },
        },
    }
    net["decision"] = {"class": "decide", "from": "output", "is_output_layer": True}
    return net
