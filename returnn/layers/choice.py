"""Choosing labels: in a beam search, several hypotheses; else the target."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.log import log
from returnn.tensor import Dim, Tensor, batch_dim
from returnn.tensor.backend import backend_of_raw
from returnn.tensor.hidden_dims import visible_dims
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .base import LayerBase
from .beam_border import merged_outputs
from .outer_search import OuterSearch
from .parts import LayerWithParts
from .recurrent.initial import with_all_dims
from .registry import layer_class
from .search_choices import SearchChoices

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .recurrent.loop import Loop

    _Search = Loop | OuterSearch

_INPUT_TYPES = ("prob", "log_prob", "logits", "regression")


class BaseChoiceLayer(LayerWithParts):
    """What layers that choose in a search have in common."""

    beam_size: int | None = None
    """number of hypotheses per sequence; needed in a search"""


@layer_class("choice")
class ChoiceLayer(BaseChoiceLayer):
    """In a search, the labels of the best hypotheses; else the target, and then the sources do not matter.

    Sources: in a search, scores of labels [batch, labels]. Output [batch], int32: labels, with a beam in a search. With
    several sources, one label of each is chosen, all at once: parts ``out_0``, ``out_1``, ..; the output is the first.

    In a frame, hypothesis k with score s[k] can go on with each label i. With x the logarithm of the source, it has the
    score ``prob_scale * x[k, i] + base_beam_score_scale * s[k]``; the best ``beam_size`` of all are the new hypotheses.
    One that has ended goes on with label 0, for free.
    Outside of loops, each such layer is one frame; it goes on from the last one that it depends on, also by
    ``explicit_search_source``, and scores are never divided by a length.
    """

    _default_source = None
    _layer_options = ("explicit_search_source",)

    input_type: str = "prob"
    """what the source gives for each label: prob, log_prob, logits. Or regression: it is the output itself, and the
    hypotheses stay as they are"""
    length_normalization: bool = True
    """scores of ended hypotheses grow as those of the others do, and behind the loop all are divided by a length; up to
    behaviour version 30 it is the one of the longest hypothesis of the batch"""
    length_normalization_exponent: float = 1.0
    """the length to this power; up to behaviour version 30 within the loop only"""
    prob_scale: float = 1.0
    """factor of the scores of the source"""
    base_beam_score_scale: float = 1.0
    """factor of the scores of the hypotheses before"""
    random_sample_scale: float = 0.0
    """factor of noise on the sum, -log(-log u) with u uniform in [0, 1): with 1, hypotheses are drawn"""
    custom_score_combine: Callable[..., Any] | None = None
    """function that gives the sum instead, of raw values: keyword arguments layer, scores_in [B, K, V], scores_base [B,
    K, 1], t, end_flags [B, K], batch_dim, scores_beam_in, base_beam_in; returns [B, K, V]. In it, outputs of the layers
    that this one depends on have the beam in the batch, row b * K + k"""
    explicit_search_source: LayerBase | str | None = None
    """further layer that the choice depends on, for ``custom_score_combine``"""
    explicit_search_sources: Any = None
    """the same, several: a list, or a dict of names for ``custom_score_combine``"""
    keep_beams: bool = False
    """hypotheses do not compete: each goes on with beam_size / (number of hypotheses before) labels"""
    cheating: bool | str = False
    """the target is always the last one of the hypotheses; it may be there twice, with "exclusive" it is not"""
    search: bool | None = None
    """True: search, also where the network does not. False: the target, also where the network searches"""
    add_to_beam_scores: bool | None = None
    """where the target is taken: its score counts for the hypotheses. By default in a network that searches"""
    source_beam_sizes: list[int] | None = None
    """of several sources: how many labels of each are considered, ``beam_size`` by default"""
    scheduled_sampling: bool | dict[str, Any] = False
    """without search, labels are drawn by the scores of the source. ``{"gold_mixin_prob": p}``: with probability p, for
    each sequence, it is the target nevertheless"""
    _target_of_frame: list[LayerBase] | None = None
    _is_search = False
    _adds_score = False

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        if "target" not in d:
            raise ConfigError('option "target" is missing: without search, it is the output')
        search, add = d.get("search"), d.get("add_to_beam_scores")
        d["_is_search"] = network.search_flag if search is None else bool(search)
        d["_adds_score"] = not d["_is_search"] and (network.search_flag if add is None else bool(add))
        targets = [d["target"]] if d["target"] is None or isinstance(d["target"], str) else list(d["target"])
        if not targets:
            raise ConfigError("target is an empty list")
        if set(targets) == {None}:
            d["target"] = None
        if not d["_is_search"]:
            d.pop("explicit_search_source", None)
            d.pop("explicit_search_sources", None)
            if not d["_adds_score"] and not d.get("scheduled_sampling"):
                d["from"] = []
        if not d["_is_search"] or d.get("cheating"):
            if None in targets:
                why = "cheating needs one" if d["_is_search"] else "without search, there is nothing to choose from"
                raise ConfigError("target is None: " + why)
            names = [_name_of_target(target, d, network) for target in targets if target is not None]
            d["_target_of_frame"] = [get_layer(name) for name in names]
        given = d.get("explicit_search_sources")
        if isinstance(given, dict):
            given = {key: get_layer(x) if isinstance(x, str) else x for key, x in given.items()}
        elif given is not None:
            given = [get_layer(x) if isinstance(x, str) else x for x in ([given] if isinstance(given, str) else given)]
        super().transform_config_dict(d, network, get_layer)
        if given is None and d.get("explicit_search_source") is not None:
            given = [d["explicit_search_source"]]
        d["explicit_search_sources"] = given
        num = len(d["sources"])
        if num and d["target"] is not None and len(targets) != num:
            raise ConfigError("%i sources, but %i targets: there must be one for each" % (num, len(targets)))

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        self.search_scores_in: Any = None
        self.search_scores_base: Any = None
        self.search_scores_combined: Any = None
        self.chooses = self._is_search or self._adds_score
        if self.chooses:
            self.search_choices = SearchChoices(owner=self, beam_size=self.beam_size or 1)

    @property
    def keeps_hypotheses(self) -> bool:
        """of a layer that chooses: there is nothing to choose from, so the hypotheses are those before"""
        return not self._is_search or self.input_type == "regression"

    @property
    def cheats(self) -> bool:
        """whether the target is among the hypotheses"""
        return self._is_search and bool(self.cheating)

    def used_layers(self) -> list[LayerBase]:
        return [*super().used_layers(), *(self._target_of_frame or [])]

    def get_dep_layers(self) -> list[LayerBase]:
        given = self.explicit_search_sources or []
        explicit = given.values() if isinstance(given, dict) else given
        return [*super().get_dep_layers(), *(x for x in explicit if isinstance(x, LayerBase))]

    def _inputs(self) -> list[Tensor]:
        return [self._output_of(layer) for layer in [*self.sources, *(self._target_of_frame or [])]]

    def compute(self, *inputs: Tensor) -> Tensor:
        scores, targets = list(inputs[: len(self.sources)]), list(inputs[len(self.sources) :])
        if not self.chooses and not self.scheduled_sampling:
            return self._with_parts(targets)
        if not scores:
            raise ConfigError('the layer needs a source: "from" is missing')
        label_dims = self._check(scores)
        if not self.has_values:
            if not self._is_search:
                return self._with_parts(targets)
            return self._with_parts([scores[0]] if not label_dims else _templates_of_labels(scores, label_dims))
        if not self.chooses:
            return self._with_parts(self._sampled(scores, targets, label_dims))
        loop = self._loop()
        if self.keeps_hypotheses:
            return self._with_parts(self._followed(loop, scores, targets, label_dims))
        return self._with_parts(self._best(loop, scores, targets, label_dims))

    def drop_values(self) -> None:
        super().drop_values()
        if self.network.loop is None and self.search_choices is not None:
            self.search_choices.forget()

    def _with_parts(self, outputs: Sequence[Tensor]) -> Tensor:
        self.parts = {"out_%i" % i: x for i, x in enumerate(outputs)}
        return outputs[0]

    def _check(self, inputs: Sequence[Tensor]) -> list[Dim]:
        """
        :param inputs: of the sources
        :return: labels of each
        """
        if self.input_type not in _INPUT_TYPES:
            raise ConfigError("input_type must be one of %s, but is %r" % (", ".join(_INPUT_TYPES), self.input_type))
        if self.input_type == "regression":
            if len(inputs) > 1:
                raise ConfigError("input_type regression is for one source, but there are %i" % len(inputs))
            return []
        for x in inputs:
            if x.sparse or x.feature_dim is None or x.feature_dim.dimension is None or "float" not in x.dtype:
                raise ConfigError(
                    "it can choose from scores of labels only, [batch, labels], not from %s; input_type is %r"
                    % (x.short_repr(), self.input_type)
                )
        dims = [x.feature_dim for x in inputs if x.feature_dim is not None]
        if self.chooses and self.network.loop is None:
            self._check_is_one_frame(inputs)
        if self._is_search:
            self._check_sizes(dims)
        return dims

    def _check_is_one_frame(self, inputs: Sequence[Tensor]) -> None:
        for x in inputs:
            if any(d != x.feature_dim for d in visible_dims(x.dims) if not d.is_batch_dim):
                raise ConfigError(
                    "outside of the unit of a recurrent layer, it chooses one label of each sequence, from scores "
                    "[batch, labels], not from %s" % x.short_repr()
                )

    def _check_sizes(self, label_dims: Sequence[Dim]) -> None:
        sizes = [dim.require_static() for dim in label_dims]
        if self.source_beam_sizes is not None:
            given = self.source_beam_sizes
            if len(given) != len(sizes) or not all(1 <= a <= b for a, b in zip(given, sizes, strict=True)):
                raise ConfigError(
                    "source_beam_sizes %s: one for each source is needed, not more than it has labels, %s"
                    % (given, sizes)
                )
            sizes = list(given)
        number = 1
        for size in sizes:
            number *= size
        if isinstance(self.beam_size, int) and self.beam_size > number and not self._is_template:
            if self.network.loop is None or self.network.loop.run is None:  # said once, at construction
                log.print_warning(
                    "layer %s: beam_size %i is larger than the number of labels, %i. In the first frame there are only"
                    " so many hypotheses, the others have the score -inf"
                    % (self.get_absolute_name(), self.beam_size, number)
                )

    def _loop(self) -> _Search:
        if self.network.loop is None:
            return OuterSearch(self)
        loop = self.network.loop.run
        assert loop is not None and loop.is_in_loop and loop.beams is not None
        return loop

    # ---- search

    def _best(
        self, loop: _Search, inputs: Sequence[Tensor], targets: Sequence[Tensor], label_dims: Sequence[Dim]
    ) -> list[Tensor]:
        beams, step = loop.beams, loop.index
        assert beams is not None and step is not None
        beam_in, beam_out = beams.incoming(self), beams.of(self)
        ended = loop.ended_before()
        gold_before = loop.gold_before(self)
        labels, src, scores = rf.beam_step(
            [self._log_scores(source, x) for source, x in zip(self.sources, inputs, strict=True)],
            loop.scores_before(self),
            beam_in=beam_in,
            beam_out=beam_out,
            label_dims=label_dims,
            ended=ended,
            step=step,
            is_first=rf.compare(step, "equal", 0) if beams.is_first(self) else False,
            length_normalization=self.length_normalization,
            length_normalization_exponent=self.length_normalization_exponent,
            prob_scale=self.prob_scale,
            base_beam_score_scale=self.base_beam_score_scale,
            keep_beams=self.keep_beams,
            noise=self._noise(loop) if self.random_sample_scale else None,
            combine=self._users_combine(loop, ended) if self.custom_score_combine is not None else None,
            source_beam_sizes=self.source_beam_sizes,
            gold=(list(targets), gold_before) if self.cheats else None,
            gold_is_exclusive=self.cheating == "exclusive",
        )
        if gold_before is not None and self.cheats:
            loop.set_gold(gold_before * 0 + (beam_out.require_static() - 1))
        elif gold_before is not None:  # the best one of those that go on from it
            goes_on = rf.compare(src, "equal", gold_before)
            loop.set_gold(rf.reduce_argmax(rf.where(goes_on, scores, _LOWEST), axis=beam_out))
        self._has_chosen(loop, src, scores)
        return [y.like(y.raw_tensor, time_dim=None, feature_dim=None) for y in labels]

    def _followed(
        self, loop: _Search, inputs: Sequence[Tensor], targets: Sequence[Tensor], label_dims: Sequence[Dim]
    ) -> list[Tensor]:
        """hypotheses stay as they are: all get the same labels, which have a score; or the source is the output"""
        beams, step = loop.beams, loop.index
        assert beams is not None and step is not None
        beam_in, beam_out = beams.incoming(self), beams.of(self)
        scores = loop.scores_before(self)
        if self._is_search:
            outputs = [inputs[0]]
        else:
            outputs = list(targets)
            if self.input_type != "regression":
                scores = rf.beam_step_with_labels(
                    [self._log_scores(source, x) for source, x in zip(self.sources, inputs, strict=True)],
                    scores,
                    labels=targets,
                    label_dims=label_dims,
                    ended=loop.ended_before(),
                    step=step,
                    length_normalization=self.length_normalization,
                    length_normalization_exponent=self.length_normalization_exponent,
                    prob_scale=self.prob_scale,
                    base_beam_score_scale=self.base_beam_score_scale,
                )
        loop.set_gold(loop.gold_before(self))
        src = rf.cast(scores > 0, "int32") * 0 + rf.range_over_dim(beam_in)
        src, scores, *outputs = [
            rf.replace_dim(with_all_dims(x, _with_beam(x, beam_in), loop), in_dim=beam_in, out_dim=beam_out)
            for x in (src, scores, *outputs)
        ]
        src = src.like(src.raw_tensor, sparse_dim=beam_in)
        self._has_chosen(loop, src, scores)
        return outputs

    def _has_chosen(self, loop: _Search, src: Tensor, scores: Tensor) -> None:
        loop.chosen(self, src, scores)
        beams = loop.beams
        assert beams is not None
        dims = [batch_dim, beams.of(self)]
        choices = self.search_choices = SearchChoices(owner=self, beam_size=beams.of(self).require_static())
        choices.scores, choices.src = scores, src
        choices.gold = loop.gold if isinstance(loop, OuterSearch) else None
        choices.set_src_beams(src.copy_transpose(dims).raw_tensor)
        choices.set_beam_scores(scores.copy_transpose(dims).raw_tensor)

    def _noise(self, loop: _Search) -> Callable[[Sequence[Dim]], Tensor]:
        def noise(dims: Sequence[Dim]) -> Tensor:
            return self._gumbel(dims, [loop.size_of(d) for d in dims]) * self.random_sample_scale

        return noise

    def _users_combine(self, loop: _Search, ended: Tensor | None) -> Callable[[Tensor, Tensor], Tensor]:
        beams, function = loop.beams, self.custom_score_combine
        assert beams is not None and function is not None and loop.index is not None
        beam = beams.incoming(self)
        size = beam.require_static()

        def combine(x: Tensor, scores: Tensor) -> Tensor:
            labels = [d for d in x.dims if d not in (batch_dim, beam)]
            dims = [batch_dim, beam, *labels]
            given = with_all_dims(x, dims, loop)
            base = with_all_dims(scores, dims[:2], loop)
            flags = loop.full_tensor("ended", dims[:2], "bool", False) if ended is None else ended
            backend = backend_of_raw(base.raw_tensor)
            self.search_scores_in = given.raw_tensor
            self.search_scores_base = backend.expand_dims(base.raw_tensor, -1)
            with merged_outputs(self.get_dep_layers(), beam):
                raw = function(
                    layer=self,
                    scores_in=self.search_scores_in,
                    scores_base=self.search_scores_base,
                    t=loop.index.raw_tensor,  # type: ignore[union-attr]
                    end_flags=with_all_dims(flags, dims[:2], loop).raw_tensor,
                    batch_dim=loop.size_of(batch_dim),
                    scores_beam_in=size,
                    base_beam_in=size,
                )
            self.search_scores_combined = raw
            return given.like(backend.convert(raw))

        return combine

    def _log_scores(self, source: LayerBase, x: Tensor) -> Tensor:
        """
        :return: logarithms
        """
        assert x.feature_dim is not None
        if self.input_type == "log_prob":
            return x
        if self.input_type == "logits":
            return rf.log_softmax(x, axis=x.feature_dim)
        before = source.output_before_activation
        if before is not None and before.is_softmax() and x.feature_dim in before.x.dims:
            return rf.log_softmax(self._of_this_frame(before.x, x), axis=x.feature_dim)
        return rf.safe_log(x, eps=1e-20)

    def _of_this_frame(self, x: Tensor, like: Tensor) -> Tensor:
        """
        :param x: of this frame; or of all frames, if it was computed outside of the loop; or of hypotheses before
        :param like: has the right frames
        """
        loop = self.network.loop.run if self.network.loop is not None else None
        if loop is None or not loop.is_in_loop:
            return x
        if loop.dim in x.dims and loop.dim not in like.dims:
            x = rf.gather(x, indices=loop.index, axis=loop.dim)
        return loop.bring(x)

    # ---- sampling

    def _sampled(self, inputs: Sequence[Tensor], targets: Sequence[Tensor], label_dims: Sequence[Dim]) -> list[Tensor]:
        """drawn by the scores"""
        outputs = []
        for i, (source, x) in enumerate(zip(self.sources, inputs, strict=True)):
            if not label_dims:
                outputs.append(x)
                continue
            scores = self._log_scores(source, x)
            noise = self._gumbel(scores.dims, _sizes(scores), key="labels-%i" % i)
            label = rf.reduce_argmax(scores + noise, axis=label_dims[i])
            outputs.append(targets[i].like(label.raw_tensor, dims=label.dims, dtype="int32", time_dim=None))
        opts = self.scheduled_sampling if isinstance(self.scheduled_sampling, dict) else {}
        unknown = sorted(set(opts) - {"gold_mixin_prob"})
        if unknown:
            raise ConfigError("scheduled_sampling: unknown option %r. There is gold_mixin_prob" % unknown[0])
        prob = opts.get("gold_mixin_prob")
        if not prob:
            return outputs
        dims = [d for d in outputs[0].dims if d != outputs[0].feature_dim]
        sizes = [size for d, size in zip(outputs[0].dims, _sizes(outputs[0]), strict=True) if d in dims]
        is_gold = self._uniform(dims, sizes, key="gold") < prob
        return [
            y.like(None, dims=y.dims).like(rf.where(is_gold, rf.cast(t, y.dtype), y).copy_transpose(y.dims).raw_tensor)
            for y, t in zip(outputs, targets, strict=True)
        ]

    def _gumbel(self, dims: Sequence[Dim], sizes: Sequence[Any], key: str = "") -> Tensor:
        u = rf.maximum(self._uniform(dims, sizes, key=key), 1e-20)
        return -rf.log(-rf.log(u))

    def _uniform(self, dims: Sequence[Dim], sizes: Sequence[Any], key: str = "") -> Tensor:
        loop = self.network.loop.run if self.network.loop is not None else None
        frame = loop.index if loop is not None and loop.is_in_loop else None
        name = self.get_absolute_name() + ("/" + key if key else "")
        state = rf.random_state_of_step(name, backend=self.network.backend, frame=frame)
        return rf.random_uniform(dims, state=state, sizes=sizes)

    @property
    def exponent_of_final_scores(self) -> float | None:
        """None: the final scores are divided by the longest length of the batch, see
        :func:`returnn.frontend.normalized_scores`"""
        return self.length_normalization_exponent if BehaviorVersion.has(Change.SEARCH_OWN_LENGTHS) else None


_LOWEST = -3e38


def _templates_of_labels(inputs: Sequence[Tensor], label_dims: Sequence[Dim]) -> list[Tensor]:
    """hypotheses are those of a sequence, so the labels are, too"""
    res = []
    for x, dim in zip(inputs, label_dims, strict=True):
        rest = [d for d in x.dims if d != dim]
        dims = rest if batch_dim in rest else [batch_dim, *rest]
        res.append(x.like(None, dims=dims, dtype="int32", sparse_dim=dim, feature_dim=None))
    return res


def _with_beam(x: Tensor, beam: Dim) -> list[Dim]:
    """:return: dims of x, with the beam behind the batch"""
    if beam in x.dims:
        return list(x.dims)
    if batch_dim not in x.dims:
        return [batch_dim, beam, *x.dims]
    return [new for d in x.dims for new in ((d, beam) if d.is_batch_dim else (d,))]


def _sizes(x: Tensor) -> list[Any]:
    return [x._raw_backend.size_of_axis(x.raw_tensor, axis) for axis in range(x.batch_ndim)]


def _name_of_target(target: str, d: dict[str, Any], network: Network) -> str:
    if target.startswith("layer:"):
        return target[len("layer:") :]
    if network.has_layer(target) and target != d["_name"]:
        return target
    return "data:" + target
