"""The function out_type gets eval_locals as arguments."""


def first_frame(sources, name, size, **kwargs):
    return sources[0].output.copy_template_excluding_time_dim(name="%s_output" % name) if size == 2 else None


extern_data = {"data": {"dim": 4}}
network = {
    "output": {
        "class": "eval",
        "eval": "source(0, auto_convert=False)[:, size - 2]",
        "eval_locals": {"size": 2},
        "out_type": first_frame,
        "from": "data",
    },
    "spaces": {"class": "eval", "eval": "  source(0) + 1", "from": "data", "is_output_layer": True},
}
lens = {"data": [5, 2, 4]}
