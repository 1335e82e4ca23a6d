"""What all losses share. A loss gives a value for each frame or sequence; whoever asks sums them up.

Nothing here is an average: the value of a step is a sum over real frames (or sequences), and beside it stands the norm
factor by which a reader of the log divides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.layers.features import feature_dim_of
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.layers.activations import OutputWithActivation
    from returnn.layers.base import LayerBase
    from returnn.network.network import Network


class Loss:
    """Base class. A loss overrides :func:`value_per_pos`, maybe :func:`error_per_pos`."""

    class_name: str
    recurrent = False
    """needs whole sequences"""
    need_target = True

    def __init__(
        self,
        base_network: Network,
        *,
        use_flatten_frames: bool = True,
        use_normalized_loss: bool = False,
        custom_norm_factor: float | Callable[..., Any] | None = None,
        custom_inv_norm_factor: LayerBase | None = None,
        scale: float = 1.0,
    ):
        """
        :param base_network: in which the layer is
        :param use_flatten_frames: was about how the sum is computed; both settings give the same sum
        :param use_normalized_loss: the objective gets the sum times the norm factor
        :param custom_norm_factor: number, or function of the keywords self, output, layer
        :param custom_inv_norm_factor: layer; the norm factor is 1 / sum of its output
        :param scale: factor in the objective; 0: only reported
        """
        self.base_network = base_network
        self.use_flatten_frames = use_flatten_frames
        self.use_normalized_loss = use_normalized_loss
        self.custom_norm_factor = custom_norm_factor
        self.custom_inv_norm_factor = custom_inv_norm_factor
        self.scale = scale
        self.layer: LayerBase | None = None
        self.output: Tensor
        self.target: Any = None  # a Tensor, but for losses without target
        self.output_with_activation: OutputWithActivation | None = None

    def init(
        self,
        output: Tensor,
        output_with_activation: OutputWithActivation | None,
        target: Tensor | None,
        layer: LayerBase,
    ) -> None:
        """
        :param output: of the layer
        :param output_with_activation: the value before the last function of the layer, if known
        :param target: None if ``need_target`` is not set
        :param layer: whose output it is
        """
        if not _first_two_are_batch_and_time(output):
            raise ConfigError(
                "loss %r: batch and time must be the first two axes of the output, but it is %s"
                % (self.class_name, output.short_repr())
            )
        self.layer = layer
        self.output = output.copy_with_feature_last()
        self.output_with_activation = output_with_activation
        self.target = target
        self._check_init()

    def _check_init(self) -> None:
        target, output = self.target, self.output
        if self.need_target and target is None:
            raise ConfigError("loss %r needs a target" % self.class_name)
        if target is not None and target.batch_ndim_dense != output.batch_ndim_dense:
            raise ConfigError(
                "Number of dimensions mismatch. Target: %s, output: %s" % (target.short_repr(), output.short_repr())
            )

    def _check_output_dim(self, needed: int | None, why: str = "") -> None:
        """
        :param needed: output dim
        :param why: where it comes from, besides the target
        """
        if self.output.dim != needed:
            raise ConfigError(
                "Expected output dim is %s (that of the target %s%s), but the output has dim %s."
                " Leave n_out away, or correct it." % (needed, self._target_name(), why, self.output.dim)
            )

    def _target_name(self) -> str:
        target = self.layer.target if self.layer is not None else None
        if isinstance(target, (list, tuple)):
            target = target[0]
        return repr(target or self.base_network.get_default_target())

    def value_per_pos(self) -> Tensor | None:
        """
        :return: one number per frame or sequence; None: only an error
        """
        raise NotImplementedError

    def error_per_pos(self) -> Tensor | None:
        """
        :return: one number per frame or sequence, or None
        """
        return None

    @classmethod
    def get_auto_output_layer_dim(cls, target_dim: Dim) -> Dim:
        """
        :param target_dim: classes or features of the target
        :return: output dim of a layer with this loss, if the config does not say it
        """
        return target_dim

    def norm_dims(self) -> Tensor:
        """
        :return: whose number of frames (or sequences) is the norm: the target, else the output
        """
        return self.output if self.target is None else self.target

    # ---- for frame-wise losses

    def target_like_output(self) -> Tensor:
        """
        :return: target, its time dim replaced by that of the output: frame by frame they belong together
        """
        target = self.target
        pairs = [(dim, own) for dim, own in _paired(target, self.output) if dim != own]
        what = "loss %s of layer %s: the lengths of target %s are not those of the output"
        name = "?" if self.layer is None else self.layer.get_absolute_name()
        target = self.base_network.check_same_lens(
            target, pairs, what % (self.class_name, name, self._target_name().strip("'"))
        )
        for dim, own in pairs:
            target = rf.replace_dim(target, in_dim=dim, out_dim=own)
        return target

    def frame_error(self, target: Tensor) -> Tensor:
        """
        :param target: labels, or dense; with the time dim of the output
        :return: float 0 or 1 per frame: the highest output is not the label
        """
        output = self.output
        if self.output_with_activation and self.output_with_activation.is_softmax():
            output = self.output_with_activation.x
        found = rf.reduce_argmax(output, axis=feature_dim_of(output), use_mask=False)
        if not target.sparse:
            target = rf.reduce_argmax(target, axis=feature_dim_of(target), use_mask=False)
        return rf.cast(rf.compare(found, "!=", rf.cast(target, found.dtype)), "float32")


def _paired(target: Tensor, output: Tensor) -> list[tuple[Dim, Dim]]:
    """dynamic dims of both, in their order"""
    ours = [d for d in output.dims if d.is_dynamic]
    theirs = [d for d in target.dims if d.is_dynamic]
    return list(zip(theirs, ours, strict=False))


def _first_two_are_batch_and_time(x: Tensor) -> bool:
    if not x.have_batch_axis() or not x.have_time_axis():
        return True
    return {x.batch_dim_axis, x.time_dim_axis} == {0, 1}
