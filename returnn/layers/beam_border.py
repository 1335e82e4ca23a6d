"""Beams as layers of users see them: merged into the batch, hypothesis k of sequence b in row b * K + k."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from returnn.tensor import Dim, Tensor
from returnn.tensor.backend import backend_of_raw
from returnn.tensor.beam import SearchBeam
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from .base import LayerBase


def beam_of(x: Tensor) -> Dim | None:
    """
    :return: its beam
    """
    return next((d for d in x.dims if d.is_beam_dim), None)


def template_without_beam(x: Tensor) -> Tensor:
    """
    :param x: maybe as :func:`merge_beam` gives it
    :return: without value
    """
    x = x.unmerged or x
    if not any(d.is_beam_dim for d in x.dims):
        return x.copy_template()
    return x.like(None, dims=[d for d in x.dims if not d.is_beam_dim])


def has_lengths_of_beam(dim: Dim) -> bool:
    """
    :return: whether hypotheses differ in length along it
    """
    return any(d.is_beam_dim for d in dim.size_dims or ())


def merge_beam(x: Tensor, beam: Dim | None = None) -> Tensor:
    """
    :param x: [batch, beam, ..], or without beam
    :param beam: of x by default; x is repeated for each hypothesis if it has none
    :return: [batch * beam, ..]; without beam or batch as it is. Its attribute ``unmerged`` is x
    """
    beams = [d for d in x.dims if d.is_beam_dim]
    if len(beams) > 1:
        raise ConfigError(
            "hypotheses of different searches cannot be combined: %s. Decide first"
            % " and ".join(repr(d.description) for d in beams)
        )
    own = beams[0] if beams else None
    beam = own or beam
    axis = x.batch_dim_axis
    if beam is None or axis is None:
        return x
    full = x
    if own is None:
        raw = None
        if x.raw_tensor is not None:
            backend = backend_of_raw(x.raw_tensor)
            sizes = [backend.size_of_axis(x.raw_tensor, i) for i in range(x.batch_ndim)]
            sizes.insert(axis + 1, beam.require_static())
            raw = backend.broadcast_to(backend.expand_dims(x.raw_tensor, axis + 1), sizes)
        dims = list(x.dims)
        dims.insert(axis + 1, beam)
        full = x.like(raw, dims=dims)
    axes = [full.dims.index(d) for d in (x.dims[axis], beam)]
    res = full.copy_merge_into_batch(axes)
    res.beam = SearchBeam(beam.require_static(), name=beam.description)
    res.unmerged = x
    return res


def split_beam(x: Tensor, *, like: Tensor) -> Tensor:
    """
    :param x: as :func:`merge_beam` gives it
    :param like: what it was before; its value does not matter
    :return: x with these dims, the beam behind the batch
    """
    beam = beam_of(like)
    assert beam is not None
    dims = [d for d in like.dims if d != beam]
    axis = next(i for i, d in enumerate(dims) if d.is_batch_dim)
    dims.insert(axis + 1, beam)
    raw = None
    if x.raw_tensor is not None:
        backend = backend_of_raw(x.raw_tensor)
        sizes = [backend.size_of_axis(x.raw_tensor, i) for i in range(x.batch_ndim)]
        sizes[axis : axis + 1] = [-1, beam.require_static()]
        raw = backend.reshape(x.raw_tensor, sizes)
    return like.like(raw, dims=dims, dtype=x.dtype)


@contextmanager
def merged_outputs(layers: Iterable[LayerBase], beam: Dim | None) -> Iterator[None]:
    """
    Inside, for code of users: outputs of these layers have the beam merged into the batch.

    :param layers: built
    :param beam: see :func:`merge_beam`; None: nothing changes
    """
    changed = {layer: layer.output for layer in layers if not layer.is_unknown} if beam is not None else {}
    try:
        for layer, x in changed.items():
            layer.output = merge_beam(x.unmerged or x, beam)
        yield
    finally:
        for layer, x in changed.items():
            layer.output = x


def with_beam_of_sources(x: Tensor, sources: Iterable[Tensor]) -> Tensor:
    """
    For layers of users, who know only of merged beams.

    :param x: output, with value
    :param sources: of it, maybe as :func:`merge_beam` gives them
    :return: x; its attribute ``unmerged`` is set if that of a source is
    """
    merged = [source for source in sources if source.unmerged is not None]
    beams = [beam for beam in (beam_of(source.unmerged) for source in merged) if beam is not None]
    if not beams or x.unmerged is not None or x.batch_dim_axis is None:
        return x
    originals: dict[Dim, Dim] = {}
    for source in merged:
        rest = [d for d in source.unmerged.dims if not d.is_batch_dim and not d.is_beam_dim]
        originals.update(zip([d for d in source.dims if not d.is_batch_dim], rest, strict=False))
    dims = [new for d in x.dims for new in ((d, beams[0]) if d.is_batch_dim else (originals.get(d, d),))]
    x.beam = merged[0].beam
    x.unmerged = split_beam(x, like=x.like(None, dims=dims))
    return x
