"""All kinds of features, other rates and window lengths, normalisation by files, random changes."""

import numpy
from data_files import tone, write_ogg_zip, write_text

ogg = {"class": "OggZipDataset", "path": "speech.zip", "targets": None}
no_changes = {"rnd_zoom_switch": 0, "rnd_stretch_switch": 0, "rnd_pitch_switch": 0}


def cut(audio, sample_rate, random_state):
    """:return: half of the audio, a little louder or not"""
    return audio[: len(audio) // 2] * random_state.uniform(1.0, 2.0)


def double(data, seq_name):
    """:return: twice the features, plus the length of the name"""
    return data * 2 + len(seq_name)


def energy(random_state, audio, sample_rate, window_len, step_len, num_feature_filters, power=1):
    """:return: [time, num_feature_filters]"""
    step = int(step_len * sample_rate)
    frames = numpy.resize(audio, (len(audio) // step, step))
    return numpy.stack(
        [(numpy.abs(frames) ** power).mean(axis=1) * i for i in range(num_feature_filters)], axis=1
    ).astype("float32")


datasets = {
    "log_log": dict(ogg, audio={"features": "log_log_mel_filterbank", "num_feature_filters": 20}),
    "db": dict(
        ogg,
        audio={
            "features": "db_mel_filterbank",
            "num_feature_filters": 20,
            "feature_options": {"fmin": 60, "fmax": 7600, "min_amp": 1e-5, "center": False},
        },
    ),
    "db_default": dict(ogg, audio={"features": "db_mel_filterbank"}),
    "linear": dict(ogg, audio={"features": "linear_spectrogram", "num_feature_filters": 256}),
    "linear_open": dict(
        ogg,
        audio={
            "features": "linear_spectrogram",
            "num_feature_filters": 300,
            "window_len": 0.03,
            "feature_options": {"center": False},
        },
    ),
    "odd_window": dict(ogg, audio={"window_len": 0.0251, "step_len": 0.0101, "num_feature_filters": 20}),
    "mfcc_options": dict(
        ogg, audio={"num_feature_filters": 12, "feature_options": {"n_mels": 30, "fmin": 100, "fmax": 4000}}
    ),
    "other_rate": dict(ogg, path="rate.zip", audio={"sample_rate": 22050, "features": "log_mel_filterbank"}),
    "delta2": dict(ogg, audio={"num_feature_filters": 6, "with_delta": 2, "preemphasis": 0.9}),
    "norm_file": dict(
        ogg, audio={"num_feature_filters": 3, "norm_mean": "mean.txt", "norm_std_dev": "std.txt", "with_delta": True}
    ),
    "norm_number": dict(ogg, audio={"num_feature_filters": 3, "norm_mean": 1.5, "norm_std_dev": 2}),
    "channels": dict(ogg, path="stereo.zip", audio={"features": "raw", "num_channels": 2}),
    "processed": dict(
        ogg, audio={"num_feature_filters": 4, "pre_process": cut, "post_process": double, "join_frames": 2}
    ),
    "function": dict(ogg, audio={"features": energy, "num_feature_filters": 3, "feature_options": {"power": 2}}),
    "scaled": dict(ogg, audio={"features": "raw", "random_permute": no_changes}, seq_ordering="random"),
    "zoomed": dict(ogg, audio={"features": "raw", "random_permute": dict(no_changes, rnd_zoom_switch=1.0)}),
    "stretched": dict(
        ogg, path="long.zip", audio={"features": "raw", "random_permute": dict(no_changes, rnd_stretch_switch=0.6)}
    ),
}
epochs = [1, 2]
ignore = ["info.num_outputs.data"]  # with channels, ours has the number of them


def make_files(folder):
    """Recordings of about 0.1 s, and longer ones."""
    write_ogg_zip("speech.zip", [{"text": "a", "num_samples": n} for n in [2400, 1913, 2240]])
    write_ogg_zip("rate.zip", [{"text": "a", "num_samples": 3000}], rate=22050)
    stereo = numpy.stack([tone(500, 1), 0.5 * tone(500, 2)], axis=1)
    write_ogg_zip("stereo.zip", [{"text": "a", "samples": stereo}])
    write_ogg_zip("long.zip", [{"text": "a", "num_samples": n} for n in [8000, 9000, 7000]])
    write_text("mean.txt", "\n".join(map(str, [0.1, -3.0, 5.0, 0.0, 0.5, 1.0])))
    write_text("std.txt", "\n".join(map(str, [1.0, 3.0, 5.0, 0.5, 1.5, 1.0])))
