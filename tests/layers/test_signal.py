"""Signal layers."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError
from tests.network.net import Net, out

FLAT = {"data": {"shape": (None,), "dtype": "float32", "feature_dim_axis": None}}
ONE = {"data": {"dim": 1}}


@pytest.fixture
def newest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BehaviorVersion, "_version", BehaviorVersion._latest_behavior_version)


def close(a: Any, b: Any) -> None:
    numpy.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)


def layer(name: str, **options: Any) -> dict[str, Any]:
    return {"class": name, "from": "data", **options}


def test_stft() -> None:
    """0 to 7 in frames 0 to 3, 2 to 5, 4 to 7, times (0, 1/2, 1, 1/2): the first one is 1/2 + 2 + 3/2 = 4, .."""
    got = out(layer("stft", frame_size=4, frame_shift=2), {"data": [numpy.arange(8)]}, extern_data=FLAT)
    assert got.dtype == "complex64" and got.shape == (1, 3, 3)
    close(got[0, 0], [4, -2 + 1j, 0])


def test_istft_undoes_stft() -> None:
    """where as many frames overlap as anywhere; the first sample is seen by no frame"""
    options = {"frame_size": 4, "frame_shift": 1}
    network = {"s": layer("stft", **options), "output": {**layer("istft", **options), "from": "s"}}
    signal = numpy.random.RandomState(1).normal(size=(1, 12))
    with Net(network, FLAT) as net:
        got = net.out(feed=net.feed(data=signal))
    assert got.shape == (1, 12, 1)
    close(got[0, 3:-3, 0], signal[0, 3:-3])


def test_mel_filterbank() -> None:
    """sums of the filters"""
    options = {"fft_size": 16, "nr_of_filters": 3, "n_out": 3, "sampling_rate": 16000}
    got = out(layer("mel_filterbank", **options), {"data": numpy.ones((1, 1, 9))}, extern_data={"data": {"dim": 9}})
    close(got[0, 0], [0.665640, 1.658193, 3.135315])


@pytest.mark.usefixtures("newest")
def test_frames_over_the_end_see_zeros_at_the_newest_version() -> None:
    """Lengths [3, 1]: with a last frame that is not full, the second sequence is 2, 0; then 3, 4 for the first one."""
    options = {"frame_size": 2, "fft_size": 2, "frame_shift": 2, "window": "ones", "pad_last_frame": True}
    with Net({"output": layer("multichannel_stft_layer", **options)}, ONE) as net:
        feed = net.feed({"data": [3, 1]}, data=[[[1], [2], [3]], [[2], [100], [100]]])
        got = net.out(feed=feed)
        assert net.lens(feed=feed) == [[2, 1]]
    close(got[0], [[3, -1], [3, 3]])
    close(got[1, 0], [2, 2])


def test_all_frequencies() -> None:
    """use_rfft False: X[3] is the conjugate of X[1]. (Another implementation stops.)"""
    options = {"frame_size": 4, "fft_size": 4, "frame_shift": 4, "use_rfft": False}
    got = out(layer("multichannel_stft_layer", **options), {"data": [[[1], [2], [3], [4]]]}, extern_data=ONE)
    close(got[0, 0], numpy.fft.fft([0, 1, 3, 2]))


def test_resolutions_have_as_many_frames_as_the_first() -> None:
    """1 to 6, frames of 2 every 2: 3; also those of 4, of which the last is filled with zeros, and those of 1."""
    options = {"frame_sizes": [2, 4, 1], "fft_sizes": [2, 4, 1], "frame_shift": 2, "window": "ones"}
    rows = numpy.arange(1, 7)[None, :, None]
    got = out(layer("multichannel_multiresolution_stft_layer", **options), {"data": rows}, extern_data=ONE)
    assert got.shape == (1, 3, 2 + 3 + 1)
    close(got[0, :, 0], [3, 7, 11])
    close(got[0, :, 2], [10, 18, 11])
    close(got[0, :, 5], [1, 3, 5])


def test_complex_features() -> None:
    """1 + 2i, 3 + 4i and back; |.| is 5 for the last. (Another implementation stops.)"""
    network = {
        "z": layer("alternating_real_to_complex"),
        "abs": {"class": "activation", "activation": "abs", "from": "z", "is_output_layer": True},
        "projected": {
            "class": "complex_linear_projection",
            "nr_of_filters": 1,
            "clp_weights_init": 1,
            "from": "z",
            "is_output_layer": True,
        },
        "output": {"class": "complex_to_alternating_real", "from": "z"},
    }
    with Net(network, {"data": {"dim": 4}}) as net:
        feed = net.feed(data=[[[1, 2, 3, 4]]])
        close(net.out("z", feed)[0, 0], [1 + 2j, 3 + 4j])
        close(net.out("abs", feed)[0, 0], [5**0.5, 5])
        assert net.out("abs", feed).dtype == "float32"
        close(net.out(feed=feed)[0, 0], [1, 2, 3, 4])
        # (4 + 6i) (1 + i) = -2 + 10i
        close(net.out("projected", feed)[0, 0], [numpy.log(104**0.5)])


@pytest.mark.parametrize(("version", "expected"), [(0, [2, 53]), (31, [2, 6])])
def test_noise_of_the_first_frames(version: int, expected: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    """(1 + 3) / 2; (6 + 100) / 2, as the second sequence has one frame only: from version 31 on 6."""
    monkeypatch.setattr(BehaviorVersion, "_version", version)
    with Net({"output": layer("first_t_frames_noise_estimator", nr_of_frames=2)}, ONE) as net:
        feed = net.feed({"data": [3, 1]}, data=[[[1], [3], [8]], [[6], [100], [100]]])
        got = net.out(feed=feed)
    assert got[:, 0, 0].tolist() == expected and got[0, :, 0].tolist() == [2, 2, 2]


def test_tile_features() -> None:
    """1 2 1 2 1 2. (Another implementation stops.)"""
    assert out(layer("tile_features", repetitions=3))[0, 0].tolist() == [1, 2, 1, 2, 1, 2]


def test_channels_to_sequences_and_their_median() -> None:
    """Three channels of one feature: they are sequences with the length of theirs; then 2, of 1 2 3, .."""
    network = {
        "split": layer("split_concatenated_multichannel", nr_of_channels=3),
        "output": {"class": "batch_median_pooling", "pool_size": 3, "from": "split"},
        "pairs": {"class": "batch_median_pooling", "pool_size": 2, "from": "data", "is_output_layer": True},
    }
    with Net(network, {"data": {"dim": 3}}) as net:
        feed = net.feed({"data": [2, 1]}, data=[[[1, 3, 2], [4, 4, 9]], [[7, 5, 6], [0, 0, 0]]])
        assert net.out("split", feed)[:, 0, 0].tolist() == [1, 3, 2, 7, 5, 6]
        assert net.lens("split", feed) == [[2, 2, 2, 1, 1, 1]]
        got = net.out(feed=feed)
        assert [got[0, :, 0].tolist(), got[1, 0].tolist()] == [[2, 4], [6]]
        assert net.lens(feed=feed) == [[2, 1]]
        assert net.out("pairs", feed)[0, 0].tolist() == [4, 4, 4]
        assert net.lens("pairs", feed) == [[2]]


def test_signal_masking() -> None:
    """(1, 2) times (10, 20)"""
    network = {
        "mask": {"class": "eval", "eval": "source(0) * 10", "from": "data"},
        "output": {"class": "signal_masking", "signal": "data", "mask": "mask"},
    }
    with Net(network) as net:
        assert net.out()[0, 0].tolist() == [10, 40]


@pytest.mark.parametrize(
    ("options", "data", "message"),
    [
        ({"class": "stft", "frame_size": 4}, ONE, "frame_shift must be given, as a number > 0, but is None"),
        (
            {"class": "stft", "frame_size": 4, "frame_shift": 2},
            {"data": {"dim": 2}},
            "must be a single channel, but is",
        ),
        (
            {"class": "stft", "frame_size": 4, "frame_shift": 2, "n_out": 4},
            ONE,
            "n_out must be 3, but is 4",
        ),
        (
            {"class": "stft", "frame_size": 4, "frame_shift": 2},
            {"data": {"shape": (None, 3, 1)}},
            "there must be one spatial axis, but there are 2: .* Say with in_spatial_dims which",
        ),
        ({"class": "istft", "frame_size": 4, "frame_shift": 2}, ONE, "the input must be complex64 with 3 features"),
        ({"class": "mel_filterbank", "fft_size": 4, "n_out": 3}, {"data": {"dim": 3}}, "n_out must be 80, but is 3"),
        ({"class": "mel_filterbank", "n_out": 80}, {"data": {"dim": 3}}, r"fft_size // 2 \+ 1 = 513 features, but is"),
        (
            {"class": "multichannel_stft_layer", "frame_size": 4, "frame_shift": 2, "fft_size": 4, "window": "foo"},
            ONE,
            'window must be "hanning", "blackman" or "ones", but is \'foo\'',
        ),
        (
            {"class": "multichannel_stft_layer", "frame_size": 4, "frame_shift": 2, "fft_size": 4},
            {"data": {"dim": 2}},
            "nr_of_channels = 1 features, but is",
        ),
        (
            {"class": "multichannel_multiresolution_stft_layer", "frame_sizes": [4], "fft_sizes": [], "frame_shift": 2},
            ONE,
            r"fft_sizes must be a list of numbers > 0, but is \[\]",
        ),
        (
            {"class": "multichannel_multiresolution_stft_layer", "frame_sizes": [4], "fft_sizes": [4, 4]},
            ONE,
            "must be as many",
        ),
        ({"class": "alternating_real_to_complex"}, {"data": {"dim": 3}}, "an even number of features"),
        ({"class": "complex_to_alternating_real"}, ONE, "the input must be complex64, but is"),
        ({"class": "first_t_frames_noise_estimator"}, ONE, "nr_of_frames must be a number > 0, or -1 for all"),
        ({"class": "split_concatenated_multichannel", "nr_of_channels": 2}, ONE, "1 features cannot be split into 2"),
        ({"class": "dct", "type": 5}, {"data": {"dim": 3}}, "dct: type must be 1, 2, 3 or 4"),
        ({"class": "signal_masking", "from": None}, ONE, 'option "signal" must be a layer name, but is None'),
    ],
)
def test_options_that_do_not_fit(options: dict[str, Any], data: dict[str, Any], message: str) -> None:
    """found before anything is computed"""
    with pytest.raises(ConfigError, match=message), Net({"output": {"from": "data", **options}}, data):
        pass
