"""Features of audio: numbers of the specification, laws, mistakes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.datasets.util import audio_features
from returnn.datasets.util.audio_augment import parse_permute_options, resample, time_stretch
from returnn.datasets.util.audio_features import deltas, mel_filters
from returnn.datasets.util.feature_extraction import ExtractAudioFeatures
from returnn.util.errors import ConfigError, UserError

rate = 16000


def two_tones(num_samples: int = 1600) -> numpy.ndarray:
    """:return: 440 Hz, and half as loud 1000 Hz"""
    t = numpy.arange(num_samples) / rate
    return 0.5 * numpy.sin(2 * numpy.pi * 440 * t) + 0.25 * numpy.sin(2 * numpy.pi * 1000 * t)


def extract(audio: numpy.ndarray | None = None, **options: Any) -> numpy.ndarray:
    """:return: features of the two tones"""
    return ExtractAudioFeatures(**options).get_audio_features(two_tones() if audio is None else audio, rate)


def test_mfcc_are_those_of_the_specification() -> None:
    features = extract()
    assert features.shape == (11, 40) and features.dtype == "float32"
    numpy.testing.assert_allclose(features[0, :5], [0.37465, 161.67361, -9.77956, -0.8609, 8.1003], rtol=1e-4)
    numpy.testing.assert_allclose(features[5, :5], [0.52983, 63.318, 7.6323, -32.84991, -32.98545], rtol=1e-4)


@pytest.mark.parametrize(
    ("kind", "num", "first", "total"),
    [
        ("log_mel_filterbank", 80, [-0.56534, -0.53892, -0.45569], -4826.3249),
        ("log_log_mel_filterbank", 80, [-4.9538, -5.36943], None),
        ("db_mel_filterbank", 80, [-4.91048, -4.68104], None),
        ("linear_spectrogram", 512, [4.72774, 4.76263], 6361.6927),
    ],
)
def test_other_features_are_those_of_the_specification(
    kind: str, num: int, first: list[float], total: float | None
) -> None:
    features = extract(features=kind, num_feature_filters=num)
    numpy.testing.assert_allclose(features[0, : len(first)], first, rtol=1e-4)
    if total is not None:
        numpy.testing.assert_allclose(features.sum(dtype="float64"), total, rtol=1e-5)
    if kind == "db_mel_filterbank":
        assert features.min() == -200.0


def test_raw_samples_have_a_peak_of_one() -> None:
    features = extract(features="raw")
    assert features.shape == (1600, 1)
    assert features.max() == 1.0
    quiet = extract(features="raw", peak_normalization=False)
    numpy.testing.assert_allclose(quiet[:, 0], two_tones(), atol=1e-7)


def test_joined_frames_and_moments_of_the_sequence() -> None:
    """Over the 11 frames, mean 0 and deviation 1. Joined, they are four times three, the last frame once more."""
    plain = extract(num_feature_filters=13, norm_mean="per_seq", norm_std_dev="per_seq")
    numpy.testing.assert_allclose(plain.sum(axis=0), numpy.zeros(13), atol=1e-4)
    numpy.testing.assert_allclose(plain.std(axis=0), numpy.ones(13), rtol=1e-4)
    joined = extract(num_feature_filters=13, norm_mean="per_seq", norm_std_dev="per_seq", join_frames=3)
    assert joined.shape == (4, 39)
    frames = joined.reshape(12, 13)
    numpy.testing.assert_allclose(frames[:11], plain, atol=1e-6)
    numpy.testing.assert_array_equal(frames[11], frames[10])


def test_moments_of_a_constant_sequence() -> None:
    """The deviation is 0.01 at least, so nothing is divided by zero."""
    features = extract(numpy.zeros(1600), norm_mean="per_seq", norm_std_dev="per_seq")
    numpy.testing.assert_allclose(features, numpy.zeros((11, 40)), atol=1e-6)


@pytest.mark.parametrize("joined", [False, True])
def test_moments_from_files_are_for_frames_or_for_joined_ones(joined: bool, tmp_path: Path) -> None:
    """(x - m) / s in each column."""
    mean, std_dev = numpy.arange(4.0), numpy.arange(1.0, 5.0)
    plain = extract(num_feature_filters=4, join_frames=2)
    for name, values in (("mean", mean), ("std_dev", std_dev)):
        numpy.savetxt(tmp_path / name, numpy.tile(values, 2) if joined else values)
    options = {"norm_mean": str(tmp_path / "mean"), "norm_std_dev": str(tmp_path / "std_dev")}
    features = extract(num_feature_filters=4, join_frames=2, **options)
    numpy.testing.assert_allclose(features, (plain - numpy.tile(mean, 2)) / numpy.tile(std_dev, 2), atol=1e-5)


def test_derivatives_of_a_square() -> None:
    squares = numpy.arange(12.0)[:, None] ** 2
    numpy.testing.assert_allclose(deltas(squares, 1)[:, 0], [8] * 5 + [10, 12] + [14] * 5, atol=1e-9)
    numpy.testing.assert_allclose(deltas(squares, 2)[:, 0], [2] * 12, atol=1e-9)


@pytest.mark.parametrize("num_frames", [3, 5, 8, 9])
def test_derivatives_of_short_sequences(num_frames: int) -> None:
    """Of 3 t: 3, whatever the number of frames."""
    line = 3.0 * numpy.arange(num_frames)[:, None]
    numpy.testing.assert_allclose(deltas(line, 1), numpy.full((num_frames, 1), 3.0), atol=1e-9)


def test_derivatives_of_too_few_frames_are_zero() -> None:
    assert deltas(numpy.ones((1, 2)), 1).tolist() == [[0.0, 0.0]]
    assert deltas(numpy.ones((0, 2)), 1).shape == (0, 2)
    assert extract(numpy.ones(100), num_feature_filters=5, with_delta=2).shape == (1, 15)


def test_blocks_of_frames_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = [extract(features=kind) for kind in ("mfcc", "log_mel_filterbank")]
    whole.append(extract(features="linear_spectrogram", num_feature_filters=256))
    monkeypatch.setattr(audio_features, "_block_size", 1000)  # two frames
    blocks = [extract(features=kind) for kind in ("mfcc", "log_mel_filterbank")]
    blocks.append(extract(features="linear_spectrogram", num_feature_filters=256))
    for a, b in zip(whole, blocks, strict=True):
        numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-4)


def test_frames_without_padding_lie_inside() -> None:
    """1600 samples, 400 a frame, 160 further each: 1 + 1200 // 160 = 8. And what is shorter than a frame has none."""
    options: dict[str, Any] = {"features": "db_mel_filterbank", "feature_options": {"center": False}}
    assert extract(**options).shape == (8, 40)
    assert extract(numpy.ones(399), **options).shape == (0, 40)


def test_reflection_at_the_ends_is_a_switch() -> None:
    """A constant has the same spectrum in each frame then; with zeros outside, the first frame differs."""
    options: dict[str, Any] = {"features": "log_mel_filterbank", "preemphasis": 0.0}
    mirrored = extract(numpy.ones(1600), feature_options={"pad_mode": "reflect"}, **options)
    numpy.testing.assert_allclose(mirrored, numpy.broadcast_to(mirrored[5], mirrored.shape), atol=1e-6)
    assert numpy.abs(extract(numpy.ones(1600), **options)[0] - mirrored[5]).max() > 0.1


def test_area_of_mel_filters_is_one() -> None:
    """In Hz, for filters wide enough that bins 10 Hz apart see their shape."""
    filters = mel_filters(16000, 1600, 10)
    numpy.testing.assert_allclose(filters.sum(axis=0) * 10, numpy.ones(10), rtol=1e-2)


def test_empty_audio() -> None:
    assert extract(numpy.zeros(0)).shape == (1, 40)
    assert extract(numpy.zeros(0), features="raw").shape == (0, 1)
    assert extract(numpy.zeros(0), features="raw", norm_mean="per_seq", norm_std_dev="per_seq").shape == (0, 1)


def test_preemphasis() -> None:
    """y_t = x_t - 0.5 x_{t-1}."""
    audio = numpy.array([1.0, 2.0, 4.0])
    assert extract(audio, features="raw", preemphasis=0.5, peak_normalization=False)[:, 0].tolist() == [1.0, 1.5, 3.0]


def test_scale_of_random_changes() -> None:
    """The first uniform number of the seed 1 is 0.417022, between 0.8 and 1: 0.8834044."""
    off = {"rnd_zoom_switch": 0, "rnd_stretch_switch": 0, "rnd_pitch_switch": 0}
    features = extract(features="raw", random_permute=off, random_state=numpy.random.RandomState(1))
    assert abs(features.max() - 0.8834044) < 1e-6


def test_each_random_change_changes_what_it_says() -> None:
    """Zoom and stretch by 1.1 and 1 / 1.25 the length, pitch keeps it."""
    switches = ["zoom", "stretch", "pitch"]
    for what, length in (("zoom", 1760), ("stretch", 2000), ("pitch", 1600)):
        options: dict[str, float] = {f"rnd_{s}_switch": float(s == what) for s in switches}
        amount = {"zoom": 1.1, "stretch": 0.8, "pitch": 2.0}[what]
        options.update({f"rnd_{what}_lower": amount, f"rnd_{what}_upper": amount})
        assert extract(features="raw", random_permute=options).shape == (length, 1)


def test_pitch_is_shifted() -> None:
    """By 12 semitones: a tone of 500 Hz has the most energy at 1000 Hz."""
    audio = numpy.sin(2 * numpy.pi * 500 * numpy.arange(16000) / rate)
    options = {f"rnd_{s}_switch": float(s == "pitch") for s in ("zoom", "stretch", "pitch")}
    options.update(rnd_pitch_lower=12.0, rnd_pitch_upper=12.0)
    shifted = extract(audio, features="raw", random_permute=options)[:, 0]
    assert numpy.abs(numpy.fft.rfft(shifted)).argmax() == 1000  # 1 s, so bins of 1 Hz


def test_stretched_tone_keeps_its_pitch() -> None:
    """Twice as long: 500 Hz stay 500 Hz, which is bin 1000 of 2 s."""
    audio = numpy.sin(2 * numpy.pi * 500 * numpy.arange(16000) / rate)
    stretched = time_stretch(audio, 0.5)
    assert len(stretched) == 32000
    assert numpy.abs(numpy.fft.rfft(stretched)).argmax() == 1000


@pytest.mark.parametrize(("num_in", "num_out"), [(100, 150), (150, 100), (100, 51), (99, 200)])
def test_resampled_sine_is_the_sine_at_other_times(num_in: int, num_out: int) -> None:
    """With whole periods, exactly."""
    numpy.testing.assert_allclose(
        resample(numpy.sin(2 * numpy.pi * 3 * numpy.arange(num_in) / num_in), num_out),
        numpy.sin(2 * numpy.pi * 3 * numpy.arange(num_out) / num_out),
        atol=1e-9,
    )


def test_functions_of_the_config() -> None:
    """The first one cuts, the second gives the samples in pairs, the third adds the length of the name."""

    def pre_process(*, audio: numpy.ndarray, sample_rate: int, random_state: Any) -> numpy.ndarray:
        assert sample_rate == rate and random_state is not None
        return audio[:4]

    def features(*, audio: numpy.ndarray, num_feature_filters: int, factor: float, **_kwargs: Any) -> numpy.ndarray:
        return audio.reshape(-1, num_feature_filters) * factor

    def post_process(data: numpy.ndarray, *, seq_name: str) -> numpy.ndarray:
        return data + len(seq_name)

    extractor = ExtractAudioFeatures(
        features=features,
        num_feature_filters=2,
        feature_options={"factor": 10.0},
        pre_process=pre_process,
        post_process=post_process,
        peak_normalization=False,
    )
    data = extractor.get_audio_features(numpy.arange(6.0), rate, seq_name="abc")
    assert data.tolist() == [[3.0, 13.0], [23.0, 33.0]]


def test_channels() -> None:
    audio = numpy.arange(6.0).reshape(3, 2)
    features = extract(audio, features="raw", num_channels=2, peak_normalization=False)
    assert features.tolist() == [[[0.0], [1.0]], [[2.0], [3.0]], [[4.0], [5.0]]]


def test_other_rate_and_channels_name_the_file() -> None:
    extractor = ExtractAudioFeatures(sample_rate=8000)
    with pytest.raises(
        UserError, match=r"^The audio file a.wav has 16000 samples a second, but the audio option sample"
    ):
        extractor.get_audio_features(two_tones(), rate, file_name="a.wav")
    with pytest.raises(UserError, match=r"^The audio file of sequence 's' has 2 channels, expected 1\. Convert it, or"):
        extractor.get_audio_features(numpy.zeros((10, 2)), 8000, seq_name="s")
    two = ExtractAudioFeatures(features="raw", num_channels=2)
    with pytest.raises(UserError, match=r"has 1 channel, expected 2\. The audio option num_channels is 2"):
        two.get_audio_features(numpy.zeros(10), 8000, seq_name="s")


def test_other_rate_is_converted_if_wanted() -> None:
    """Half of the samples."""
    extractor = ExtractAudioFeatures(features="raw", sample_rate=8000, resample=True)
    assert extractor.get_audio_features(two_tones(), rate).shape == (800, 1)
    assert extractor.get_audio_features(two_tones(), 8000).shape == (1600, 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"features": "mfc"}, r"audio features 'mfc' are unknown\. Did you mean \"mfcc\"\?"),
        ({"features": "raw_ogg", "num_feature_filters": 1}, r"made by a C library that is not part"),
        ({"features": "raw_ogg"}, r"\"raw_ogg\" need num_feature_filters"),
        ({"feature_options": {"f_min": 1}}, r"features \"mfcc\" have no option 'f_min'\. Did you mean \"fmin\"\?"),
        ({"random_permute": {"rnd_zoom": 1}}, r"random_permute: 'rnd_zoom' is unknown\. Did you mean"),
        ({"random_permute": 3}, r"random_permute must be True or a dict, but is 3"),
        ({"norm_mean": [1.0, 2.0]}, r"norm_mean: expected 40 values, as there are features, got the shape \(2,\)"),
        ({"norm_mean": [1.0], "join_frames": 3, "num_feature_filters": 4}, r"expected 4 or 12 values"),
        ({"num_channels": 2}, r"num_channels is only for features \"raw\""),
        ({"resample": True}, r"resample needs the option sample_rate"),
        ({"num_feature_filters": 129}, r"num_feature_filters=129 is more than n_mels=128"),
        ({"features": "linear_spectrogram", "num_feature_filters": 100}, r"must be even, and at least half of the 400"),
        ({"feature_options": {"pad_mode": "edge"}}, r"pad_mode must be \"constant\" or \"reflect\""),
        ({"window_len": 1e-6}, r"a window of 1e-06 s has no sample at 16000 Hz"),
        ({"features": lambda **_: numpy.zeros((3, 2))}, r"must return an array \[time, 40\].*one of shape \(3, 2\)"),
        ({"pre_process": lambda **_: 3}, r"pre_process must return an array \[time\], but returned 3"),
        ({"post_process": lambda x, **_: x[0]}, r"post_process must return an array \[time, 40\].*\(40,\)"),
    ],
)
def test_mistakes_are_explained(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        extract(**options)


def test_norm_file_that_is_not_there_or_none(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"file of audio option norm_mean not found: .*Did you mean \"mean.txt\"\?"):
        (tmp_path / "mean.txt").write_text("a\n")
        ExtractAudioFeatures(norm_mean=str(tmp_path / "means.txt"))
    with pytest.raises(UserError, match=r"norm_mean \(file .*mean.txt\): expected one number a line, but"):
        ExtractAudioFeatures(norm_mean=str(tmp_path / "mean.txt"))


def test_random_changes_can_be_off() -> None:
    assert parse_permute_options(None) is None and parse_permute_options(False) is None
    defaults = parse_permute_options(True)
    assert defaults is not None and defaults["rnd_stretch_upper"] == 1.2
