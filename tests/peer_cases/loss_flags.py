"""Which losses there are under which flags, in training."""

extern_data = {"data": {"dim": 4}, "classes": {"dim": 3, "sparse": True, "available_for_inference": False}}


def softmax(**more):
    """:return: layer with a loss"""
    return {"class": "softmax", "from": "ff", "loss": "ce", "target": "classes", **more}


network = {
    "ff": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data"},
    "in_eval": softmax(only_on_eval=True),
    "in_search": softmax(only_on_search=True),
    "not_in_search": softmax(loss_only_on_non_search=True, loss_scale=0.5),
    "not_in_extra_search": {"class": "copy", "from": "extra.search:not_in_search", "is_output_layer": True},
    "extra.search:not_in_search": softmax(loss_only_on_non_search=True, name_scope="second"),
    "root": {"class": "linear", "activation": None, "n_out": 2, "from": "ff", "is_output_layer": True},
    "not_built": {"class": "linear", "activation": None, "n_out": 2, "from": "ff"},
    "output": softmax(target="classes", collocate_with=["ff"], need_last=True, initial_output=0),
}
fetch = ["output", "not_in_search", "root", "in_eval"]
lens = {"data": [5, 2, 4], "classes": [5, 2, 4]}
train = True
