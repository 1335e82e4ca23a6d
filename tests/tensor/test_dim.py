"""Dim: identity, sizes, joining, text."""

from __future__ import annotations

import copy
import pickle

import numpy
import pytest

from returnn.tensor import Dim, DimError, FeatureDim, SpatialDim, Tensor, batch_dim, single_step_dim
from returnn.tensor.run_table import run_table_ctx


def lens(*n: int) -> numpy.ndarray:
    return numpy.array(n, "int32")


class Labels:
    """A vocabulary, as far as a dim looks at it."""

    num_labels = 5


def test_two_dims_of_a_user_differ_even_if_all_is_equal() -> None:
    """A dim is an identity; only automatic ones are equal by description, kind and size."""
    assert FeatureDim("x", 5) != FeatureDim("x", 5)
    a, b = FeatureDim("x", 5, auto_generated=True), FeatureDim("x", 5, auto_generated=True)
    assert a == b and hash(a) == hash(b)
    assert a != SpatialDim("x", 5, auto_generated=True)
    assert a != FeatureDim("x", 6, auto_generated=True)
    assert a != FeatureDim("y", 5, auto_generated=True)


def test_all_batch_dims_are_equal_and_a_special_dim_only_to_itself() -> None:
    """single_step_dim has size 1, but is no other dim of size 1."""
    other = Dim(None, kind=Dim.Types.Batch, name="b")
    assert other == batch_dim and hash(other) == hash(batch_dim)
    assert single_step_dim == single_step_dim and single_step_dim.dimension == 1
    assert single_step_dim != Dim(1, name="single-step", auto_generated=True)


@pytest.mark.parametrize(
    ("dim", "text"),
    [
        (batch_dim, "Dim{B}"),
        (FeatureDim("f", 5), "Dim{F'f'(5)}"),
        (SpatialDim("s", 5), "Dim{'s'(5)}"),
        (SpatialDim("t"), "Dim{'t'[?]}"),
        (SpatialDim("t", size_dims=(batch_dim,)), "Dim{'t'[B]}"),
        (SpatialDim("t", undefined=True), "Dim{'t'!}"),
        (SpatialDim("t", size_dims=()), "Dim{'t'[]}"),
    ],
)
def test_text(dim: Dim, text: str) -> None:
    """Kind, description, size or the dims of the lengths."""
    assert repr(dim) == text


def test_vocab_gives_the_size() -> None:
    """five labels"""
    dim = FeatureDim("x", None, vocab=Labels())
    assert (dim.dimension, dim.is_static) == (5, True)


@pytest.mark.parametrize("size", [-1, 2.5])
def test_size_must_be_a_natural_number(size: float) -> None:
    """said with the name of the dim"""
    with pytest.raises(DimError, match="Dim 'x': size must be an integer >= 0"):
        Dim(size, name="x")


def test_lengths_belong_to_the_table_not_to_the_dim() -> None:
    """One dim, two steps with other lengths; none outside."""
    t = SpatialDim("t")
    for n in [(3, 2), (1, 5)]:
        with run_table_ctx():
            assert not t.is_dim_known()
            t.dyn_size = lens(*n)
            assert t.dyn_size.tolist() == list(n)
            assert t.get_dim_value() == max(n)
            assert t.size_dims == (batch_dim,)
    with run_table_ctx():
        assert t.dyn_size_ext is None
        with pytest.raises(DimError, match="size of Dim.* is not known here"):
            t.get_dim_value()


def test_lengths_given_to_the_constructor() -> None:
    """as an int tensor, also in place of the size"""
    with run_table_ctx():
        sizes = Tensor("sizes", [batch_dim], "int32", raw_tensor=lens(2, 4))
        for t in (
            Dim(sizes, name="t"),
            Dim(None, name="t", dyn_size_ext=sizes),
            Dim(None, name="t", dyn_size=lens(2, 4)),
        ):
            assert t.is_dynamic and t.need_masking
            assert t.dyn_size.tolist() == [2, 4]


def test_one_length_for_all_needs_no_mask() -> None:
    """a scalar"""
    with run_table_ctx():
        t = Dim(None, name="t", dyn_size=numpy.array(3, "int32"))
        assert not t.need_masking
        assert t.get_dim_value() == 3


def test_mask() -> None:
    """lengths [3, 1] of at most 3 frames"""
    with run_table_ctx():
        t = Dim(None, name="t", dyn_size=lens(3, 1))
        mask = t.get_mask()
        assert mask.dims == (batch_dim, t)
        assert mask.raw_tensor.tolist() == [[True, True, True], [True, False, False]]
        assert t.get_mask() is mask  # computed once


def test_size_tensor_knows_its_dim() -> None:
    """Both ways in; an unknown one gives None, also before it becomes known."""
    with run_table_ctx():
        t, u, a, b = SpatialDim("t"), SpatialDim("u"), lens(1, 2), lens(3, 4)
        assert Dim.get_tag_from_size_tensor(a) is None
        t.set_tag_on_size_tensor(a)
        u.dyn_size = b
        assert Dim.get_tag_from_size_tensor(a) is t and t.dyn_size is a
        assert Dim.get_tag_from_size_tensor(b) is u


def test_joined_dims_are_one() -> None:
    """Whichever side knows something tells the other."""
    with run_table_ctx():
        a, b = SpatialDim("a"), SpatialDim("b")
        a.dyn_size = lens(3, 2)
        a.declare_same_as(b)
        assert a == b and hash(a) == hash(b)
        assert a.same_as is b and a.get_same_base() is b
        assert b.dyn_size.tolist() == [3, 2]
        c = SpatialDim("c", 4)
        d = SpatialDim("d", undefined=True)
        c.declare_same_as(d)
        assert d.dimension == 4 and d.get_same_base() is c


def test_joining_keeps_what_is_derived() -> None:
    """a and a2 are the same, so are a + 1 and a2 + 1; the join with a derived dim keeps its expression."""
    a, a2, c = SpatialDim("a"), SpatialDim("a2"), SpatialDim("c")
    x, y = a + 1, a2 + 1
    assert x != y
    a.declare_same_as(a2)
    assert x == y and hash(x) == hash(y)
    c.declare_same_as(x)
    with run_table_ctx():
        a2.dyn_size = lens(3, 2)
        assert c.dyn_size.tolist() == [4, 3]


def test_join_of_derived_dim_with_its_operand_ends() -> None:
    """The lengths of t are known; pool-and-unpool 2 * ceil(t / 2) declared the same as t must not run in a circle."""
    t = SpatialDim("t")
    padded = 2 * t.ceildiv_right(2)
    t.declare_same_as(padded)
    with run_table_ctx():
        t.dyn_size = lens(4, 2)
        assert padded.dyn_size.tolist() == [4, 2]


def test_different_static_sizes_cannot_be_joined() -> None:
    """AssertionError, as configs expect; nothing changes"""
    a, b = SpatialDim("a", 4), SpatialDim("b", 5)
    with pytest.raises(AssertionError, match="different sizes"):
        a.declare_same_as(b)
    assert a != b and a.dimension == 4


def test_joining_different_lengths_warns(capsys: pytest.CaptureFixture[str]) -> None:
    """The user said so; we say what we make of it."""
    with run_table_ctx():
        a, b = SpatialDim("a", dyn_size=lens(3, 2)), SpatialDim("b", dyn_size=lens(3, 2))
        a.declare_same_as(b)
    assert "Warning: assuming dim tags are same with different size placeholders: " in capsys.readouterr().out


def test_copies() -> None:
    """copy.copy and deepcopy keep the identity; .copy() makes a new dim, the same one by declaration or not."""
    t = SpatialDim("t", 3)
    assert copy.copy(t) is t and copy.deepcopy([t])[0] is t
    same, other = t.copy(match_priority=1), t.copy(same_as_self=False, kind=Dim.Types.Feature)
    assert same is not t and same == t and same.match_priority == 1
    assert other != t and other.is_feature_dim and other.dimension == 3


def test_pickle_keeps_singletons() -> None:
    """a user's dim becomes a new one"""
    t = FeatureDim("t", 3)
    a, b, c = pickle.loads(pickle.dumps([batch_dim, single_step_dim, t]))
    assert a is batch_dim and b is single_step_dim
    assert (c.description, c.dimension, c.kind) == ("t", 3, Dim.Types.Feature)


def test_allowances_of_old_configs() -> None:
    """Each flag on its own."""
    f, g, h = FeatureDim("f", 5), FeatureDim("g", 5), FeatureDim("h", 6)
    s, r, t, u = SpatialDim("s", 5), SpatialDim("r", 5), SpatialDim("t"), SpatialDim("u")
    assert not f.is_equal(g) and f.is_equal(f)
    assert f.is_equal(g, allow_same_feature_dim=True) and not f.is_equal(h, allow_same_feature_dim=True)
    assert f.is_equal(h, ignore_feature_dim=True) and not f.is_equal(s, ignore_feature_dim=True)
    assert s.is_equal(r, allow_same_spatial_dim=True) and not s.is_equal(t, allow_same_spatial_dim=True)
    assert s.is_equal(f, allow_same_spatial_dim=True, treat_feature_as_spatial=True)
    assert not s.is_equal(f, allow_same_spatial_dim=True)
    assert t.is_equal(u, unknown_spatial_matches=True) and not t.is_equal(u)
    assert SpatialDim("one", 1, auto_generated=True).is_equal(h, broadcast_matches=True)
    assert not SpatialDim("one", 1).is_equal(h, broadcast_matches=True)
    assert SpatialDim("x", undefined=True).is_equal(h, undefined_matches=True)
    assert (t + 1).is_equal(t, derived_matches=True) and not (t + 1).is_equal(t)
    with run_table_ctx():
        t.dyn_size, u.dyn_size = lens(3), lens(4)
        assert not t.is_equal(u, unknown_spatial_matches=True)
