"""Functions of users in the loop that ask for the step index; out_type by a function; dev set."""

extern_data = {"data": {"dim": 3}}


def with_step(source, self, **kwargs):
    """:return: values times the index of the step"""
    import tensorflow as tf

    step = self.network.get_rec_step_index()
    return source(0) + source(1) * tf.cast(step, tf.float32)


network = {
    "output": {
        "class": "rec",
        "from": "data",
        "unit": {
            "s": {
                "class": "eval",
                "eval": with_step,
                "from": ["prev:s", "data:source"],
                "out_type": {"dim": 3, "shape": (3,)},
                "is_output_layer": True,
            },
            "is_inside": {
                "class": "eval",
                "eval": "source(0) + (1.0 if self.network.is_inside_rec_layer() else 0.0)",
                "from": "prev:s",
                "out_type": lambda sources, **kwargs: sources[0].output.copy_template(name="some"),
                "initial_output": "ones",
            },
            "output": {"class": "combine", "kind": "add", "from": ["s", "is_inside"]},
        },
    },
}
fetch = ["output", "output/s"]
lens = {"data": [4, 1, 3]}
