"""Layers that work with gradients: as values, replaced, or as a part of what is minimised."""

from __future__ import annotations

import returnn.frontend as rf
from returnn.tensor import Tensor
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .registry import layer_class
from .unify import matching_dims


@layer_class("gradient")
class GradientLayer(LayerBase):
    """dy / dx, of the shape of x. Not on numpy, which has no gradients."""

    _default_source = None
    _layer_options = ("y", "x")

    y: LayerBase | str | None = None
    """layer with a scalar; must be given"""
    x: LayerBase | str | None = None
    """layer that y depends on; must be given"""

    def _inputs(self) -> list[Tensor]:
        inputs = [self._output_of_option("y"), self._output_of_option("x")]
        assert isinstance(self.x, LayerBase)
        self.x.needs_gradient = True
        return inputs

    def compute(self, y: Tensor, x: Tensor) -> Tensor:
        return rf.gradient(y, x)


@layer_class("synthetic_gradient")
class SyntheticGradientLayer(ConcatInputLayer):
    """The input. Behind it, gradients go as ever; to it goes the output s of the layer ``gradient``, instead of the
    true gradient g. That layer learns to predict g: it gets the gradient of

        meta_loss_scale * mean of (s - g)^2 over all entries.

    Behind a sequence's end s is padding, and counts, up to behaviour version 30; from 31 on it does not.
    See Jaderberg et al., Decoupled neural interfaces using synthetic gradients, 2016.
    """

    _layer_options = ("gradient",)

    gradient: LayerBase | str | None = None
    """layer that predicts the gradient; its axes are those of the input. Must be given"""
    meta_loss_scale: float = 1.0
    """how much the error of the prediction counts"""

    def compute(self, x: Tensor) -> Tensor:
        synthetic = self._output_of_option("gradient")
        dims = matching_dims(x, synthetic)
        if dims is None:
            raise ConfigError(
                "the gradient %s must have the axes of the input %s" % (synthetic.short_repr(), x.short_repr())
            )
        for dim, other in zip(x.dims, dims, strict=True):
            if dim == other:
                continue
            if synthetic.raw_tensor is not None:
                text = "layer %r: lengths of the gradient differ from those of the input" % self.name
                synthetic = self.network.check_same_lens(synthetic, [(other, dim)], text)
            synthetic = rf.replace_dim(synthetic, in_dim=other, out_dim=dim)
        return rf.synthetic_gradient(
            x,
            synthetic=synthetic,
            scale=float(self.meta_loss_scale),
            use_mask=BehaviorVersion.has(Change.SYNTHETIC_GRADIENT_MASKS),
        )


@layer_class("tikhonov_regularization")
class TikhonovRegularizationLayer(ConcatInputLayer):
    """The input. In training, what is minimised gets one part more,

        meta_loss_scale / 2 * sum of (dL / dx)^2 over all entries,

    where L is the sum of all losses, scaled, and x this layer. So small changes of x change L little.

    Parameter: ``dummy``, a scalar without any effect, as checkpoints have it.
    """

    meta_loss_scale: float = 1.0
    """how much it counts"""

    def compute(self, x: Tensor) -> Tensor:
        self.param("dummy", [], init="glorot_uniform", trainable=False)
        return rf.watched(x)

    def constraint(self) -> Tensor | None:
        others, own = super().constraint(), self._squared_gradient()
        if others is None or own is None:
            return own if others is None else others
        return others + own

    def _squared_gradient(self) -> Tensor | None:
        network = self.network.get_root_network()
        loss = network.get_total_loss()
        if network.train_flag is False or isinstance(loss, (int, float)):
            return None
        gradient = rf.gradient(Tensor("loss", (), "float32", raw_tensor=loss), self.output)
        term = rf.reduce_sum(rf.square(gradient), axis=gradient.dims) * (0.5 * float(self.meta_loss_scale))
        if network.train_flag is True:
            return term
        return rf.where(Tensor("train_flag", (), "bool", raw_tensor=network.train_flag), term, 0.0)
