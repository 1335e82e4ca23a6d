"""Cross entropy over many classes, estimated on a few of them that are drawn in each step."""

from __future__ import annotations

import csv
from collections.abc import Callable
from typing import Any

import numpy

import returnn.frontend as rf
from returnn.layers.features import feature_dim_of
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.errors import UserError
from returnn.util.suggest import did_you_mean

from .base import Loss, option_error, valid_labels


class SamplingBasedLoss(Loss):
    """-log softmax(z)[label] of a layer of many classes, of which only the label and some sampled ones are computed.

    For a ``linear`` or ``softmax`` layer with ``use_transposed_weights``, so that W is [classes, features]. Sampled
    softmax (Jean et al., 2015): classes are drawn without replacement, the logarithm of their expected count is
    subtracted from their logits, and then it is the cross entropy among these. Noise contrastive estimation (Gutmann
    and Hyvärinen, 2010): a binary decision for each, whether it is the label or was drawn. The draws are a function of
    the random seed, the layer and the step. Error: that of all classes.
    """

    class_name = "sampling_loss"

    def __init__(
        self,
        base_network: Any,
        *,
        num_sampled: int = 128,
        num_splits: int = 1,
        sampler: str = "log_uniform",
        nce_loss: bool = False,
        use_full_softmax: bool = False,
        remove_accidental_hits: bool | None = None,
        sampler_args: dict[str, Any] | None = None,
        nce_log_norm_term: float = 0.0,
        **common: Any,
    ):
        """
        :param base_network: in which the layer is
        :param num_sampled: classes to draw, fewer than there are
        :param num_splits: so many draws in a step, each for its part of the frames
        :param sampler: distribution of the classes. log_uniform: log((i + 2) / (i + 1)), for classes sorted by
            falling frequency; uniform; fixed_unigram: as sampler_args say; learned_unigram: as the labels of earlier
            training steps were, each class counts one more
        :param nce_loss: noise contrastive estimation, else sampled softmax
        :param use_full_softmax: no sampling, plain cross entropy. For the evaluation of a trained model
        :param remove_accidental_hits: a drawn class that is the label does not count. Default: not with ``nce_loss``
        :param sampler_args: of fixed_unigram: ``unigrams`` (list of counts) or ``vocab_file`` (a line per class, count
            at the end, behind a comma); ``distortion`` 1.0 (counts to the power of this), ``num_reserved_ids`` 0 (so
            many classes in front of these, which are never drawn)
        :param nce_log_norm_term: subtracted from the logits of ``nce_loss``
        :param common: see :class:`Loss`
        """
        super().__init__(base_network, **common)
        if num_sampled < 1 or num_splits < 1:
            raise option_error(self, "num_sampled and num_splits must be > 0, but are %r, %r", num_sampled, num_splits)
        if sampler not in _SAMPLERS:
            near = did_you_mean(sampler, _SAMPLERS)
            raise option_error(self, "unknown sampler %r.%s Samplers: %s", sampler, near, ", ".join(_SAMPLERS))
        if sampler_args and sampler != "fixed_unigram":
            raise option_error(self, "sampler %s has no sampler_args, but they are %r", sampler, sampler_args)
        self.num_sampled = num_sampled
        self.num_splits = num_splits
        self.sampler = sampler
        self.nce_loss = nce_loss
        self.use_full_softmax = use_full_softmax
        self.remove_accidental_hits = not nce_loss if remove_accidental_hits is None else remove_accidental_hits
        self.sampler_args = dict(sampler_args or {})
        self.nce_log_norm_term = nce_log_norm_term

    def _check_init(self) -> None:
        super()._check_init()
        self._require_sparse_target(True)
        self._check_output_dim(self.target.dim)
        if self.use_full_softmax:
            return
        layer: Any = self.layer
        if not getattr(layer, "use_transposed_weights", False) or layer.find_param("W") is None:
            raise option_error(
                self, "needs a linear or softmax layer with use_transposed_weights, but %s is none", self._layer_name()
            )
        num_classes = feature_dim_of(self.output).require_static()
        if self.num_sampled >= num_classes:
            text = "num_sampled is %i, but there are only %i classes"
            raise option_error(self, text, self.num_sampled, num_classes)

    def value_per_pos(self) -> Tensor:
        target = valid_labels(self.target_like_output())
        known = self.output_with_activation
        if self.use_full_softmax:
            logits = known.x if known is not None and known.is_softmax() else self.output
            return rf.sparse_softmax_cross_entropy(logits, labels=target, axis=feature_dim_of(logits))
        if target.raw_tensor is None:
            return target.like(None, dtype="float32", sparse_dim=None)
        x = self.layer.input_data  # type: ignore[union-attr]
        if self.num_splits == 1:
            return self._value(x, target, [])
        return _in_parts(x, target, self.num_splits, self._value)

    def _value(self, x: Tensor, target: Tensor, parts: list[Dim]) -> Tensor:
        """
        :param x: [.., features]
        :param target: labels [..]
        :param parts: dims of both; classes are drawn for each part
        :return: [..]
        """
        layer: Any = self.layer
        network, features = layer.network, feature_dim_of(x)
        classes = Dim(self.output.dim, description="classes", kind=DimKind.Feature)
        target = target.like(target.raw_tensor, sparse_dim=classes)
        weights = self._weights(classes, target)
        sampled, time = rf.sample_without_replacement(
            weights,
            axis=classes,
            num_dim=Dim(self.num_sampled, description="sampled"),
            batch_dims=parts,
            state=rf.random_state_of_step(layer.get_absolute_name() + "/sampling_loss", backend=network.backend),
        )
        w = Tensor("W", (classes, features), x.dtype, raw_tensor=_param(layer, "W"))
        true_logits = rf.reduce_sum(x * rf.gather(w, indices=target), axis=features)
        sampled_logits = rf.matmul(x, rf.gather(w, indices=sampled), reduce=features)
        if layer.with_bias:
            b = Tensor("b", (classes,), x.dtype, raw_tensor=_param(layer, "b"))
            true_logits = true_logits + rf.gather(b, indices=target)
            sampled_logits = sampled_logits + rf.gather(b, indices=sampled)
        true_logits = true_logits - _log_expected(weights, target, time)
        sampled_logits = sampled_logits - _log_expected(weights, sampled, time)
        if self.remove_accidental_hits:
            sampled_logits = rf.where(rf.compare(sampled, "!=", target), sampled_logits, -1e30)
        axis = sampled.dims[-1]
        if self.nce_loss:
            log_norm = float(self.nce_log_norm_term)
            of_sampled = rf.reduce_sum(rf.softplus(sampled_logits - log_norm), axis=axis)
            return rf.softplus(log_norm - true_logits) + of_sampled
        return rf.softplus(rf.reduce(sampled_logits, mode="logsumexp", axis=axis) - true_logits)

    def _weights(self, classes: Dim, target: Tensor) -> Tensor:
        """:return: [classes], what the sampler draws from, not normalised"""
        if self.sampler == "learned_unigram":
            return self._learned_counts(classes, target)
        values = _SAMPLERS[self.sampler](classes.require_static(), **self.sampler_args)
        raw = target._raw_backend.convert((values / values.sum()).astype("float32"), "float32")
        return Tensor("weights", (classes,), "float32", raw_tensor=raw)

    def _learned_counts(self, classes: Dim, target: Tensor) -> Tensor:
        """One of each class, and the labels of the training steps before. This is not saved with the model."""
        network, backend = self.base_network, target._raw_backend
        name = self._layer_name() + "/sampling_loss/counts"
        raw, keep = backend.kept_value(name, classes.require_static(), rows=1, reset=None)
        row = Dim(1, description="row")
        counts = Tensor("counts", (row, classes), "float32", raw_tensor=raw)

        def counts_after() -> Tensor:
            labels = rf.scatter(rf.cast(target * 0 + 1, "float32"), indices=target, indices_dim=list(target.dims))
            return counts + labels

        kept = keep(network.cond_on_train(counts_after, lambda: counts).raw_tensor)
        network.register_post_control_dependencies([kept])
        counts = rf.squeeze(counts, row) + 1.0
        return counts / rf.reduce_sum(counts, axis=classes)


def _param(layer: Any, name: str) -> Any:
    return layer.network.param_tensor(layer.find_param(name)).raw_tensor


def _log_expected(weights: Tensor, classes: Tensor, time: Tensor) -> Tensor:
    counts = rf.expected_counts(rf.gather(weights, indices=classes), time)
    return rf.log(rf.maximum(counts, 1e-30))


def _in_parts(x: Tensor, target: Tensor, num: int, function: Callable[[Tensor, Tensor, list[Dim]], Tensor]) -> Tensor:
    """
    :param x: [.., features]
    :param target: [..]
    :param num: the frames, padding included, become so many parts, one behind the other
    :param function: x [parts, frames, features], target [parts, frames], [parts] -> [parts, frames]
    :return: [..]
    """
    features = feature_dim_of(x)
    rest = [d for d in x.dims if d != features]
    backend = x._raw_backend
    raws = [x.copy_transpose([*rest, features]).raw_tensor, target.copy_transpose(rest).raw_tensor]
    sizes = [backend.size_of_axis(raws[1], i) for i in range(len(rest))]
    parts, frames = Dim(num, description="parts"), Dim(None, description="frames", size_dims=())
    missing = None
    for i, shape in enumerate([[features.require_static()], []]):
        raw = backend.reshape(raws[i], [-1, *shape])
        if missing is None:
            total = backend.size_of_axis(raw, 0)
            missing = backend.binary("mod", backend.unary("neg", total), num)
        raw = backend.pad(raw, [(0, missing)] + [(0, 0)] * len(shape))
        raws[i] = backend.reshape(raw, [num, -1, *shape])
    value = function(
        x.like(raws[0], dims=(parts, frames, features), feature_dim=features, time_dim=None),
        target.like(raws[1], dims=(parts, frames), time_dim=None),
        [parts],
    ).copy_transpose([parts, frames])
    flat = backend.slice(backend.reshape(value.raw_tensor, [-1]), 0, None, total)
    return value.like(backend.reshape(flat, sizes), dims=rest)


# ---- distributions


def _log_uniform(num_classes: int) -> numpy.ndarray:
    places = numpy.arange(num_classes)
    return numpy.log((places + 2.0) / (places + 1.0))


def _uniform(num_classes: int) -> numpy.ndarray:
    return numpy.ones(num_classes)


def _fixed_unigram(
    num_classes: int,
    *,
    unigrams: Any = None,
    vocab_file: str | None = None,
    distortion: float = 1.0,
    num_reserved_ids: int = 0,
) -> numpy.ndarray:
    if (unigrams is None) == (vocab_file is None):
        raise UserError("sampler fixed_unigram: sampler_args must have either unigrams or vocab_file")
    if vocab_file is not None:
        with open(vocab_file, encoding="utf8", newline="") as f:
            unigrams = [float(row[-1]) for row in csv.reader(f) if row]
    values = numpy.asarray(unigrams, "float64") ** distortion
    if len(values) + num_reserved_ids != num_classes:
        raise UserError(
            "sampler fixed_unigram: %i counts and %i reserved classes, but there are %i classes"
            % (len(values), num_reserved_ids, num_classes)
        )
    return numpy.concatenate([numpy.zeros(num_reserved_ids), values])


_SAMPLERS: dict[str, Callable[..., numpy.ndarray]] = {
    "log_uniform": _log_uniform,
    "uniform": _uniform,
    "fixed_unigram": _fixed_unigram,
    "learned_unigram": _uniform,
}
"""number of classes -> their weights; learned_unigram: at the start"""
