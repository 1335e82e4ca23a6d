"""An LSTM over the frames of two sequences at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import returnn.frontend as rf
from returnn.log import log
from returnn.tensor import Dim, DimKind, Tensor
from returnn.util.errors import ConfigError

from .base import LayerBase
from .registry import layer_class

_POOLINGS = ("last", "max", "average", "weighted")


@layer_class("twod_lstm")
class TwoDLSTMLayer(LayerBase):
    """An LSTM over the frames of a source and of a target: see :func:`returnn.frontend.lstm_2d`. Of each target frame,
    the outputs for all source frames are pooled.

    Sources: two, e.g. an encoder and the labels before: [batch, time, F], or labels. Output: axes of the second one,
    with ``out_dim``. Within a loop the second may be one frame; then the cells of the frame before are a state.

    Parameters: ``rec-twod/W_re`` [F of the first + F of the second, 5 n_out], ``rec-twod/Vh_re``, ``rec-twod/Vv_re``
    [n_out, 5 n_out], from the source frame before and from the target frame before; gates in the order input, forget,
    lambda, output, cell input. With ``pooling`` weighted also ``rec-twod/W_att`` [F of the second, n_out].
    """

    recurrent = True
    iterates_itself = True

    pooling: str = "last"
    """over source frames: last, max, average; weighted: by the softmax over source frames of the product of the output
    and the second source, which ``W_att`` projects"""
    unit_opts: dict[str, Any] | None = None
    """there are none"""
    forward_weights_init: Any = None
    """initial values of ``W_re`` and ``W_att``; default: glorot_uniform"""
    recurrent_weights_init: Any = None
    """initial values of ``Vh_re`` and ``Vv_re``; default: those of ``W_re``"""
    bias_init: Any = None
    """has no effect: there is no bias"""

    def compute(self, *inputs: Tensor) -> Tensor:
        if len(inputs) != 2:
            raise ConfigError("the layer needs two sources, e.g. an encoder and labels, but has %i" % len(inputs))
        self._check()
        out_dim = self.required_out_dim()
        n = out_dim.require_static()
        source, target = (self._with_own_features(x, key) for x, key in zip(inputs, ("source", "target"), strict=True))
        sizes = [_features(x).require_static() for x in (source, target)]
        gates = self.make_dim("gates", 5 * n, kind=DimKind.Feature)
        target_dim, is_frame = self._target_dim(target)
        if is_frame:
            target = rf.expand_dim(target, target_dim)
        source, source_dim = self._source_dim(source, target_dim)
        joint = self.make_dim("in", sum(sizes), kind=DimKind.Feature)
        forward = self.forward_weights_init or self.recurrent_weights_init or "glorot_uniform"
        recurrent = self.recurrent_weights_init or forward
        w = self._weights("W_re", [joint, gates], forward)
        w_source, w_target = rf.split(w, axis=joint, out_dims=[_features(source), _features(target)])
        v_source = self._weights("Vh_re", [out_dim, gates], recurrent)
        v_target = self._weights("Vv_re", [out_dim, gates], recurrent)
        before = self._cells_before(source, target, source_dim, target_dim, out_dim) if is_frame else None
        y, c = rf.lstm_2d(
            _projected(source, w_source),
            _projected(target, w_target),
            source_dim=source_dim,
            target_dim=target_dim,
            w_source=v_source,
            w_target=v_target,
            gates_dim=gates,
            out_dim=out_dim,
            before=before,
        )
        if is_frame:
            y, c = (rf.squeeze(x, target_dim) for x in (y, c))
            self.leave("output", y)
            self.leave("cell", c)
            target = rf.squeeze(target, target_dim)
        res = self._pooled(y, target, source_dim, out_dim, forward)
        order = [d for d in target.dims if d in res.dims]
        res = res.copy_transpose([*order, *(d for d in res.dims if d not in order and d != out_dim), out_dim])
        return res.like(res.raw_tensor, feature_dim=out_dim, time_dim=None if is_frame else target_dim)

    def _check(self) -> None:
        if self.pooling not in _POOLINGS:
            raise ConfigError("pooling must be one of %s, but is %r" % (", ".join(_POOLINGS), self.pooling))
        if self.unit_opts:
            raise ConfigError("unit_opts: the unit has no options, but there is %r" % sorted(self.unit_opts)[0])
        if self.bias_init is not None and not self._is_template:
            print("layer %r: bias_init has no effect, there is no bias" % self.get_absolute_name(), file=log.v2)

    def _weights(self, name: str, dims: list[Dim], init: Any) -> Tensor:
        return self.param(name, dims, init=init, scope="rec-twod")

    def _with_own_features(self, x: Tensor, key: str) -> Tensor:
        """so that no dim is twice in a parameter"""
        dim = _features(x)
        if x.sparse:
            return x
        if dim.dimension is None:
            raise ConfigError("the source %s has no static feature dim" % x.short_repr())
        return rf.replace_dim(x, in_dim=dim, out_dim=self.make_dim(key + ":in", dim.dimension, kind=DimKind.Feature))

    def _target_dim(self, target: Tensor) -> tuple[Dim, bool]:
        """
        :return: axis of the target frames, and whether it is only one of them, which lacks it
        """
        dim = self.loop_dim_of(target) or target.time_dim
        if dim is not None:
            return dim, False
        if not self.is_stepping:
            raise ConfigError("the second source %s has no time axis" % target.short_repr())
        return self.make_dim("step", 1), True

    def _source_dim(self, source: Tensor, target_dim: Dim) -> tuple[Tensor, Dim]:
        """
        :return: the source, and its axis of frames, which is another one than that of the target
        """
        dim = source.time_dim
        if dim is None:
            raise ConfigError("the first source %s has no time axis" % source.short_repr())
        if dim != target_dim:
            return source, dim
        own = self.make_dim("source", dim.dimension)
        if dim.dyn_size_ext is not None:
            own.dyn_size_ext = dim.dyn_size_ext
        return rf.replace_dim(source, in_dim=dim, out_dim=own), own

    def _cells_before(
        self, source: Tensor, target: Tensor, source_dim: Dim, target_dim: Dim, out_dim: Dim
    ) -> tuple[Tensor, Tensor]:
        rest = [d for x in (source, target) for d in x.dims if d not in (source_dim, target_dim, x.feature_dim)]
        dims = [d for d in dict.fromkeys(rest) if not d.is_beam_dim] + [source_dim, out_dim]
        template = Tensor("cells", dims, "float32", feature_dim=out_dim, time_dim_axis=None)

        def initial(key: str) -> Callable[[], Tensor]:
            def zeros() -> Tensor:
                loop = self.network.require_loop().run
                assert loop is not None
                return loop.full_tensor(key, dims, "float32", 0.0)

            return zeros

        y, c = (self.previous(key, template, initial(key)) for key in ("output", "cell"))
        return y, c

    def _pooled(self, y: Tensor, target: Tensor, source_dim: Dim, out_dim: Dim, init: Any) -> Tensor:
        """
        :param y: [target frames.., source_dim, .., out_dim]
        :param target: [target frames.., features]
        """
        if self.pooling == "max":
            return rf.reduce_max(y, axis=source_dim)
        if self.pooling == "average":
            return rf.reduce_mean(y, axis=source_dim)
        if self.pooling == "weighted":
            w = self._weights("W_att", [_features(target), out_dim], init)
            weights = rf.softmax(rf.dot(y, _projected(target, w), reduce=out_dim), axis=source_dim)
            return rf.dot(y, weights, reduce=source_dim)
        places = rf.places_along(source_dim, y)
        is_last = rf.compare(places, "equal", rf.lengths_along(y, source_dim) - 1)
        return rf.reduce_sum(rf.where(is_last, y, 0.0), axis=source_dim)


def _features(x: Tensor) -> Dim:
    dim = x.feature_dim_or_sparse_dim
    if dim is None:
        raise ConfigError("the source %s has no feature dim" % x.short_repr())
    return dim


def _projected(x: Tensor, w: Tensor) -> Tensor:
    if x.sparse:
        return rf.gather(w, indices=x, axis=x.sparse_dim)
    return rf.matmul(x, w, reduce=_features(x))
