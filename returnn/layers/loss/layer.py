"""The layer ``loss``: a loss as a layer, per frame."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.layers.activations import OutputWithActivation
from returnn.layers.base import LayerBase
from returnn.layers.parts import LayerWithParts
from returnn.layers.registry import layer_class
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

from .base import Loss
from .registry import check_loss_options, get_loss_class, loss_from_options

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("loss")
class LossLayer(LayerWithParts):
    """The value of a loss per frame, float32, padding not masked: the axes of the source without the features.

    It does not train anything: that does a loss of this layer, ``as_is``, for instance. Parts: ``loss`` and ``error``.
    """

    loss_: Loss | str | None = None
    """name of the loss; must be given. One that gives a value for each frame, or sequence"""
    loss_opts_: dict[str, Any] | None = None
    """its options"""
    target_: LayerBase | str | None = None
    """data key, or ``layer:NAME``; the default target of the loss by default"""
    use_error: bool = False
    """the output is the error, not the value"""
    _layer_options = ("target_",)

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        if not d.get("loss_"):
            raise ConfigError('option "loss_" is missing: the name of a loss')
        loss_class = get_loss_class(d["loss_"])
        opts = dict(d.pop("loss_opts_", None) or {})
        check_loss_options(loss_class, opts)
        d["loss_"] = loss_from_options(loss_class, opts, network, get_layer)
        target: str | None = d.pop("target_", None) or loss_class.get_default_target(network.extern_data)
        if loss_class.need_target and target:
            is_layer = target.startswith("layer:") or network.has_layer(target)
            d["target_"] = get_layer(target.removeprefix("layer:") if is_layer else "data:" + target)
        super().transform_config_dict(d, network, get_layer)

    def compute(self, *sources: Tensor) -> Tensor:
        x, (source,), loss = self._only_source(sources), self.sources, self.loss_
        assert isinstance(loss, Loss)
        self.recurrent = loss.recurrent
        known = source.output_before_activation
        if known is not None and self._is_template:
            known = OutputWithActivation(known.x.copy_template(), known.activation)
        target = self._output_of(self.target_) if isinstance(self.target_, LayerBase) else None
        loss.init(x, known, target, source)
        found = {"loss": loss.get_value_per_pos(), "error": loss.get_error_per_pos()}
        self.parts = {name: part for name, part in found.items() if part is not None}
        wanted = "error" if self.use_error else "loss"
        if wanted not in self.parts:
            raise ConfigError("the loss %r has no %s" % (loss.class_name, "error" if self.use_error else "value"))
        return self.parts[wanted]
