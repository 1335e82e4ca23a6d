"""safe_log of what exp, softmax, sigmoid gave, and safe_exp of logarithms: exact, also where the others would be cut."""

extern_data = {"data": {"dim": 4}}
network = {
    "large": {"class": "eval", "eval": "source(0) * 100.", "from": "scaled"},
    "scaled": {"class": "linear", "activation": None, "n_out": 4, "from": "data"},
    "softmax": {"class": "activation", "activation": "softmax", "from": "large"},
    "sigmoid": {"class": "activation", "activation": "sigmoid", "from": "large"},
    "exp": {"class": "activation", "activation": "exp", "from": "scaled"},
    "log_softmax": {"class": "activation", "activation": "log_softmax", "from": "large"},
    "log_sigmoid": {"class": "activation", "activation": "log_sigmoid", "from": "scaled"},
    "log": {"class": "activation", "activation": "log", "from": "exp"},
    "copied": {"class": "copy", "from": "softmax"},
    "linear_softmax": {"class": "softmax", "n_out": 3, "from": "large"},
    "a": {"class": "activation", "activation": "safe_log", "from": "softmax"},
    "b": {"class": "activation", "activation": "safe_log", "opts": {"eps": 1e-5}, "from": "softmax"},
    "c": {"class": "activation", "activation": "safe_log", "from": "sigmoid"},
    "d": {"class": "activation", "activation": "safe_log", "from": "exp"},
    "e": {"class": "activation", "activation": "safe_log", "from": "copied"},
    "f": {"class": "activation", "activation": "safe_log", "from": "linear_softmax"},
    "g": {"class": "activation", "activation": "safe_exp", "from": "log_softmax"},
    "h": {"class": "activation", "activation": "safe_exp", "from": "log_sigmoid"},
    "i": {"class": "activation", "activation": "safe_exp", "from": "log"},
    "l": {"class": "activation", "activation": "safe_log", "from": "cut"},
    "cut": {"class": "eval", "eval": "source(0) * 1.", "from": "softmax"},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": ["a", "c", "d", "g", "h"], "loss": "as_is"},
}
for _name in "abcdefghil":
    network[_name]["is_output_layer"] = True
lens = {"data": [5, 2, 4]}
param_scale = 1.0
train = True
