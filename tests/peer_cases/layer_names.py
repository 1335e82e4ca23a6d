"""Names of parameters: special characters, name scopes, nested subnetworks."""

extern_data = {"data": {"dim": 3}}
names = ["l:x y+1(2)", "_under", "-minus", "a-b", "with'quote", "a.b", "ünicode", "x*y", "{z}", "a,b&c"]
network = {name: {"class": "linear", "activation": "tanh", "n_out": 2, "from": "data"} for name in names}
network.update(
    {
        "sub net": {
            "class": "subnetwork",
            "from": "data",
            "subnetwork": {
                "_x": {"class": "linear", "activation": None, "n_out": 2, "from": "data"},
                "scoped": {
                    "class": "linear",
                    "activation": None,
                    "n_out": 2,
                    "name_scope": "inner/scope",
                    "from": "data",
                },
                "empty": {
                    "class": "subnetwork",
                    "name_scope": "",
                    "from": "data",
                    "subnetwork": {
                        "deep": {"class": "linear", "activation": None, "n_out": 2, "from": "data"},
                        "output": {"class": "copy", "from": "deep"},
                    },
                },
                "output": {"class": "copy", "from": ["_x", "scoped", "empty"]},
            },
        },
        "abs": {
            "class": "subnetwork",
            "name_scope": "/top",
            "from": "data",
            "subnetwork": {"output": {"class": "linear", "activation": None, "n_out": 2, "from": "data"}},
        },
        "output": {
            "class": "linear",
            "activation": None,
            "n_out": 2,
            "from": names + ["sub net", "abs"],
            "loss": "as_is",
        },
    }
)
fetch = ["output"]
lens = {"data": [5, 2, 4]}
train = True
