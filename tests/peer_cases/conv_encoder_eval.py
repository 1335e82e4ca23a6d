"""As conv_encoder, when not training: normalised over the batch, pooled, merged, an LSTM behind it, and a way back
to all frames."""

extern_data = {"data": {"dim": 5}, "classes": {"dim": 4, "sparse": True, "available_for_inference": False}}
network = {
    "norm": {"class": "layer_norm", "from": "data"},
    "image": {"class": "expand_dims", "axis": "F", "from": "norm"},
    "conv0": {
        "class": "conv",
        "filter_size": (3, 3),
        "padding": "same",
        "n_out": 3,
        "activation": None,
        "with_bias": True,
        "batch_norm": True,
        "L2": 0.1,
        "from": "image",
    },
    "relu0": {"class": "activation", "activation": "relu", "from": "conv0"},
    "pool0": {"class": "pool", "mode": "max", "padding": "same", "pool_size": (1, 2), "from": "relu0"},
    "conv1": {
        "class": "conv",
        "filter_size": (3, 3),
        "padding": "same",
        "n_out": 2,
        "activation": "swish",
        "with_bias": True,
        "strides": (2, 1),
        "from": "pool0",
    },
    "merged": {"class": "merge_dims", "axes": "static", "from": "conv1"},
    "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "merged"},
    "depthwise": {
        "class": "conv",
        "filter_size": (3,),
        "padding": "same",
        "n_out": 3,
        "groups": 3,
        "with_bias": True,
        "from": "lstm",
    },
    "gate": {
        "class": "conv",
        "filter_size": (1,),
        "padding": "valid",
        "n_out": 3,
        "activation": "sigmoid",
        "from": "lstm",
    },
    "gated": {"class": "combine", "kind": "mul", "from": ["depthwise", "gate"]},
    "residual": {"class": "combine", "kind": "add", "from": ["gated", "lstm"]},
    "reused": {
        "class": "conv",
        "filter_size": (3,),
        "padding": "same",
        "n_out": 3,
        "groups": 3,
        "with_bias": True,
        "reuse_params": "depthwise",
        "from": "residual",
    },
    "up": {
        "class": "transposed_conv",
        "filter_size": (2,),
        "n_out": 3,
        "activation": "tanh",
        "from": "reused",
        "is_output_layer": True,
    },
    "up_loss": {"class": "linear", "activation": None, "n_out": 2, "from": "up", "loss": "as_is"},
    "output": {"class": "softmax", "loss": "ce", "target": "classes", "from": "reused"},
}
lens = {"data": [7, 4, 5], "classes": [4, 2, 3]}
train = False
