"""Initial values as configs write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.frontend.init import gammatone_filterbank
from returnn.util.errors import ConfigError
from tests.network.net import Net


def initial(value: Any, n_in: int = 50, n_out: int = 60) -> numpy.ndarray:
    layer = {"class": "linear", "activation": None, "n_out": n_out, "forward_weights_init": value, "from": "data"}
    with Net({"output": layer}, {"data": {"dim": n_in}}) as net:
        return net.get("output/W")


@pytest.mark.parametrize(
    ("value", "limit"),
    [
        ("xavier", (6 / 110) ** 0.5),
        ("uniform_unit_scaling", (3 / 50) ** 0.5),
        ("uniform_unit_scaling_initializer(factor=2.0)", 2 * (3 / 50) ** 0.5),
        ({"class": "VarianceScaling", "scale": 0.78, "mode": "fan_in", "distribution": "uniform"}, (2.34 / 50) ** 0.5),
        ("random_uniform_abs_initializer(0.1)", 0.1),
    ],
)
def test_uniform(value: Any, limit: float) -> None:
    """in (-limit, limit), both ends are nearly reached"""
    values = initial(value)
    assert 0.99 * limit < values.max() <= limit and -limit <= values.min() < -0.99 * limit


@pytest.mark.parametrize(
    ("value", "least", "limit"),
    [
        ("variance_scaling_non_zero_initializer(distribution='uniform')", 0.5, (3 / 50) ** 0.5),
        ("variance_scaling_non_zero_initializer(0.25)", 0.25, 2 / 50**0.5),
        ({"class": "VarianceScalingNonZero", "mode": "fan_out", "distribution": "normal"}, 0.5, 2 / 60**0.5),
    ],
)
def test_variance_scaling_non_zero(value: Any, least: float, limit: float) -> None:
    """no absolute value below that part of the limit"""
    values = numpy.abs(initial(value))
    assert least * limit * 0.9999 <= values.min() < 1.02 * least * limit
    assert 0.99 * limit < values.max() <= limit * 1.0001


def test_gammatone_filters_of_a_convolution() -> None:
    """[samples, 1, channels]"""
    options = {"num_channels": 4, "length": 0.01, "sample_rate": 8000, "freq_max": 3800, "normalization": False}
    expected = gammatone_filterbank(**options)
    text = ", ".join("%s=%r" % item for item in options.items())
    for init in (
        "GammatoneFilterbankInitializer(%s)" % text,
        {"class": "GammatoneFilterbankInitializer", **options},
    ):
        layer = {"class": "conv", "filter_size": (80,), "padding": "valid", "n_out": 4, "from": "data"}
        with Net({"output": {**layer, "forward_weights_init": init}}, {"data": {"dim": 1}}) as net:
            numpy.testing.assert_allclose(net.get("output/W"), expected[:, None], rtol=1e-5)


def test_numbers_from_a_file(tmp_path: Path) -> None:
    """a text file, here with a matrix"""
    path = tmp_path / "numbers.txt"
    path.write_text("1 2 3\n4 5 6\n")
    assert initial("load_txt_file_initializer(%r)" % str(path), 2, 3).tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("load_txt_file_initializer('/nowhere')", "initialiser: cannot load '/nowhere'"),
        ("GammatoneFilterbankInitializer(num_channels=4, length=0.01)", r"initial value has shape \(160, 1, 4\), but"),
        ("GammatoneFilterbankInitializer(num_channels=4)", "length"),
        ("variance_scaling_non_zero_initializer(2)", r"non_zero_fraction must be in \[0, 1\], but is 2"),
        ("variance_scaling_non_zero_initializer(distribution='untruncated_normal')", "a distribution that ends"),
        ("variance_scaling_initializer(mode='fan')", "mode must be fan_in, fan_out or fan_avg, but is 'fan'"),
        ("glorot_unifrom", 'Did you mean "glorot_uniform"'),
    ],
)
def test_initializers_that_do_not_fit(value: str, message: str) -> None:
    """named in the message"""
    with pytest.raises(ConfigError, match=message):
        initial(value)
