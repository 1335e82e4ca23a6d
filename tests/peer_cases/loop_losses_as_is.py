"""Losses of other kinds in the loop: as_is, mse, mean_l1 of a dense target."""

from returnn.tf.util.data import SpatialDim

time = SpatialDim("frames")
extern_data = {
    "data": {"dim": 3, "same_dim_tags_as": {"T": time}},
    "goal": {"dim": 2, "same_dim_tags_as": {"T": time}, "available_for_inference": False},
}
network = {
    "output": {
        "class": "rec",
        "from": "data",
        "target": "goal",
        "unit": {
            "s": {"class": "linear", "activation": "tanh", "n_out": 3, "from": ["data:source", "prev:guess"]},
            "guess": {"class": "linear", "activation": None, "n_out": 2, "from": "s", "loss": "mse", "target": "goal"},
            "size": {"class": "eval", "eval": "source(0) ** 2", "from": "guess", "loss": "as_is", "loss_scale": 0.1},
            "pre": {"class": "eval", "eval": "source(0) ** 2", "from": "data:source", "loss": "as_is"},
            "output": {
                "class": "linear",
                "activation": None,
                "n_out": 2,
                "from": ["s", "prev:size"],
                "loss": "mean_l1",
                "target": "goal",
            },
        },
    },
}
fetch = ["output"]
lens = {"data": [5, 2, 4], "goal": [5, 2, 4]}
train = True
