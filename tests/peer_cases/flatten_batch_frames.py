"""Batch and time as one axis, without padding and with it, and back; other layers in between."""

extern_data = {
    "data": {"dim": 3},
    "image": {"shape": (None, 2, 3), "available_for_inference": True},
    "labels": {"dim": 4, "sparse": True, "available_for_inference": True},
}


def layer(name, source, **options):
    return {"class": name, "from": source, "is_output_layer": True, **options}


network = {
    "frames_first": {"class": "rec", "unit": "standardlstm", "n_out": 3, "from": "data"},
    "flat": layer("flatten_batch", "data"),
    "flat_by_frames": layer("flatten_batch", "data", batch_major=False),
    "flat_tag": layer("flatten_batch", "data", axis="stag:time"),
    "flat_image": layer("flatten_batch", "data:image"),
    "flat_labels": layer("flatten_batch", "data:labels"),
    "flat_frames_first": layer("flatten_batch", "frames_first"),
    "flat_frames_first_by_frames": layer("flatten_batch", "frames_first", batch_major=False),
    "back": layer("unflatten_batch", "flat"),
    "back_by_frames": layer("unflatten_batch", "flat_by_frames"),
    "back_image": layer("unflatten_batch", "flat_image"),
    "back_labels": layer("unflatten_batch", "flat_labels"),
    "back_frames_first": layer("unflatten_batch", "flat_frames_first"),
    "back_frames_first_by_frames": layer("unflatten_batch", "flat_frames_first_by_frames"),
    "total": layer("reduce", "flat", mode="sum", axis="B"),
    "mapped": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "flat_frames_first"},
    "sum": {"class": "combine", "kind": "add", "from": ["mapped", "mapped"]},
    "inside": {
        "class": "subnetwork",
        "from": "sum",
        "subnetwork": {"output": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "data"}},
    },
    "back_mapped": layer("unflatten_batch", "inside"),
    "inside_all": {
        "class": "subnetwork",
        "from": "data",
        "subnetwork": {
            "flat": {"class": "flatten_batch", "from": "data"},
            "output": {"class": "unflatten_batch", "from": "flat"},
        },
        "is_output_layer": True,
    },
    "padded": {"class": "merge_dims", "axes": "BT", "from": "data"},
    "mapped_padded": {"class": "linear", "activation": "tanh", "n_out": 4, "from": "padded"},
    "split": layer("split_batch_time", "mapped_padded", base="data"),
    "split_base_frames_first": layer("split_batch_time", "mapped_padded", base="frames_first"),
    "padded_image": {"class": "merge_dims", "axes": "BT", "from": "data:image"},
    "split_image": layer("split_batch_time", "padded_image", base="data:image"),
    "padded_labels": {"class": "merge_dims", "axes": "BT", "from": "data:labels"},
    "split_labels": layer("split_batch_time", "padded_labels", base="data:labels"),
    "flat_output": {
        "class": "softmax",
        "from": "flat",
        "loss": "ce",
        "target": "layer:flat_labels",
        "n_out": 4,
    },
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["back_mapped", "split", "split_base_frames_first"],
        "loss": "as_is",
    },
}
lens = {"data": [4, 2, 3], "image": [2, 1, 3], "labels": [4, 2, 3]}
train = True
