"""Labels with another meaning: of other classes, of more of them, as numbers; numbers as labels."""

from returnn.tf.util.data import FeatureDim

extern_data = {
    "data": {"dim": 5, "sparse": True},
    "numbers": {"shape": (None,), "dtype": "int32", "available_for_inference": True},
    "rows": {"shape": (None, 4), "dim": 5, "sparse": True, "available_for_inference": True},
}


def layer(source="data", **options):
    return {"class": "reinterpret_data", "from": source, "is_output_layer": True, **options}


network = {
    "other_classes": layer(set_sparse_dim=9),
    "no_classes": layer(set_sparse_dim=None),
    "given_dim": layer(set_sparse_dim=FeatureDim("classes", 7)),
    "more": layer(increase_sparse_dim=2),
    "other_and_more": layer(set_sparse_dim=8, increase_sparse_dim=1),
    "still": layer(set_sparse=True),
    "still_other": layer(set_sparse=True, set_sparse_dim=6),
    "plain": layer(set_sparse=False),
    "plain_rows": layer("data:rows", set_sparse=False),
    "labels": layer("data:numbers", set_sparse=True, set_sparse_dim=6),
    "unknown_labels": layer("data:numbers", set_sparse=True),
    "no_time": layer(set_axes={"T": None}),
    "embedded": {"class": "linear", "activation": None, "n_out": 3, "from": "other_and_more"},
    "embedded_more": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "labels"},
    "numbers": {"class": "cast", "dtype": "float32", "from": "plain_rows"},
    "embedded_sums": {"class": "reduce", "mode": "sum", "axis": "T", "from": "embedded"},
    "sums": {"class": "reduce", "mode": "sum", "axis": "T", "from": ["embedded_more", "embedded_more"]},
    "mapped_rows": {"class": "linear", "activation": "tanh", "n_out": 3, "from": "numbers"},
    "row_sums": {"class": "reduce", "mode": "sum", "axis": "T", "from": "mapped_rows"},
    "output": {
        "class": "linear",
        "activation": None,
        "n_out": 2,
        "from": ["embedded_sums", "sums", "row_sums"],
        "loss": "as_is",
    },
}
lens = {"data": [4, 2, 3], "numbers": [3, 4, 1], "rows": [2, 1, 2]}
train = True
