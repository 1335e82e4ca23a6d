"""One step of a beam search, and what comes behind its last one.

A beam is a dim of its own, beside batch, in any place. A *hypothesis* is one entry of it: the labels chosen so far, and
their score, the logarithm of a probability or the like. A search is::

    for step in range(num_steps):
        label_scores = model(state)  # [batch, beam, labels]
        labels, src_beams, scores = rf.beam_step([label_scores], scores, step=step, ..)
        state = rf.gather_beam(state, src_beams, ..)  # all that was computed for the hypotheses before
    path = rf.trace_beams(all_src_beams, ..)
    all_labels = rf.gather_beam(all_labels, path, ..)
    best = rf.decide(all_labels, rf.normalized_scores(scores, ..), beam)

Laws: of equal candidates the first one wins, so that all backends choose the same; the result of a batch is that of its
sequences one by one, except where :func:`normalized_scores` says so.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from returnn.tensor import Dim, DimError, Tensor
from returnn.tensor.backend import Raw, backend_of_raw
from returnn.tensor.numpy_backend import backend as numpy_backend

from .elementwise import cast, clip_by_value, compare, logical_and, maximum, where
from .indexing import gather, top_k
from .packing import range_over_dim
from .reduce import reduce_argmax, reduce_max
from .sequences import pad
from .shape import merge_dims, replace_dim, require_dims

_NEVER = -1e30
"""score of each label but the filler, once a hypothesis has ended"""


class _Source(NamedTuple):
    """Labels that are candidates."""

    axis: Dim
    """of the candidates"""
    labels: Tensor
    """which labels they are, [.., axis]"""
    scores: Tensor
    """[.., axis]"""
    all_scores: Tensor
    """[.., all labels]"""

    def labels_at(self, places: Tensor, src: Tensor) -> Tensor:
        """
        :param places: labels of ``axis``
        :param src: the hypotheses that they belong to
        :return: labels
        """
        return places if places.sparse_dim == self.labels.sparse_dim else _entry(_entry(self.labels, src), places)


def beam_step(
    label_scores: Sequence[Tensor],
    scores: Tensor,
    *,
    beam_in: Dim,
    beam_out: Dim,
    label_dims: Sequence[Dim],
    ended: Tensor | None = None,
    step: Tensor | int = 0,
    is_first: Tensor | bool = False,
    length_normalization: bool = True,
    length_normalization_exponent: float = 1.0,
    prob_scale: float = 1.0,
    base_beam_score_scale: float = 1.0,
    keep_beams: bool = False,
    noise: Callable[[Sequence[Dim]], Tensor] | None = None,
    combine: Callable[[Tensor, Tensor], Tensor] | None = None,
    source_beam_sizes: Sequence[int] | None = None,
    gold: tuple[Sequence[Tensor], Tensor | None] | None = None,
    gold_is_exclusive: bool = False,
) -> tuple[list[Tensor], Tensor, Tensor]:
    """
    The best extensions of all hypotheses by one label; with several sources, by one label of each. Each of these is a
    candidate::

        c[k, i, j, ..] = prob_scale * (x0[k, i] + x1[k, j] + ..) + base_beam_score_scale * scores[k] + noise

    The best ones are chosen; of equal ones the first, in the order of k, i, j, .. An ended hypothesis can be extended
    by label 0, for free, and by nothing else.

    :param label_scores: x of each source, logarithms: [.., beam_in, labels], or without beam_in where they are the same
        for all hypotheses
    :param scores: [.., beam_in]
    :param beam_in: static: the hypotheses that there are
    :param beam_out: static: those to choose; may be beam_in
    :param label_dims: static: of the labels of each source
    :param ended: bool, before this step: [.., beam_in], or without beam_in; None: none of them
    :param step: number of this step, from 0; int32 scalar
    :param is_first: only hypothesis 0 is there yet; bool scalar
    :param length_normalization: the scores of ended hypotheses are times ((step + 1) / step) ** exponent, as if they
        had grown as the others do
    :param length_normalization_exponent: see there
    :param prob_scale: see above
    :param base_beam_score_scale: see above
    :param keep_beams: hypotheses do not compete: each has its own (beam_out / beam_in) extensions
    :param noise: dims of the candidates -> what is added to them
    :param combine: gives c in another way: of x, where ended hypotheses have 0 and -1e30, and scores. Without scales
        and noise then; with several sources, x is their sum
    :param source_beam_sizes: for each source: only so many labels of each hypothesis are candidates, the best ones, and
        they count in this order. By default all, if there is one source, else as many as fit in beam_out.
    :param gold: label of each source [..], cut to those that there are, and the hypothesis [..] that it extends (None:
        the last one): takes the last place of beam_out, whatever its score. Label 0 if that hypothesis has ended
    :param gold_is_exclusive: it is in no other place
    :return: label of each source, int32 [.., beam_out]; the hypothesis that it extends, int32 [.., beam_out] over
        beam_in; score [.., beam_out]. Where there are not enough candidates: label 0, hypothesis 0, score -inf
    """
    _check(label_scores, scores, beam_in, beam_out, label_dims, source_beam_sizes, keep_beams)
    first = _condition(is_first) if beam_in.dimension != 1 else None
    label_scores = [cast(x, scores.dtype) for x in label_scores]
    if ended is not None:
        label_scores = [_with_filler(x, ended, dim) for x, dim in zip(label_scores, label_dims, strict=True)]
        if length_normalization:
            scores = _grown(scores, ended, step, length_normalization_exponent)
    sources = _make_sources(label_scores, label_dims, source_beam_sizes, beam_out)
    axes = [source.axis for source in sources]

    def weighted(x: Tensor, of_hypotheses: Tensor) -> Tensor:
        return _scaled(x, prob_scale) + _scaled(of_hypotheses, base_beam_score_scale)

    candidates = (combine or weighted)(_sum([source.scores for source in sources]), scores)
    require_dims(candidates, [*scores.dims, *axes], op="beam_step")
    wanted = None
    if gold is not None:
        src, labels = _gold_places(gold, label_dims, beam_in, ended, first)
        if combine is None:
            x = _sum([_entry(_entry(s.all_scores, src), label) for s, label in zip(sources, labels, strict=True)])
            score = weighted(x, _entry(scores, src))
        elif axes == list(label_dims) and len(axes) == 1:
            score = _entry(_entry(candidates, src), labels[0])
        else:
            raise DimError("beam_step: combine and gold together need one source, and no source_beam_sizes")
        wanted = [score, src, *labels]
    if noise is not None and combine is None:
        candidates = candidates + noise(candidates.dims)
    if first is not None:
        candidates = where(logical_and(_range(beam_in) > 0, first), -math.inf, candidates)
    if wanted is not None and gold_is_exclusive:
        same = [compare(_range(beam_in), "equal", wanted[1])]
        same += [compare(s.labels, "equal", label) for s, label in zip(sources, wanted[2:], strict=True)]
        candidates = where(functools.reduce(logical_and, same), -math.inf, candidates)
    score, src, *places = _choose(candidates, beam_in, axes, beam_out, keep_beams=keep_beams, is_first=first)
    labels = [s.labels_at(place, src) for s, place in zip(sources, places, strict=True)]
    found = [score, src, *labels]
    if wanted is not None:
        last = compare(_range(beam_out), "equal", beam_out.require_static() - 1)
        found = [where(last, a, b) for a, b in zip(wanted, found, strict=True)]
    dims = [beam_out if d == beam_in else d for d in scores.dims]
    score, src, *labels = [_in_order(x, dims) for x in found]
    return labels, src, score


def beam_step_with_labels(
    label_scores: Sequence[Tensor],
    scores: Tensor,
    *,
    labels: Sequence[Tensor],
    label_dims: Sequence[Dim],
    ended: Tensor | None = None,
    step: Tensor | int = 0,
    length_normalization: bool = True,
    length_normalization_exponent: float = 1.0,
    prob_scale: float = 1.0,
    base_beam_score_scale: float = 1.0,
) -> Tensor:
    """
    What :func:`beam_step` does, where it is known which labels all hypotheses go on with. They stay as they are.

    :param label_scores: as there
    :param scores: as there
    :param labels: one of each source, int32 [..], cut to those that there are. Of ended hypotheses they do not count
    :param label_dims: as there
    :param ended: as there
    :param step: as there
    :param length_normalization: as there
    :param length_normalization_exponent: as there
    :param prob_scale: as there
    :param base_beam_score_scale: as there
    :return: the new scores, [.., beam]
    """
    before = scores
    if ended is not None and length_normalization:
        scores = _grown(scores, ended, step, length_normalization_exponent)
    parts = []
    for x, label, dim in zip(label_scores, labels, label_dims, strict=True):
        label = clip_by_value(cast(label, "int32"), 0, dim.require_static() - 1)
        parts.append(_entry(cast(x, scores.dtype), _as_labels(label, dim)))
    x = _sum(parts)
    x = x if ended is None else where(ended, 0.0, x)
    return _in_order(_scaled(x, prob_scale) + _scaled(scores, base_beam_score_scale), before.dims)


def _check(
    label_scores: Sequence[Tensor],
    scores: Tensor,
    beam_in: Dim,
    beam_out: Dim,
    label_dims: Sequence[Dim],
    source_beam_sizes: Sequence[int] | None,
    keep_beams: bool,
) -> None:
    require_dims(scores, [beam_in], op="beam_step")
    for given in (label_dims, source_beam_sizes):
        if given is not None and len(given) != len(label_scores):
            raise DimError("beam_step: %i sources, but %i given for them: %s" % (len(label_scores), len(given), given))
    for x, dim in zip(label_scores, label_dims, strict=True):
        require_dims(x, [dim], op="beam_step")
        dim.require_static()
    for size, dim in zip(source_beam_sizes or (), label_dims, strict=False):
        if not 1 <= size <= dim.require_static():
            raise DimError("beam_step: source_beam_sizes %s: %i does not fit %s" % (source_beam_sizes, size, dim))
    if keep_beams and beam_out.require_static() % beam_in.require_static():
        raise DimError("beam_step: keep_beams needs %s to be a multiple of %s" % (beam_out, beam_in))


def _condition(flag: Tensor | bool) -> Tensor | None:
    """:return: None: never"""
    if isinstance(flag, Tensor):
        return flag
    return Tensor("flag", (), "bool", raw_tensor=numpy_backend.convert(True)) if flag else None


def _sum(parts: Sequence[Tensor]) -> Tensor:
    return functools.reduce(operator.add, parts)


def _range(dim: Dim) -> Tensor:
    """:return: [dim]: its labels 0, 1, .., a constant on any backend"""
    dim.require_static()
    return range_over_dim(dim)


def _entry(x: Tensor, index: Tensor) -> Tensor:
    """:return: of x the entry with this label; x, if it is the same for all of them"""
    return gather(x, indices=index) if index.sparse_dim in x.dims else x


def _scaled(x: Tensor, scale: float) -> Tensor:
    """:return: x * scale; what is impossible stays so"""
    return x if scale == 1 else where(x > -math.inf, x * scale, x)


def _growth(step: Tensor | int, exponent: float, dtype: str) -> Tensor | float:
    """:return: ((step + 1) / step) ** exponent; before the first step nothing has ended"""
    if isinstance(step, Tensor):
        number = cast(step, dtype)
        return ((number + 1.0) / maximum(number, 1.0)) ** exponent
    return ((step + 1) / max(step, 1)) ** exponent


def _grown(scores: Tensor, ended: Tensor, step: Tensor | int, exponent: float) -> Tensor:
    return where(ended, scores * _growth(step, exponent, scores.dtype), scores)


def _with_filler(x: Tensor, ended: Tensor, dim: Dim) -> Tensor:
    filler = cast(_range(dim) > 0, x.dtype) * _NEVER
    return where(ended, filler, x)


def _make_sources(
    label_scores: Sequence[Tensor], label_dims: Sequence[Dim], sizes: Sequence[int] | None, beam_out: Dim
) -> list[_Source]:
    if sizes is None:
        if len(label_scores) == 1:
            return [_Source(label_dims[0], _range(label_dims[0]), label_scores[0], label_scores[0])]
        sizes = [min(beam_out.require_static(), dim.require_static()) for dim in label_dims]
    sources = []
    for i, (x, dim, size) in enumerate(zip(label_scores, label_dims, sizes, strict=True)):
        best, labels, axis = top_k(x, axis=dim, k_dim=Dim(size, description="best-labels-%i" % i))
        assert isinstance(labels, Tensor)
        sources.append(_Source(axis, labels, best, x))
    return sources


def _gold_places(
    gold: tuple[Sequence[Tensor], Tensor | None],
    label_dims: Sequence[Dim],
    beam_in: Dim,
    ended: Tensor | None,
    is_first: Tensor | None,
) -> tuple[Tensor, list[Tensor]]:
    """:return: the hypothesis, and its labels"""
    labels, src = gold
    if src is None:
        src = reduce_max(_range(beam_in), axis=beam_in)
        if is_first is not None:
            src = where(is_first, 0, src)
    src = _as_labels(src, beam_in)
    res = []
    for label, dim in zip(labels, label_dims, strict=True):
        label = clip_by_value(cast(label, "int32"), 0, dim.require_static() - 1)
        if ended is not None:
            label = where(_entry(ended, src), 0, label)
        res.append(_as_labels(label, dim))
    return src, res


def _as_labels(x: Tensor, dim: Dim) -> Tensor:
    x = cast(x, "int32")
    return x.like(x.raw_tensor, sparse_dim=dim)


def _choose(
    candidates: Tensor, beam_in: Dim, axes: Sequence[Dim], beam_out: Dim, *, keep_beams: bool, is_first: Tensor | None
) -> list[Tensor]:
    """
    :return: of the best ones score, hypothesis, and the place on each of axes, all [.., beam_out]
    """
    if not keep_beams:
        return _best_of_all(candidates, beam_in, axes, beam_out, is_first)
    own = Dim(beam_out.require_static() // beam_in.require_static(), description="extensions-of-each")
    score, *places = _top(candidates, axes, own)
    each = [score, _as_labels(places[0] * 0 + _range(beam_in), beam_in), *places]
    each = [merge_dims(x, dims=[beam_in, own], out_dim=beam_out)[0] for x in each]
    if is_first is None:
        return each
    first = _best_of_all(candidates, beam_in, axes, beam_out, is_first)
    return [where(is_first, a, b) for a, b in zip(first, each, strict=True)]


def _best_of_all(
    candidates: Tensor, beam_in: Dim, axes: Sequence[Dim], beam_out: Dim, is_first: Tensor | None
) -> list[Tensor]:
    score, *places = _top(candidates, [beam_in, *axes], beam_out)
    if is_first is not None and beam_out.require_static() > math.prod(d.require_static() for d in axes):
        not_there = logical_and(places[0] > 0, is_first)
        places = [where(not_there, 0, x) for x in places]
    return [score, *places]


def _top(candidates: Tensor, axes: Sequence[Dim], out_dim: Dim) -> list[Tensor]:
    """
    :return: the highest ones and their place on each of axes, all [.., out_dim]; -inf and 0 where there are too few
    """
    missing = max(out_dim.require_static() - math.prod(d.require_static() for d in axes), 0)
    dim = Dim(out_dim.require_static() - missing, description="candidates") if missing else out_dim
    score, places, _ = top_k(candidates, axis=list(axes), k_dim=dim)
    assert isinstance(places, list)
    found = [score, *places]
    if not missing:
        return found
    found = [pad(x, axes=dim, padding=[(0, missing)], value=0 if i else -math.inf)[0] for i, x in enumerate(found)]
    return [replace_dim(x, in_dim=dim + missing, out_dim=out_dim) for x in found]


def _in_order(x: Tensor, dims: Sequence[Dim]) -> Tensor:
    """:return: in the order of dims, the others in front"""
    return x.copy_transpose([d for d in x.dims if d not in dims] + list(dims))


def normalized_scores(
    scores: Tensor,
    *,
    lens: Tensor,
    num_frames: Tensor | int,
    include_eos: bool,
    exponent: float | None = None,
) -> Tensor:
    """
    Scores for each label rather than for all of them, behind the last step.

    With an exponent, the score of each hypothesis is divided by its own length ** exponent, its end included. In the
    search, scores of ended hypotheses grew as if they were as long as the others (see :func:`beam_step`), so all are to
    be divided by num_frames ** exponent. The result of a batch is that of its sequences.

    Without (old behaviour), all are divided by the length of the longest one of the batch, plus one for the end if
    lengths do not include it; whatever the exponent was in the search. So with an exponent other than 1 hypotheses of
    different lengths do not compare, and if one was cut off at the maximum length, all scores of the batch are lower.

    :param scores: [.., beam], as :func:`beam_step` gives them, with ``length_normalization``
    :param lens: int32 [.., beam]: number of labels
    :param num_frames: int32 scalar: number of steps in the search
    :param include_eos: the end counts in lens
    :param exponent: that of the search; None: see above
    """
    if exponent is not None:
        length: Any = num_frames
    else:
        length = reduce_max(lens, axis=lens.dims, use_mask=False) + (0 if include_eos else 1)
        exponent = 1.0
    if isinstance(length, Tensor):
        return scores / maximum(cast(length, scores.dtype), 1.0) ** exponent
    return scores / float(max(length, 1)) ** exponent


def gather_beam(
    x: Tensor, src_beams: Tensor, *, beam_in: Dim, beam_out: Dim, out_dims: Mapping[Dim, Dim] | None = None
) -> Tensor:
    """
    :param x: [.., beam_in, ..]; without beam_in it is the same for all hypotheses, and stays as it is
    :param src_beams: int32 [.., beam_out]: hypotheses of beam_in
    :param beam_in:
    :param beam_out: may be beam_in
    :param out_dims: dim of x with lengths over beam_in -> what it becomes: a dim with the lengths of the new
        hypotheses, which are set here. New ones by default
    :return: x of these hypotheses: [.., beam_out, ..], in the same order
    """
    if beam_in not in x.dims:
        return x
    require_dims(src_beams, [beam_out], op="gather_beam")
    return _picked(x, src_beams, beam_in, [beam_out], out_dims or {})


def decide(x: Tensor, scores: Tensor, beam: Dim, *, out_dims: Mapping[Dim, Dim] | None = None) -> Tensor:
    """
    :param x: [.., beam, ..]
    :param scores: [.., beam]
    :param beam: hypotheses
    :param out_dims: as in :func:`gather_beam`
    :return: x of the best hypothesis, the first of equal ones: without beam, as long as the longest of these
    """
    require_dims(x, [beam], op="decide")
    return _picked(x, reduce_argmax(scores, axis=beam), beam, [], out_dims or {})


def _picked(x: Tensor, src: Tensor, beam_in: Dim, beam_out: list[Dim], out_dims: Mapping[Dim, Dim]) -> Tensor:
    missing = [d for d in src.dims if d not in x.dims and d not in beam_out]
    if missing:
        raise DimError("%r has hypotheses along %s, but not %s as those to be picked, %r" % (x, beam_in, missing, src))
    y = gather(x, indices=src, axis=beam_in)
    y = y.copy_transpose([o for d in x.dims for o in (beam_out if d == beam_in else [d])])
    for dim in x.dims:
        if beam_in in (dim.size_dims or ()) and dim != beam_in:
            new = out_dims.get(dim) or Dim(None, description=dim.description, kind=dim.kind)
            y = _with_lens(y, dim, new, _picked(_lens_of(dim), src, beam_in, beam_out, {}))
    return y


def _lens_of(dim: Dim) -> Tensor:
    lens = dim.dyn_size_ext
    return Tensor("lens", dim.size_dims or (), "int32") if lens is None else lens


def _with_lens(x: Tensor, dim: Dim, new: Dim, lens: Tensor) -> Tensor:
    """
    :return: x with a new dim of these lengths in place of a longer one
    """
    new.dyn_size_ext = lens
    y = replace_dim(x, in_dim=dim, out_dim=new)
    if x.raw_tensor is None:
        return y
    raw = backend_of_raw(x.raw_tensor).slice(x.raw_tensor, x.get_axis_from_dim(dim), 0, new.get_dim_value())
    return y.like(raw)


def trace_beams(src_beams: Tensor, *, axis: Dim, beam: Dim) -> Tensor:
    """
    Which hypotheses the final ones have gone through.

    :param src_beams: int32 [axis, .., beam], in any order: of step t, hypotheses of step t - 1. The first are not used
    :param axis: steps, as many for all sequences
    :param beam: hypotheses
    :return: int32, the same dims: y[T - 1, k] = k, y[t - 1, k] = src_beams[t, y[t, k]]. So what was computed for the
        hypotheses of each step is brought to the final ones by :func:`gather_beam` with this
    """
    require_dims(src_beams, [axis, beam], op="trace_beams")
    if src_beams.raw_tensor is None:
        return src_beams.like(None, sparse_dim=beam, name="trace_beams")
    rest = [d for d in src_beams.dims if d not in (axis, beam)]
    x = src_beams.copy_transpose([axis, *rest, beam])
    backend = backend_of_raw(x.raw_tensor)
    num_frames, *shape = [backend.size_of_axis(x.raw_tensor, i) for i in range(x.batch_ndim)]
    last = backend.range(shape[-1], x.dtype)
    for _ in rest:
        last = backend.expand_dims(last, 0)

    def frame(_i: Raw, frames: list[Raw], state: list[Raw]) -> tuple[list[Raw], list[Raw]]:
        return [backend.gather(frames[0], state[0], axis=len(rest), batch_dims=len(rest))], state

    _, _, (raw,) = backend.frame_loop(
        frame,
        frames=[x.raw_tensor],
        state=[backend.broadcast_to(last, shape)],
        num_frames=num_frames,
        output_dtypes=[x.dtype],
        empty_shapes=lambda: [shape],
        reverse=True,
        back_prop=False,
    )
    return x.like(raw, sparse_dim=beam, name="trace_beams").copy_transpose(src_beams.dims)
