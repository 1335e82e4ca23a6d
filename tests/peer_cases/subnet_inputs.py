"""What data means in subnetworks; sources with time first, sparse ones, without time; those built as a whole."""


def subnet(source, layers, **more):
    """:return: layer"""
    return {"class": "subnetwork", "from": source, "subnetwork": layers, **more}


def linear(n_out, source="data", **more):
    """:return: layer"""
    return {"class": "linear", "activation": "tanh", "n_out": n_out, "from": source, **more}


extern_data = {
    "data": {"dim": 4},
    "labels": {"dim": 5, "sparse": True, "available_for_inference": True},
    "more": {"dim": 2, "available_for_inference": True},
    "vector": {"shape": (3,), "available_for_inference": True},
}
network = {
    "lstm": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "data"},
    "time_major": subnet(
        "lstm",
        {
            "normed": {"class": "layer_norm", "from": "data"},
            "ff": linear(3, "normed", batch_norm={"masked_time": True}),
            "output": {"class": "combine", "kind": "add", "from": ["ff", "data"]},
        },
    ),
    "sparse": subnet("data:labels", {"output": linear(4)}),
    "two_kinds": subnet(
        ["data:labels", "lstm"],
        {
            "a": linear(3, "data:0"),
            "b": linear(3, "data:lstm"),
            "c": linear(3, "data:data:labels"),
            "d": linear(3, "data"),
            "output": {"class": "combine", "kind": "add", "from": ["a", "b", "c", "d"]},
        },
        concat_sources=False,
    ),
    "pooled": {"class": "reduce", "mode": "mean", "axis": "T", "from": "lstm"},
    "no_time": subnet(["pooled", "data:vector"], {"output": linear(4)}),
    "joined": subnet(["lstm", "pooled", "data"], {"output": linear(4, ["data", "base:no_time"])}),
    "no_source": subnet([], {"output": linear(4, "base:data:more")}),
    "outer_key": subnet("data", {"output": linear(4, ["data", "data:vector", "base:lstm"])}),
    "as_a_whole": subnet(
        "data",
        {
            "ff": linear(4),
            "aux": linear(2, loss="as_is", loss_scale=0.3),
            "output": linear(2, "ff"),
        },
        encapsulate=True,
        dropout=0.3,
        dropout_noise_shape={"*": None},
    ),
    "part": {"class": "copy", "from": "as_a_whole/ff"},
    "dropped": subnet(["lstm", "data"], {"output": {"class": "copy", "from": "data"}}, dropout=0.1),
    "last": {"class": "get_last_hidden_state", "n_out": 6, "from": "state"},
    "state": subnet("data", {"output": {"class": "rec", "unit": "nativelstm2", "n_out": 3, "from": "data"}}),
    "output": {
        "class": "copy",
        "from": ["time_major", "joined", "outer_key", "part", "dropped", "state"],
        "loss": "as_is",
    },
    "others": {"class": "copy", "from": ["no_time", "last"], "is_output_layer": True},
    "others4": {"class": "copy", "from": "two_kinds", "is_output_layer": True},
    "others2": {"class": "copy", "from": "no_source", "is_output_layer": True},
    "others3": {"class": "copy", "from": "sparse", "is_output_layer": True},
}
fetch = [*network, "time_major/ff", "two_kinds/c", "as_a_whole/aux"]
lens = {"data": [5, 2, 4], "labels": [5, 2, 4], "more": [2, 1, 3]}
eval_flag = True
