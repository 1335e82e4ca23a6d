"""custom_score_combine with two explicit sources: a penalty by how often each hypothesis had a label."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 5, "sparse": True, "available_for_inference": False}}


def combine(layer, scores_in, scores_base, t, end_flags, batch_dim, scores_beam_in, base_beam_in, **kwargs):
    """:return: scores [B,K',V]: label 4 costs more the more often it came"""
    import tensorflow as tf

    count = layer.explicit_search_sources[1].output.placeholder
    count = tf.reshape(count, [batch_dim, -1])[:, :base_beam_in]
    penalty = tf.one_hot([4], layer.output.dim) * tf.cast(count, tf.float32)[:, :, None]
    return scores_in + scores_base - 0.4 * penalty


network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "output": {
        "class": "rec",
        "from": "encoder",
        "target": "classes",
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 4, "from": ["data:source", "embed"]},
            "prob": {"class": "softmax", "from": "s", "target": "classes"},
            "is_four": {"class": "compare", "value": 4, "from": "output"},
            "count": {
                "class": "eval",
                "eval": "source(0) + tf.cast(source(1), tf.int32)",
                "from": ["prev:count", "is_four"],
                "out_type": {"dtype": "int32", "shape": (), "sparse": False, "dim": None},
                "initial_output": 0,
                "is_output_layer": True,
            },
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 4,
                "from": "prob",
                "initial_output": 0,
                "length_normalization": False,
                "explicit_search_sources": ["prev:output", "prev:count"],
                "custom_score_combine": combine,
            },
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "output/count", "decision"]
lens = {"data": [6, 3, 4], "classes": [4, 2, 3]}
search = True
param_scale = 1.2
param_seed = 55
