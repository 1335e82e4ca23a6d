"""Loops of unknown length: an end layer, max_seq_len as number, with and without include_eos."""

extern_data = {"data": {"dim": 2}}


def count(**opts):
    """:return: loop that counts up to the length of the sequence"""
    return {
        "class": "rec",
        "from": [],
        **opts,
        "unit": {
            "c": {"class": "combine", "kind": "add", "from": ["prev:c", "base:step"], "initial_output": 0},
            "end": {"class": "compare", "kind": "greater_equal", "from": ["c", "base:length"]},
            "s": {
                "class": "linear",
                "activation": "tanh",
                "n_out": 2,
                "from": ["prev:s", "base:mean"],
                "is_output_layer": True,
            },
            "output": {"class": "copy", "from": "c"},
        },
    }


network = {
    "mean": {"class": "reduce", "mode": "mean", "axis": "T", "from": "data"},
    "length": {"class": "length", "from": "data"},
    "step": {"class": "eval", "eval": "source(0) * 0 + 1", "from": "length"},
    "plain": count(max_seq_len=10),
    "with_eos": count(max_seq_len=10, include_eos=True),
    "cut": count(max_seq_len=3),
    "cut_with_eos": count(max_seq_len=3, include_eos=True),
    "from_data": count(max_seq_len="max_len_from('base:data') // 2"),
    "from_data2": count(max_seq_len="max_len_from('data') + 1", include_eos=True),
    "output": {"class": "copy", "from": "plain/s"},
    "sum": {"class": "reduce", "mode": "sum", "axis": "T", "from": "with_eos/s"},
}
layers = ["plain", "with_eos", "cut", "cut_with_eos", "from_data", "from_data2"]
for name in layers:
    network[name]["is_output_layer"] = True
fetch = layers + [name + "/s" for name in layers] + ["output"]
lens = {"data": [5, 2, 4]}
