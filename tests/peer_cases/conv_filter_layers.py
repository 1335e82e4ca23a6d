"""Filter and bias of a convolution from other layers."""

extern_data = {"data": {"dim": 2}}


def conv(kind="conv", **opts):
    return {
        "class": kind,
        "filter_size": (3,),
        "padding": "same",
        "n_out": 5,
        "from": "data",
        "is_output_layer": True,
        **opts,
    }


network = {
    "w": {"class": "variable", "shape": (3, 2, 5)},
    "w_other": {"class": "variable", "shape": (2, 5, 3)},
    "w_transposed": {"class": "variable", "shape": (3, 5, 2)},
    "w_transposed_other": {"class": "variable", "shape": (5, 2, 3)},
    "b": {"class": "variable", "shape": (5,)},
    "filter": conv(filter="w"),
    "filter_and_bias": conv(filter="w", bias="b"),
    "own_bias": conv(filter="w", with_bias=True, activation="tanh"),
    "only_bias": conv(bias="b", strides=2),
    "by_size": conv(filter="w_other", padding="valid"),
    "perm_list": conv(filter="w_other", filter_perm=["static:2", "static:0", "static:1"]),
    "transposed": conv("transposed_conv", filter="w_transposed", with_bias=False),
    "transposed_bias": conv("transposed_conv", filter="w_transposed", bias="b"),
    "transposed_perm": conv(
        "transposed_conv", filter="w_transposed_other", filter_perm=["static:2", "static:0", "static:1"]
    ),
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["filter", "filter_and_bias", "own_bias", "perm_list"],
        "loss": "as_is",
    },
    "transposed_loss": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["transposed", "transposed_bias", "transposed_perm"],
        "loss": "as_is",
    },
}
lens = {"data": [5, 3]}
batch = {"n_batch": 2}
train = True
