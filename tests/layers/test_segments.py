"""Segmental layers."""

from __future__ import annotations

import numpy
import pytest

from returnn.util.errors import ConfigError
from tests.network.net import out


def test_normalize_length_scores() -> None:
    """x^(t + 1): 2, 2^2, 2^3."""
    layer = {"class": "normalize_length_scores", "from": "data"}
    got = out(layer, {"data": numpy.full((1, 3, 1), 2)}, extern_data={"data": {"dim": 1}})
    numpy.testing.assert_allclose(got[0, :, 0], [2, 4, 8], rtol=1e-5)
    with pytest.raises(ConfigError, match="the input must be float32 with a time axis"):
        out(layer, {"data": [[1]]}, extern_data={"data": {"shape": (1,), "time_dim_axis": None}})
