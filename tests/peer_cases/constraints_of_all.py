"""L2 and spatial smoothing: shared parameters, subnetworks, extra nets, time first."""


def linear(n_out, source="data", **more):
    """:return: layer"""
    return {"class": "linear", "activation": "tanh", "n_out": n_out, "from": source, **more}


extern_data = {"data": {"dim": 4}}
network = {
    "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 6, "from": "data", "L2": 0.03},
    "smooth": linear(12, "lstm", spatial_smoothing=0.1),
    "smooth_more": linear(20, "lstm", spatial_smoothing=0.2, activation=None),
    "smooth_square": linear(9, "lstm", spatial_smoothing=0.3),
    "smooth_bm": linear(12, spatial_smoothing=0.37),
    "shared": linear(12, "lstm", reuse_params="smooth", L2=0.5),
    "half_shared": linear(12, "lstm", reuse_params={"map": {"W": "smooth", "b": None}}, L2=0.5),
    "frozen": linear(3, trainable=False, L2=0.7),
    "normed": linear(3, L2=0.2, batch_norm={"masked_time": True}),
    "extra:l2": linear(3, L2=0.1, is_output_layer=True),
    "sub": {
        "class": "subnetwork",
        "from": "smooth_bm",
        "L2": 0.11,
        "subnetwork": {
            "ff": linear(4, L2=0.17),
            "output": linear(15, "ff", spatial_smoothing=0.23, activation="exp"),
        },
    },
    "output": {
        "class": "copy",
        "from": [
            *("smooth", "smooth_more", "smooth_square", "shared"),
            *("half_shared", "frozen", "normed", "sub"),
        ],
        "loss": "as_is",
    },
}
fetch = ["sub", "output"]
lens = {"data": [5, 2, 4]}
train = True
param_scale = 0.5
