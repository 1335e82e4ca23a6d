"""Layers on the result of a beam search: the best hypothesis, scores, the beam as an axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.log import log
from returnn.tensor import Dim, Tensor, batch_dim
from returnn.util.errors import ConfigError

from .base import LayerBase
from .beam_border import beam_of, has_lengths_of_beam
from .registry import layer_class
from .search_choices import SearchChoices

if TYPE_CHECKING:
    from .recurrent.loop import Loop


class _BehindChoices(LayerBase):
    """Has one source."""

    def _choices(self) -> SearchChoices | None:
        """
        :return: those of the source; None: it has no beam
        """
        source = self._only_source(self.sources)
        return None if source.is_unknown else source.get_search_choices()

    def _required_choices(self) -> SearchChoices:
        choices = self._choices()
        if choices is None:
            raise ConfigError(
                "the source %r has no beam: it does not depend on a layer that chooses in a search"
                % self.sources[0].get_absolute_name()
            )
        return choices


class _Decided(_BehindChoices):
    """Behind it, the choices of the source do not matter any more."""

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        if len(self.sources) != 1 or self._is_template or self._choices() is None:
            return
        self.search_choices = SearchChoices(owner=self, beam_size=1, is_decided=True)


@layer_class("decide")
class DecideLayer(_Decided):
    """The best hypothesis of a search, the first of equal ones. Without a beam, the source.

    Source with beam, any axes; output batch-major, as long as the longest one of these.
    """

    length_normalization: bool = False
    """scores are divided by the lengths of the hypotheses first"""

    def compute(self, *sources: Tensor) -> Tensor:
        x = self._only_source(sources)
        if self._choices() is None:
            if self.network.search_flag and not self._is_template and x.raw_tensor is not None:
                print("layer %s: nothing to decide, %s has no beam" % (self.name, self.sources[0].name), file=log.v3)
            return x
        times = {d: self.make_dim("time:%s" % d.description, None) for d in x.dims if has_lengths_of_beam(d)}
        if not self.has_values:
            time = times.get(x.time_dim, x.time_dim) if x.time_dim is not None else None
            return x.like(None, dims=[times.get(d, d) for d in x.dims], time_dim=time).copy_as_batch_major()
        scores, beam = self._scores(x), beam_of(x)
        if beam is None:
            return x
        if self.search_choices is not None:
            best = rf.reduce_max(scores, axis=beam)
            self.search_choices.set_beam_scores(self.network.backend.expand_dims(best.raw_tensor, -1))
        return rf.decide(x, scores, beam, out_dims=times).copy_as_batch_major()

    def _scores(self, x: Tensor) -> Tensor:
        scores = self._required_choices().scores
        if scores is None:
            raise ConfigError("the scores of the source %r are not known here" % self.sources[0].get_absolute_name())
        if not self.length_normalization:
            return scores
        time = x.time_dim
        lens = None if time is None else time.dyn_size_ext
        if time is None or lens is None:
            return scores / float(max(time.require_static(), 1)) if time is not None else scores
        return scores / rf.cast(rf.maximum(lens, 1), scores.dtype)


@layer_class("decide_keep_beam")
class DecideKeepBeamLayer(_Decided):
    """The source as it is, with its beam. In a loop: all hypotheses of each frame, also those that led nowhere."""

    stays_in_loop = True

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        choices = self._choices() if self.search_choices is not None else None
        if choices is not None:
            self.search_choices = SearchChoices(owner=self, beam_size=choices.beam_size, is_decided=True, keep_raw=True)

    def compute(self, *sources: Tensor) -> Tensor:
        x = self._only_source(sources)
        if self.has_values and self.search_choices is not None:
            choices = self._required_choices()
            self.search_choices.scores = choices.scores
            self.search_choices.set_beam_scores(choices.beam_scores)
        return x


class _OfFrame(_BehindChoices):
    """In a loop, it stays there with the layer that chooses."""

    stays_in_loop = True

    def _loop(self, choices: SearchChoices) -> Loop | None:
        """
        :param choices: of the source
        :return: if the choices are made in the loop that this layer is in, that loop
        """
        loop = self.network.loop
        return None if loop is None or choices.owner.network.loop is not loop else loop.run


@layer_class("choice_get_beam_scores")
class ChoiceGetBeamScoresLayer(_OfFrame):
    """Scores of the hypotheses that the source has: float32 [batch], with beam. In a loop, of the frame, or of the
    frame before if the source is; behind it, the final ones."""

    def compute(self, *sources: Tensor) -> Tensor:
        self._only_source(sources)
        choices = self._required_choices()
        if not self.has_values:
            return Tensor("scores", [batch_dim], "float32")
        loop = self._loop(choices)
        scores = choices.scores if loop is None else loop.scores_of_hypotheses()
        if scores is None:
            raise ConfigError("the scores of the source %r are not known here" % self.sources[0].get_absolute_name())
        return scores.copy_transpose([batch_dim, *(d for d in scores.dims if d != batch_dim)])


@layer_class("choice_get_src_beams")
class ChoiceGetSrcBeamsLayer(_OfFrame):
    """Which ones of the hypotheses before those of the source go on from: int32 [batch], with beam. In a loop, of the
    frame, or of the frame before if the source is; in the first frame, nothing is before, and it is 0."""

    asks_for_sources = True

    def compute(self, *sources: Tensor) -> Tensor:
        self._only_source(sources)
        choices = self._required_choices()
        if not self.has_values:
            return Tensor("src_beams", [batch_dim], "int32")
        loop = self._loop(choices)
        src = choices.src if loop is None else loop.sources_of_hypotheses()
        if src is None:
            raise ConfigError("behind a loop, the hypotheses are the final ones: they go on from nothing else")
        src = src.like(src.raw_tensor, sparse_dim=None)
        return src.copy_transpose([batch_dim, *(d for d in src.dims if d != batch_dim)])


@layer_class("split_batch_beam")
class SplitBatchBeamLayer(_Decided):
    """The beam as an axis, [batch, beam, ..]; to other layers, hypotheses are nothing special any more."""

    beam_dim: Dim | None = None
    """of the axis; its size must be the beam size"""

    def compute(self, *sources: Tensor) -> Tensor:
        x = self._only_source(sources)
        size = self._required_choices().beam_size
        dim = self.beam_dim or self.make_dim("beam", size)
        if dim.dimension not in (None, size):
            raise ConfigError("beam_dim is %s, but the beam has the size %i" % (dim, size))
        times = {d: self.make_dim("time:%s" % d.description, None) for d in x.dims if has_lengths_of_beam(d)}
        beam = beam_of(x)
        if beam is not None and beam != dim:
            if dim.dimension is None:
                dim.dyn_size_ext = Tensor("beam", [], "int32", raw_tensor=self.network.backend.convert(size, "int32"))
            x = rf.replace_dim(x, in_dim=beam, out_dim=dim)
            for old, new in times.items():
                lens = old.dyn_size_ext
                assert lens is not None
                new.dyn_size_ext = rf.replace_dim(lens, in_dim=beam, out_dim=dim) if beam in lens.dims else lens
        time = times.get(x.time_dim, x.time_dim) if x.time_dim is not None else None
        rest = [times.get(d, d) for d in x.dims if not d.is_batch_dim and d != dim]
        dims = [times.get(d, d) for d in x.dims]
        x = x.like(x.raw_tensor, dims=dims, time_dim=time)
        if dim in x.dims:
            x = x.copy_transpose([batch_dim, dim, *rest])
        else:
            x = x.like(None, dims=[batch_dim, dim, *rest])
        if not x.sparse and x.feature_dim is None and not any(d.is_dynamic for d in rest):
            x.feature_dim = dim
        return x
