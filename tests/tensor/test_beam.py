"""Search beams."""

from __future__ import annotations

from returnn.tensor import Tensor
from returnn.tensor.beam import SearchBeam


def test_beams_of_one_name_are_equal() -> None:
    """without a name only the same object"""
    assert SearchBeam(12, name="x") == SearchBeam(12, name="x")
    assert hash(SearchBeam(12, name="x")) == hash(SearchBeam(12, name="x"))
    assert SearchBeam(12, name="x") != SearchBeam(12, name="y")
    assert SearchBeam(12) != SearchBeam(12)


def test_beam_shows_in_the_batch_axis_and_is_kept_by_copies() -> None:
    """12 hypotheses per sequence"""
    x = Tensor("q", shape=(2,), beam=SearchBeam(12, name="x"))
    assert repr(x) == "Tensor{'q', [B&Beam{'x'}(12),F|F'feature:q'(2)], beam=Beam{'x'}(12)}"
    assert x.copy_template_dense().beam == x.beam
