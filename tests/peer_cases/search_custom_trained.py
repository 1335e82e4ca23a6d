"""The network of search_custom_combine in training: options of the search do nothing."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 4, "same_dim_tags_as": {"T": time}},
    "classes": {"dim": 5, "sparse": True, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
}


def combine(layer, scores_in, scores_base, t, end_flags, batch_dim, scores_beam_in, base_beam_in, **kwargs):
    """:return: scores [B,K',V]: halves those of the label of the previous frame"""
    import tensorflow as tf

    prev = layer.explicit_search_sources[0].output.placeholder
    prev = tf.reshape(prev, [batch_dim, -1])[:, :base_beam_in]
    same = tf.one_hot(prev, layer.output.dim)
    return scores_in * (1.0 - 0.5 * same) + scores_base


network = {
    "encoder": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "data"},
    "output": {
        "class": "rec",
        "from": "encoder",
        "target": "classes",
        "unit": {
            "embed": {"class": "linear", "activation": None, "n_out": 3, "from": "prev:output"},
            "s": {"class": "rnn_cell", "unit": "gru", "n_out": 4, "from": ["data:source", "embed"]},
            "prob": {"class": "softmax", "from": "s", "target": "classes", "loss": "ce"},
            "output": {
                "class": "choice",
                "target": "classes",
                "beam_size": 4,
                "from": "prob",
                "initial_output": 0,
                "length_normalization": False,
                "explicit_search_sources": ["prev:output"],
                "custom_score_combine": combine,
            },
        },
    },
    "decision": {"class": "decide", "from": "output", "is_output_layer": True},
}
fetch = ["output", "decision"]
lens = {"data": [6, 3, 4], "classes": [6, 3, 4]}
train = True
param_scale = 0.7
param_seed = 8
