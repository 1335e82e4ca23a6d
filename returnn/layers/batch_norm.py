"""Batch normalisation (Ioffe and Szegedy, 2015), of a layer class and of the option ``batch_norm`` of any layer.

y = (x - mean) / sqrt(variance + epsilon) * gamma + beta for each feature. Mean and (biased) variance are those of all
frames of the batch in training, else running ones: running += momentum * (batch - running).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.frontend.init import Constant
from returnn.log import log
from returnn.tensor import Dim, Tensor
from returnn.tensor.hidden_dims import visible_dims
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .features import feature_dim_of
from .initializers import offset_init
from .options import drop_fork_options

if TYPE_CHECKING:
    from .base import LayerBase

OPTIONS = (
    "momentum",
    "update_sample_only_in_training",
    "delay_sample_update",
    "param_version",
    "masked_time",
    "epsilon",
    "use_shift",
    "use_std",
    "use_sample",
    "force_sample",
    "gamma_init",
    "beta_init",
)


_CHANGES_IN_EVAL = (
    "batch_norm: its running statistics change in evaluation too, unless update_sample_only_in_training is set."
)


def batch_norm(
    layer: LayerBase,
    x: Tensor,
    *,
    momentum: float | None = None,
    update_sample_only_in_training: bool | None = None,
    delay_sample_update: bool | None = None,
    param_version: int | None = None,
    masked_time: bool | None = None,
    epsilon: float = 1e-3,
    use_shift: bool = True,
    use_std: bool = True,
    use_sample: float = 0.0,
    force_sample: bool = False,
    gamma_init: Any = 1.0,
    beta_init: Any = 0.0,
    **unknown: Any,
) -> Tensor:
    """
    :param layer: has the parameters, and registers the update of the running values with its network
    :param x: [.., F]
    :return: normalised; dims of x. The options are those of :class:`returnn.layers.norm.BatchNormLayer`.
    """
    drop_fork_options("batch_norm", unknown)
    for key in unknown:
        raise ConfigError(
            "batch_norm: unknown option %r.%s Options: %s" % (key, did_you_mean(key, OPTIONS), ", ".join(OPTIONS))
        )
    feature_dim_of(x)
    new = BehaviorVersion.has(Change.BATCH_NORM_DEFAULTS)
    momentum = (0.1 if new else 0.99) if momentum is None else momentum
    only_in_training = new if update_sample_only_in_training is None else update_sample_only_in_training
    delay = new if delay_sample_update is None else delay_sample_update
    version = (2 if new else 0) if param_version is None else param_version
    if masked_time is None:
        BehaviorVersion.require(not new, "batch_norm: masked_time must be given.", Change.BATCH_NORM_DEFAULTS)
        masked_time = True
    params = _Params(layer, x, version)
    mean = params.make("mean", init=Constant(0.0), trainable=False)
    variance = params.make("variance", init=Constant(1.0), trainable=False)
    gamma = params.make("gamma", init=offset_init(gamma_init)) if use_std else None
    beta = params.make("beta", init=offset_init(beta_init)) if use_shift else None
    axes = [d for d in x.dims if d != x.feature_dim]
    batch_mean, batch_variance = rf.moments(x, axis=axes, use_mask=masked_time)
    if layer._is_template:
        return x
    network = layer.network
    if not only_in_training and update_sample_only_in_training is None and network.train_flag is not True:
        log.print_deprecation_warning(_CHANGES_IN_EVAL, behavior_version=Change.BATCH_NORM_DEFAULTS.version)
    fused = version >= 2 and not masked_time and use_shift and use_std and not use_sample and not force_sample
    new_variance = _unbiased(batch_variance, x, axes) if fused else batch_variance
    if fused:  # that operation knows nothing of the batch when it does not train
        only_in_training = True
    new_mean_value = mean + rf.stop_gradient((batch_mean - mean) * momentum)
    new_variance_value = variance + rf.stop_gradient((new_variance - variance) * momentum)
    network.register_update(params.vars["mean"], params.raw_value(new_mean_value), only_in_training=only_in_training)
    network.register_update(
        params.vars["variance"], params.raw_value(new_variance_value), only_in_training=only_in_training
    )
    run_mean, run_variance = (mean, variance) if delay else (new_mean_value, new_variance_value)
    if not delay and only_in_training:
        run_mean = network.cond_on_train(lambda: new_mean_value, lambda: mean)
        run_variance = network.cond_on_train(lambda: new_variance_value, lambda: variance)
    in_training = (
        batch_mean * (1.0 - use_sample) + run_mean * use_sample if use_sample else batch_mean,
        batch_variance * (1.0 - use_sample) + run_variance * use_sample if use_sample else batch_variance,
    )
    if force_sample:
        used_mean, used_variance = in_training
    else:
        used_mean = network.cond_on_train(lambda: in_training[0], lambda: run_mean)
        used_variance = network.cond_on_train(lambda: in_training[1], lambda: run_variance)
    y = (x - used_mean) * rf.rsqrt(used_variance + epsilon)
    if gamma is not None:
        y = y * gamma
    if beta is not None:
        y = y + beta
    return y.copy_transpose(x.dims)


class _Params:
    """Names and shapes by version: 0 and 1 have an axis of size 1 for each other axis of x."""

    def __init__(self, layer: LayerBase, x: Tensor, version: int):
        if version not in (0, 1, 2):
            raise ConfigError("batch_norm: param_version must be 0, 1 or 2, but is %r" % (version,))
        self.layer = layer
        self.version = version
        self.prefix = {0: "%s_%s_" % (layer.name.split("/")[-1], layer.output_name), 1: "", 2: "v2_"}[version]
        self.feature = feature_dim_of(x)
        dims = visible_dims(x.dims)
        ones = [layer.make_dim("batch_norm:one%i" % i, 1) for i in range(len(dims))]
        self.dims: list[Dim] = [d if d == self.feature else ones[i] for i, d in enumerate(dims)]
        self.vars: dict[str, Any] = {}

    def make(self, name: str, *, init: Any, trainable: bool | None = None) -> Tensor:
        """
        :return: [F]
        """
        dims = [self.feature] if self.version == 2 else self.dims
        full = self.prefix + name
        param = self.layer.param(full, dims, init=init, trainable=trainable, scope="batch_norm")
        self.vars[name] = self.layer.find_param("batch_norm/" + full)
        if self.version == 2:
            return param
        return param.copy_squeeze_axes([i for i, d in enumerate(dims) if d != self.feature])

    def raw_value(self, value: Tensor) -> Any:
        """
        :param value: [F]
        :return: in the shape of the variable
        """
        if self.version == 2:
            return value.raw_tensor
        backend = value._raw_backend
        return backend.reshape(value.raw_tensor, [d.dimension for d in self.dims])


def _unbiased(variance: Tensor, x: Tensor, axes: list[Dim]) -> Tensor:
    """* N / (N - 1), as the fused operation of TensorFlow has it in its running value"""
    backend = x._raw_backend
    count = 1.0
    for dim in axes:
        size = backend.cast(backend.convert(backend.size_of_axis(x.raw_tensor, x.get_axis_from_dim(dim))), x.dtype)
        count = backend.binary("mul", size, count)
    factor = backend.binary("truediv", count, backend.binary("maximum", backend.binary("sub", count, 1.0), 1.0))
    return variance * Tensor("n", (), x.dtype, raw_tensor=factor)
