"""Layers whose sources are joined on the feature axis first, and the dropout on that input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import returnn.frontend as rf
from returnn.tensor import Dim, Tensor
from returnn.tensor.run_table import current_table
from returnn.util.errors import ConfigError

from .base import LayerBase
from .beam_border import template_without_beam
from .unify import unify


def concat_sources(src_layers: Sequence[LayerBase]) -> Tensor:
    """
    :param src_layers: dense, of one dtype, if there are several
    :return: their outputs, joined on the feature axis, in this order; of a single one as it is
    """
    return _join([layer.output for layer in src_layers])


def get_concat_sources_data_template(src_layers: Sequence[LayerBase], name: str | None = None) -> Tensor:
    """
    :param src_layers: see :func:`concat_sources`
    :param name: of the result
    :return: like :func:`concat_sources`, without value
    """
    return _join([template_without_beam(layer.output) for layer in src_layers]).copy_template(name)


def _join(sources: Sequence[Tensor]) -> Tensor:
    if len(sources) == 1:
        return sources[0]
    if any(x.sparse for x in sources):
        raise ConfigError("sparse concat not supported: %s" % ", ".join(x.short_repr() for x in sources))
    if len({x.dtype for x in sources}) > 1:
        raise ConfigError(
            "sources of different dtype cannot be joined: %s" % ", ".join(x.short_repr() for x in sources)
        )
    for x in sources:
        if x.feature_dim is None or x.feature_dim.dimension is None:
            raise ConfigError("%r cannot be joined on the feature axis: it has no static one" % x)
    return rf.concat_features(*unify(sources, features=False))


class ConcatInputLayer(LayerBase):
    """Sources joined on the feature axis; ``compute(x)`` gets that as its one input."""

    dropout: float = 0.0
    """probability of zero, on the input, in training; in (0, 1), or 0 for none"""
    dropout_noise_shape: dict[Any, Any] | tuple[Any, ...] | list[Any] | None = None
    """axis description -> -1 or None: own noise along it, 1: the same all along it; "*": all others. By default batch
    and time share the noise. Or a tuple in axis order."""
    dropout_axis: Any = None
    """axes with own noise; all others share it. Instead of ``dropout_noise_shape``"""
    dropout_on_forward: bool = False
    """also when not training"""
    mask: str | None = None
    """None, "dropout" or "unity" are accepted from very old configs; they never had an effect here"""
    in_dim: Dim | None = None
    """the feature axis of the input"""

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        self.input_data: Any = None
        """sources joined, with dropout; a Tensor. Layers of users compute with it"""
        self._read_sources()

    def _read_sources(self) -> None:
        if self.sources and not self._is_template:
            self.input_data = self._joined_input()

    def drop_values(self) -> None:
        super().drop_values()
        if vars(self).get("input_data") is not None:  # some derived layers leave their sources to others
            self.input_data = self.input_data.copy_template()

    def _inputs(self) -> list[Tensor]:
        if not self.sources:
            raise ConfigError('the layer needs a source: "from" is empty')
        return [self._joined_input() if self._is_template else self.input_data]

    def _joined_input(self) -> Tensor:
        x = _join(LayerBase._inputs(self))
        if self.in_dim is not None and x.feature_dim != self.in_dim:
            x = x.copy()
            x.feature_dim = self.in_dim
        return self._with_dropout(x)

    def _with_dropout(self, x: Tensor) -> Tensor:
        if not self.dropout:
            return x
        if not isinstance(self.dropout, (int, float)) or not 0 < self.dropout < 1:
            raise ConfigError("dropout must be in [0, 1), but is %r" % (self.dropout,))
        if x.sparse:
            raise ConfigError("dropout on labels is not possible: %s" % x.short_repr())
        if self._is_template:
            return x
        axes = self._dropout_dims(x)
        origins = [source.origin for source in self.sources]

        def drop() -> tuple[Tensor, list[LayerBase]]:
            # initial values of later layers depend on the number of draws, though the noise has its own seeds
            if self.network.train_flag is not False:
                origins[0].network.random.randint(2**31)
            name = self.get_absolute_name() + "/dropout"
            return rf.dropout(x, self.dropout, axis=axes, name=name, on_forward=self.dropout_on_forward), origins

        # layers with the same input and options share noise and work: the two directions of an LSTM, for instance
        key = ("dropout", tuple(map(id, origins)), self.dropout, tuple(axes), x.dims, self.dropout_on_forward)
        return current_table().cached(key, drop)[0].copy()

    def _dropout_dims(self, x: Tensor) -> list[Dim]:
        shape = self.dropout_noise_shape
        if self.dropout_axis is not None:
            if shape is not None:
                raise ConfigError("dropout_axis and dropout_noise_shape exclude each other")
            return [x.dims[a] for a in x.get_axes_from_description(self.dropout_axis)]
        if isinstance(shape, (tuple, list)):
            if len(shape) != x.batch_ndim:
                raise ConfigError(
                    "dropout_noise_shape %r must have %i entries: %s" % (shape, x.batch_ndim, x.short_repr())
                )
            return [d for d, n in zip(x.dims, shape, strict=True) if n != 1]
        bc_shape = x.get_bc_shape(shape)
        return [d for d, n in zip(x.dims, bc_shape, strict=True) if n != 1 or d.dimension == 1]


_ConcatInputLayer = ConcatInputLayer
"""the name that users' layers derive from"""
