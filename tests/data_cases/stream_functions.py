"""Functions over sequences, for dataset cases. In a module, so that any worker process finds them."""


def add_noise(stream, *, epoch, rng, **kwargs):
    """:return: the sequences with noise"""
    for data in stream:
        data.data["data"].raw_tensor = data.data["data"].raw_tensor + rng.normal(
            0.0, 0.1, data.data["data"].raw_tensor.shape
        ).astype("float32")
        yield data


def without_short_ones(stream, **kwargs):
    """:return: those of at least 3 frames"""
    for data in stream:
        if len(data.data["data"].raw_tensor) >= 3:
            yield data
