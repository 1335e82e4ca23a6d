"""What all losses share. A loss gives a value for each frame or sequence; whoever asks sums them up.

Nothing here is an average: the value of a step is a sum over real frames (or sequences), and beside it stands the norm
factor by which a reader of the log divides.

A loss of the framework is written on Tensors: it overrides :func:`Loss.value_per_pos`. A loss of a user may be so too,
or compute with raw values of all frames: then it overrides ``get_value``, see :mod:`.raw_protocol`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.layers.features import feature_dim_of
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError
from returnn.util.user_functions import failures_in_users_code

from .raw_protocol import RawProtocol

if TYPE_CHECKING:
    from returnn.layers.activations import OutputWithActivation
    from returnn.layers.base import LayerBase
    from returnn.network.extern_data import ExternData
    from returnn.network.network import Network


class Loss(RawProtocol):
    """Base class. A loss overrides :func:`value_per_pos`, maybe :func:`error_per_pos`."""

    class_name: str
    recurrent = False
    """needs whole sequences"""
    need_target = True
    uses_given_target = False
    """takes the target that the layer has, though it needs none"""
    _layer_options: tuple[str, ...] = ("custom_inv_norm_factor",)
    """options that name layers"""

    def __init__(
        self,
        base_network: Network,
        *,
        use_flatten_frames: bool = True,
        use_normalized_loss: bool | None = None,
        custom_norm_factor: float | Callable[..., Any] | None = None,
        custom_inv_norm_factor: LayerBase | None = None,
        scale: float = 1.0,
    ):
        """
        :param base_network: in which the layer is
        :param use_flatten_frames: for losses of users: ``output_flat`` has the real frames only, else the padding too.
            The sum is the same
        :param use_normalized_loss: the objective gets the sum times the norm factor, which is an average; by default as
            the config key ``normalized_loss`` says, else not
        :param custom_norm_factor: number, or function of the keywords self, output, layer
        :param custom_inv_norm_factor: layer; the norm factor is 1 / sum of its output
        :param scale: factor in the objective; 0: only reported
        """
        super().__init__(use_flatten_frames=use_flatten_frames)
        self.base_network = base_network
        if use_normalized_loss is None:
            use_normalized_loss = base_network.get_config().bool("normalized_loss", False)
        self.use_normalized_loss = use_normalized_loss
        self.custom_norm_factor = custom_norm_factor
        self.custom_inv_norm_factor = custom_inv_norm_factor
        self.scale = scale
        self.layer: LayerBase | None = None

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        """
        Turns names of layers into layers, in place.

        :param d: ``loss_opts``
        :param network: that the layer is in
        :param get_layer: name -> layer
        """
        for key in cls._layer_options:
            if isinstance(d.get(key), str):
                d[key] = get_layer(d[key])

    @classmethod
    def get_auto_output_layer_dim(cls, target_dim: Dim) -> Dim:
        """
        :param target_dim: classes or features of the target
        :return: output dim of a layer with this loss, if the config does not say it
        """
        return target_dim

    @classmethod
    def get_default_target(cls, extern_data: ExternData) -> str | None:
        """
        :param extern_data: of the network
        :return: data key, for a layer without target
        """
        return extern_data.default_target if cls.need_target else None

    def init(
        self,
        output: Tensor,
        output_with_activation: OutputWithActivation | None = None,
        target: Tensor | None = None,
        layer: LayerBase | None = None,
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
        self._forget()
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

    def _require_sparse_target(self, is_sparse: bool) -> None:
        if self.target.sparse != is_sparse:
            wanted = "labels" if is_sparse else "dense values"
            raise ConfigError(
                "loss %s needs %s as target, but %s is %s"
                % (self.class_name, wanted, self._target_name(), self.target.short_repr())
            )

    def _target_name(self) -> str:
        target = self.layer.target if self.layer is not None else None
        if isinstance(target, (list, tuple)):
            target = target[0]
        return repr(target or self.base_network.get_default_target())

    def _layer_name(self) -> str:
        return "?" if self.layer is None else self.layer.get_absolute_name()

    # ---- what a loss overrides

    def value_per_pos(self) -> Tensor | None:
        """
        :return: one number per frame or sequence, padding not masked; None: only an error
        """
        raise NotImplementedError("loss %s: value_per_pos or get_value" % self.class_name)

    def error_per_pos(self) -> Tensor | None:
        """
        :return: one number per frame or sequence, padding not masked, or None. By default, whether the highest output
            is not the label
        """
        return None if self.target is None else self.frame_error(self.target_like_output())

    # ---- what it gives, whichever way it is written

    def get_value_per_pos(self) -> Tensor | None:
        """
        :return: one number per frame or sequence, padding not masked; None: only an error
        """
        return self._per_pos(self.get_value) if self.has_raw_value else self.value_per_pos()

    def get_error_per_pos(self) -> Tensor | None:
        """
        :return: one number per frame or sequence, padding not masked, or None
        """
        return self._per_pos(self.get_error) if self.has_raw_error else self.error_per_pos()

    # ---- norm factor

    def norm_dims(self) -> Tensor:
        """
        :return: whose number of frames (or sequences) is the norm: the target, else the output
        """
        return self.output if self.target is None else self.target

    def frames_dim(self) -> Dim | None:
        """
        :return: the axis whose frames are the norm; None: sequences are
        """
        counted, output = self.norm_dims(), self.output
        if output.have_batch_axis() and output.have_time_axis() and counted.have_time_axis():
            return counted.get_time_dim_tag()
        return None

    @property
    def loss_norm_factor(self) -> Any:
        """raw float scalar, or a number: 1 / frames of the targets; without target those of the output; without time
        1 / sequences"""
        return self._cached("norm", self._norm_factor)

    def _norm_factor(self) -> Any:
        backend = self.base_network.backend
        if self.custom_norm_factor is not None:
            factor = self.custom_norm_factor
            if not callable(factor):
                return float(factor)
            place = "layer %r: " % self.layer.get_absolute_name() if self.layer else ""
            with failures_in_users_code(place + "custom_norm_factor"):
                return backend.user_function(factor)(self=self, output=self.output, layer=self.layer)
        if self.custom_inv_norm_factor is not None:
            inverse = rf.cast(self.custom_inv_norm_factor.output, "float32")
            return backend.unary("reciprocal", rf.reduce_sum(inverse, axis=inverse.dims).raw_tensor)
        output, frames = self.output, self.frames_dim()
        if frames is not None:
            return _inverse(backend, _number_of_frames(frames, self.norm_dims(), backend))
        if output.have_batch_axis():
            return _inverse(backend, output.get_batch_dim())
        dynamic = [d for d in output.dims if d.is_dynamic]
        if len(dynamic) == 1:
            return _inverse(backend, _number_of_frames(dynamic[0], output, backend))
        return 1.0

    # ---- for frame-wise losses

    def target_like_output(self) -> Tensor:
        """
        :return: target, its time dim replaced by that of the output: frame by frame they belong together
        """
        what = "loss %s of layer %s: the lengths of target %s are not those of the output"
        args = (self.class_name, self._layer_name(), self._target_name().strip("'"))
        return frames_like(self.target, self.output, network=self.base_network, what=what % args)

    def dense_target_like_output(self) -> Tensor:
        """
        :return: target with the dims of the output; labels as one-hot vectors
        """
        target, features = self.target_like_output(), feature_dim_of(self.output)
        if target.sparse:
            target = valid_labels(target)
            raw = target._raw_backend.one_hot(target.raw_tensor, features.require_static(), self.output.dtype)
            return Tensor("one_hot", target.dims + (features,), self.output.dtype, raw_tensor=raw)
        if target.feature_dim is not None and target.feature_dim != features:
            target = rf.replace_dim(target, in_dim=target.feature_dim, out_dim=features)
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


def valid_labels(target: Tensor) -> Tensor:
    """
    :return: label 0 behind a sequence's end, so that whatever stands there does no harm
    """
    for dim in target.dims:
        if dim.need_masking and set(dim.size_dims or ()) <= set(target.dims):
            target = rf.where(dim.get_mask(), target, 0).copy_transpose(target.dims)
    return target


def frames_like(target: Tensor, output: Tensor, *, network: Network, what: str) -> Tensor:
    """
    :param target: frame by frame it belongs to the output
    :param output: with lengths of its own
    :param network: that both are in
    :param what: for the message, if the lengths differ
    :return: target, its dynamic dims replaced by those of the output, in their order
    """
    theirs, ours = ([d for d in x.dims if d.is_dynamic] for x in (target, output))
    pairs = [(dim, own) for dim, own in zip(theirs, ours, strict=False) if dim != own]
    if pairs and target.raw_tensor is not None:
        target = network.check_same_lens(target, pairs, what)
    for dim, own in pairs:
        target = rf.replace_dim(target, in_dim=dim, out_dim=own)
    return target


def _first_two_are_batch_and_time(x: Tensor) -> bool:
    if not x.have_batch_axis() or not x.have_time_axis():
        return True
    return {x.batch_dim_axis, x.time_dim_axis} == {0, 1}


def _number_of_frames(dim: Dim, x: Tensor, backend: Any) -> Any:
    if dim.dyn_size_ext is None:
        return backend.binary("mul", x.get_batch_dim(), x.get_dim(x.get_axis_from_dim(dim)))
    return backend.reduce(dim.dyn_size, "sum", None) if dim.dyn_size_ext.dims else dim.dyn_size


def _inverse(backend: Any, count: Any) -> Any:
    return backend.binary("truediv", 1.0, backend.cast(backend.convert(count), "float32"))


def option_error(loss: Loss, text: str, *args: Any) -> ConfigError:
    """
    :return: with the loss in front
    """
    return ConfigError("loss %s: " % loss.class_name + text % args)


def require_one_of(loss: Loss, option: str, value: Any, allowed: Sequence[Any]) -> None:
    """
    :raises ConfigError: the value is none of these
    """
    if value not in allowed:
        raise option_error(loss, "%s must be %s, but is %r", option, " or ".join(map(str, allowed)), value)
