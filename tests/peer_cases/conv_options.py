"""Convolution in one dim: padding, strides, dilation, groups, mask, bias; padding leaks as it always did."""

extern_data = {"data": {"dim": 4}}


def conv(**opts):
    return {
        "class": "conv",
        "filter_size": (3,),
        "padding": "same",
        "n_out": 2,
        "from": "data",
        "is_output_layer": True,
        **opts,
    }


network = {
    "same": conv(),
    "even_filter": conv(filter_size=(4,), activation="tanh", with_bias=True),
    "upper": conv(padding="SAME", strides=2),
    "stride_larger": conv(strides=(4,)),
    "valid": conv(padding="valid", strides=2),
    "static": conv(padding="same_static"),
    "static_stride": conv(padding="same_static", strides=2),
    "static_even": conv(padding="same_static", filter_size=(4,), strides=2),
    "number": conv(padding=1, with_bias=True, bias_init=1.0),
    "numbers": conv(padding=(2,), strides=2),
    "dilated_same": conv(dilation_rate=2),
    "dilated_valid": conv(dilation_rate=(2,), padding="valid"),
    "dilated_number": conv(dilation_rate=2, padding=1),
    "groups": conv(groups=2, activation="relu"),
    "groups_stride": conv(groups=2, strides=2, padding="valid"),
    "depthwise": conv(groups=4, n_out=8, strides=2),
    "depthwise_valid": conv(groups=4, n_out=4, padding="valid"),
    "depthwise_static": conv(groups=4, n_out=4, padding="same_static"),
    "masked": conv(use_time_mask=True),
    "masked_static": conv(use_time_mask=True, padding="same_static", strides=2),
    "power": conv(pad_seq_len_to_power=1.5),
    "power_valid": conv(pad_seq_len_to_power=2, padding="valid"),
    "channel_first": conv(auto_use_channel_first=True),
    "again": conv(**{"from": "same"}),
    "joined": {"class": "combine", "kind": "add", "from": ["same", "again", "static"], "is_output_layer": True},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["same", "even_filter", "static", "number", "dilated_same", "masked", "power", "joined"],
        "loss": "as_is",
    },
    "strided": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["upper", "static_stride", "depthwise"],
        "loss": "as_is",
    },
    "valid_loss": {"class": "linear", "activation": None, "n_out": 1, "from": "dilated_valid", "loss": "as_is"},
    "depthwise_loss": {"class": "linear", "activation": None, "n_out": 1, "from": "depthwise_static", "loss": "as_is"},
}
lens = {"data": [7, 5, 6]}
train = True
