"""Several channels, complex features, estimates of noise, cosine transforms."""

extern_data = {
    "data": {"dim": 6},
    "two": {"dim": 2, "available_for_inference": True},
    "one": {"dim": 1, "available_for_inference": True},
}


def channels(source="data:two", **opts):
    return {
        "class": "multichannel_stft_layer",
        "frame_shift": 2,
        "frame_size": 4,
        "fft_size": 4,
        "nr_of_channels": 2 if source == "data:two" else 1,
        "from": source,
        "is_output_layer": True,
        **opts,
    }


def resolutions(source="data:two", **opts):
    return {
        "class": "multichannel_multiresolution_stft_layer",
        "frame_shift": 2,
        "frame_sizes": [4, 2],
        "fft_sizes": [4, 4],
        "nr_of_channels": 2 if source == "data:two" else 1,
        "from": source,
        "is_output_layer": True,
        **opts,
    }


def layer(name, source="data", **opts):
    return {"class": name, "from": source, "is_output_layer": True, **opts}


network = {
    "two": channels(),
    "n_out": channels(n_out=6),
    "one": channels("data:one", frame_shift=3, fft_size=8),
    "blackman": channels("data:one", window="blackman"),
    "blackman_odd": channels("data:one", window="blackman", frame_size=5, fft_size=8),
    "ones": channels("data:one", window="ones"),
    "hanning_odd": channels("data:one", frame_size=5, fft_size=5),
    "last_frame": channels("data:one", frame_shift=3, pad_last_frame=True),
    "resolutions": resolutions(),
    "resolutions_one": resolutions("data:one", frame_sizes=[2, 4], fft_sizes=[2, 4], frame_shift=3, window="ones"),
    "clp": layer("complex_linear_projection", nr_of_filters=2),
    "clp_n_out": layer("complex_linear_projection", nr_of_filters=3, n_out=3, clp_weights_init="glorot_uniform"),
    "noise": layer("first_t_frames_noise_estimator", nr_of_frames=2, n_out=6),
    "noise_many": layer("first_t_frames_noise_estimator", nr_of_frames=9, n_out=6),
    "noise_all": layer("first_t_frames_noise_estimator", nr_of_frames=-1, n_out=6),
    "copy": layer("copy"),
    "mask": layer("linear", n_out=6, activation="sigmoid"),
    "masked": {"class": "signal_masking", "signal": "copy", "mask": "mask", "n_out": 6, "is_output_layer": True},
    "masked_from": layer("signal_masking", ["copy", "mask"], signal="copy", mask="mask", n_out=6),
    "split": layer("split_concatenated_multichannel", nr_of_channels=2),
    "split3": layer("split_concatenated_multichannel", nr_of_channels=3, n_out=2),
    "time_major": layer("rec", unit="standardlstm", n_out=4),
    "split_time_major": layer("split_concatenated_multichannel", "time_major", nr_of_channels=2),
    "dct_time_major": layer("dct", "time_major"),
    "dct": layer("dct"),
    "dct_ortho": layer("dct", norm="ortho"),
    "dct1": layer("dct", type=1),
    "dct3": layer("dct", type=3),
    "dct3_ortho": layer("dct", type=3, norm="ortho"),
    "dct4": layer("dct", type=4),
    "dct4_ortho": layer("dct", type=4, norm="ortho"),
    "positive": layer("activation", activation="sigmoid"),
    "scores": layer("normalize_length_scores", "positive"),
    "output": layer(
        "linear",
        ["clp", "clp_n_out", "noise", "masked", "dct", "dct_ortho", "dct_time_major", "scores"],
        activation=None,
        n_out=2,
        loss="as_is",
    ),
}
lens = {"data": [5, 3], "two": [9, 6], "one": [10, 5]}
batch = {"n_batch": 2}
train = True
