"""Scores of an n-gram language model, label by label, by the package KenLM."""

from __future__ import annotations

import functools
import math
import os
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from returnn.log import log
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.errors import ConfigError
from returnn.util.label_file import load_labels

from .base import LayerBase
from .registry import layer_class

_Print = Callable[..., None]


@layer_class("kenlm")
class KenLmStateLayer(LayerBase):
    """The logarithm (natural) of the probability of each label, given all before it from the start of the sequence.

    Source: labels or texts [batch, time]; within a loop [batch]. Output: its dims, float32. A label is a word, and a
    word that the model does not know is its ``<unk>``. Where a sequence ends, that has to be a label, ``</s>``.
    """

    recurrent = True
    iterates_itself = True

    lm_file: str | None = None
    """of the model: ARPA, or a binary format of KenLM; must be given"""
    vocab_file: str | None = None
    """texts of the labels: a file with one per line, or with a dict text -> label; may be ``.gz``, or ``.pkl`` with the
    dict. By default the vocabulary of the source, which may also be texts"""
    vocab_unknown_label: str = "UNK"
    """the one of the vocabulary: to the model, it is a word like others"""
    bpe_merge_symbol: str | None = None
    """what stands at the end of a label, for instance "@@", if the word goes on with the next label. In each frame, the
    last word counts as if it ended there"""
    axis: Dim | str | None = None
    """axis to iterate over; default: time, within a loop its frames"""
    input_step_offset: int = 0
    """number of the first frame that counts; in those before there are no words, and the score is 0"""
    dense_output: bool = False
    """the scores of all labels in the next frame instead, [.., labels]"""
    debug: bool = False
    """write labels and scores to the log"""
    _scorer: Scorer | None = None

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        if self._is_template or self.network.only_types:
            return
        self._scorer = Scorer(
            load_model(self.lm_file),
            labels=self._labels(),
            merge_symbol=self.bpe_merge_symbol,
            first_frame=self.input_step_offset,
            is_dense=self.dense_output,
            debug=functools.partial(print, self.get_absolute_name(), file=log.v3) if self.debug else None,
        )

    def _labels(self) -> list[str] | None:
        """
        :return: their texts; None: the source is texts itself, or there is no vocabulary
        """
        x = self._only_source(self.sources).output
        if self.vocab_file is not None:
            labels: list[str] | None = load_labels(self.vocab_file).labels
        else:
            labels = None if x.vocab is None else list(x.vocab.labels)
        if labels is None and x.dtype != "string":
            raise ConfigError("vocab_file is missing: the source %s has no texts of its labels" % x.short_repr())
        size = x.sparse_dim.dimension if x.sparse_dim is not None else None
        if labels is not None and size is not None and size > len(labels):
            raise ConfigError(
                "vocab_file has %i labels, but the source %s has %i" % (len(labels), x.short_repr(), size)
            )
        return labels

    def compute(self, *inputs: Tensor) -> Tensor:
        x = self._only_source(inputs)
        inner: list[Dim] = []
        if self.dense_output:
            labels = self._labels()
            if labels is None:
                raise ConfigError("dense_output: vocab_file is missing, which says what labels there are")
            inner.append(self._label_dim(x, len(labels)))
        axis = self._axis(x)
        if axis is None:
            return self._one_frame(x, inner)
        if x.raw_tensor is None:
            return _scores(x.dims, inner, None)
        assert self._scorer is not None
        dims = [axis, *(d for d in x.dims if d != axis)]
        results = [("float32", len(dims) + len(inner))]
        (raw,) = self.network.backend.call_numpy(self._scorer.all_frames, [x.copy_transpose(dims).raw_tensor], results)
        return _scores(dims, inner, self._with_static_sizes(raw, dims, inner)).copy_transpose([*x.dims, *inner])

    def _label_dim(self, x: Tensor, size: int) -> Dim:
        if x.sparse_dim is not None and x.sparse_dim.dimension == size and self.n_out is None and self.out_dim is None:
            return x.sparse_dim
        dim = self.resolve_out_dim() or self.make_dim("labels", size, kind=DimKind.Feature)
        if dim.dimension != size:
            raise ConfigError("vocab_file has %i labels, but %s are wanted" % (size, dim))
        return dim

    def _axis(self, x: Tensor) -> Dim | None:
        """
        :return: of x, to iterate over; None: it is one frame of a loop
        """
        if self.axis is not None:
            return x.get_dim_tag_from_description(self.axis)
        if self.network.loop is not None:
            return self.loop_dim_of(x)
        if x.time_dim is None:
            raise ConfigError("the source %s has no time axis" % x.short_repr())
        return x.time_dim

    def _one_frame(self, x: Tensor, inner: list[Dim]) -> Tensor:
        template = Tensor("node", [d for d in x.dims if not d.is_beam_dim], "int32")

        def start() -> Tensor:
            loop = self.network.require_loop().run
            assert loop is not None
            return loop.full_tensor("node", template.dims, "int32", 0)

        before = self.previous("node", template, start)
        if not self.has_values:
            return _scores(x.dims, inner, None)
        assert self._scorer is not None
        dims = [*x.dims, *(d for d in before.dims if d not in x.dims)]
        args = [x.copy_compatible_to_dims_raw(dims), before.copy_compatible_to_dims_raw(dims)]
        node, raw = self.network.backend.call_numpy(
            self._scorer.one_frame,
            [*args, self.network.get_rec_step_index()],
            [("int32", len(dims)), ("float32", len(dims) + len(inner))],
        )
        self.leave("node", Tensor("node", dims, "int32", raw_tensor=node))
        return _scores(dims, inner, self._with_static_sizes(raw, dims, inner))

    def _with_static_sizes(self, raw: Any, dims: Sequence[Dim], inner: Sequence[Dim]) -> Any:
        backend = self.network.backend
        sizes = [d.dimension or backend.size_of_axis(raw, axis) for axis, d in enumerate([*dims, *inner])]
        return backend.reshape(raw, sizes)


def _scores(dims: Sequence[Dim], inner: Sequence[Dim], raw: Any) -> Tensor:
    feature = inner[0] if inner else None
    return Tensor("scores", [*dims, *inner], "float32", feature_dim=feature, raw_tensor=raw)


class _Node:
    """Labels from the start of a sequence on."""

    def __init__(self, state: Any, *, complete: float, part: str = "", score: float = 0.0):
        """
        :param state: of the model, behind all words but a last one that may go on
        :param complete: score of these words
        :param part: the last one, if it may go on
        :param score: of all words
        """
        self.state = state
        self.complete = complete
        self.part = part
        self.score = score
        self.next: dict[str, int] = {}
        """label -> number of the node behind it"""


class Scorer:
    """Scores of labels, one after the other.

    A state is the number of a node in a tree of all beginnings of sequences that were asked for; 0 is the empty one.
    The tree is kept as long as some sequence is behind its start.
    """

    def __init__(
        self,
        model: Any,
        *,
        labels: Sequence[str] | None,
        merge_symbol: str | None = None,
        first_frame: int = 0,
        is_dense: bool = False,
        debug: _Print | None = None,
    ):
        """
        :param model: as :func:`load_model` gives it
        :param labels: texts; None: they come as texts
        :param merge_symbol: at the end of a label: the word goes on
        :param first_frame: number of the first one that counts
        :param is_dense: scores of all labels that might follow
        :param debug: writes to the log
        """
        self._model = model
        self._labels = labels
        self._merge_symbol = merge_symbol
        self._first_frame = first_frame
        self._is_dense = is_dense
        self._debug = debug
        self._new_state = _kenlm().State
        start = self._new_state()
        model.BeginSentenceWrite(start)
        self._nodes = [_Node(start, complete=0.0)]
        self._dense: dict[tuple[Any, str], numpy.ndarray] = {}

    def one_frame(self, labels: Any, nodes: Any, frame: Any) -> tuple[numpy.ndarray, numpy.ndarray]:
        """
        :param labels: numbers or texts
        :param nodes: int: states before
        :param frame: its number
        :return: int32: states behind it; float32: scores
        """
        labels, nodes = numpy.broadcast_arrays(labels, nodes)
        if not nodes.any():  # all sequences start
            del self._nodes[1:]
            self._nodes[0].next.clear()
            self._dense.clear()
        res = nodes
        if int(frame) >= self._first_frame:
            pairs = zip(labels.reshape(-1).tolist(), nodes.reshape(-1).tolist(), strict=True)
            res = numpy.array([self._behind(node, self._text(label)) for label, node in pairs], "int32")
            res = res.reshape(nodes.shape)
        if self._is_dense:
            scores = [self._dense_scores(self._nodes[node]) for node in res.reshape(-1).tolist()]
            value = numpy.array(scores, "float32").reshape(*res.shape, len(self._labels or ()))
        else:
            both = zip(res.reshape(-1).tolist(), nodes.reshape(-1).tolist(), strict=True)
            value = numpy.array([self._nodes[a].score - self._nodes[b].score for a, b in both], "float32")
            value = value.reshape(res.shape)
        if self._debug is not None:
            self._debug("frame", int(frame), "labels", labels.tolist(), "scores", value.tolist())
        return res, value

    def all_frames(self, labels: Any) -> tuple[numpy.ndarray]:
        """
        :param labels: [time, ..]: numbers or texts
        :return: float32 [time, ..] or [time, .., labels]: scores
        """
        labels = numpy.asarray(labels)
        nodes = numpy.zeros(labels.shape[1:], "int32")
        frames = []
        for i, frame in enumerate(labels):
            nodes, scores = self.one_frame(frame, nodes, i)
            frames.append(scores)
        inner = (len(self._labels or ()),) if self._is_dense else ()
        return (numpy.array(frames, "float32").reshape(*labels.shape, *inner),)

    def _text(self, label: Any) -> str:
        """a number behind the end of a sequence may be none of a label: that is no word"""
        if isinstance(label, int):
            assert self._labels is not None
            return self._labels[label] if 0 <= label < len(self._labels) else ""
        return label.decode("utf8") if isinstance(label, bytes) else str(label)

    def _behind(self, number: int, text: str) -> int:
        before = self._nodes[number]
        if text not in before.next:
            self._nodes.append(self._make_node(before, text))
            before.next[text] = len(self._nodes) - 1
        return before.next[text]

    def _make_node(self, before: _Node, text: str) -> _Node:
        state, complete, part = before.state, before.complete, before.part
        for piece in text.split():
            if self._merge_symbol and piece.endswith(self._merge_symbol):
                part += piece[: -len(self._merge_symbol)]
            else:
                score, state = self._score(state, part + piece)
                complete, part = complete + score, ""
        last = self._score(state, part)[0] if part else 0.0
        return _Node(state, complete=complete, part=part, score=complete + last)

    def _score(self, state: Any, word: str) -> tuple[float, Any]:
        behind = self._new_state()
        return self._model.BaseScore(state, word, behind) * math.log(10.0), behind

    def _dense_scores(self, node: _Node) -> numpy.ndarray:
        key = (node.state, node.part)
        if key not in self._dense:
            start = _Node(node.state, complete=0.0, part=node.part)
            last = self._score(node.state, node.part)[0] if node.part else 0.0
            scores = [self._make_node(start, label).score - last for label in self._labels or ()]
            self._dense[key] = numpy.array(scores, "float32")
        return self._dense[key]


def _kenlm() -> Any:
    try:
        import kenlm  # type: ignore[import-not-found]  # noqa: PLC0415 - optional package
    except ImportError as exc:
        raise ConfigError("the package kenlm is missing: pip install 'returnn[kenlm]'") from exc
    return kenlm


def load_model(filename: str | None) -> Any:
    """
    :param filename: of the model
    :return: ``kenlm.Model``; the same object for the same file
    :raises ConfigError: there is no such file, it is no model, or the package is missing
    """
    if not filename:
        raise ConfigError('option "lm_file" is missing')
    if not os.path.exists(filename):
        raise ConfigError("lm_file %r does not exist" % filename)
    return _load_model(os.path.abspath(filename), os.path.getmtime(filename))


@functools.lru_cache(maxsize=4)
def _load_model(filename: str, _mtime: float) -> Any:
    package = _kenlm()
    try:
        return package.Model(filename)
    except OSError as exc:
        raise ConfigError("lm_file %r cannot be read: %s" % (filename, exc)) from exc
