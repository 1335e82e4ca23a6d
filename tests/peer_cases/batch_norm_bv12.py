"""Batch normalisation as behaviour version 12 has it."""

from returnn.util.basic import BehaviorVersion

BehaviorVersion.set(12)

extern_data = {"data": {"dim": 4}}
network = {
    "masked": {"class": "batch_norm", "masked_time": True, "from": "data", "is_output_layer": True},
    "not_masked": {"class": "batch_norm", "masked_time": False, "from": "data", "is_output_layer": True},
    "version1": {
        "class": "batch_norm",
        "masked_time": True,
        "param_version": 1,
        "from": "data",
        "is_output_layer": True,
    },
    "output": {
        "class": "linear",
        "activation": "tanh",
        "n_out": 3,
        "batch_norm": {"masked_time": True},
        "from": ["masked", "not_masked"],
        "loss": "as_is",
    },
}
lens = {"data": [5, 2, 4]}
train = True
