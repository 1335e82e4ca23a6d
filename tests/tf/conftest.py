"""For all tests of this folder."""

from __future__ import annotations

import pytest

from tests.tf.fake_network import FakeNetwork


@pytest.fixture
def fake_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines of this test build a :class:`FakeNetwork`."""
    monkeypatch.setattr("returnn.tf.network_graph.TFNetwork", FakeNetwork)
