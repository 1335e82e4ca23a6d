"""Values before the first frame of a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from returnn.layers.base import LayerBase
from returnn.layers.unify import unify
from returnn.tensor import Dim, Tensor
from returnn.tensor.backend import backend_of_raw
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .loop_layers import RecPreviousLayer

if TYPE_CHECKING:
    from returnn.layers.outer_search import OuterSearch
    from returnn.network.network import Network

    from .loop import Loop
    from .loop.context import LoopContext
    from .subnet import RecSubnet

_KINDS = ("zeros", "ones", "var", "apply(0)")
_NUMBERS = {None: 0, "zeros": 0, "ones": 1}


def layer_of_initial_output(net: Network, name: str) -> LayerBase | None:
    """
    :param net: a network in a loop
    :param name: of a layer there; it may not be built yet
    :return: the layer that its option ``initial_output`` names; None: it names none
    :raises LayerMissing: that has to be built first
    """
    desc = net.desc_of_layer(name) if net.has_layer(name) else {}
    if desc.get("class") == "masked_computation" and isinstance(desc.get("unit"), dict):
        desc = desc["unit"]
    option = desc.get("initial_output")
    if not isinstance(option, str) or option in _KINDS:
        return None
    near = "" if net.has_layer(option) else did_you_mean(option, _KINDS)
    if near:
        raise ConfigError("layer %r: initial_output %r is no layer.%s" % (net.name_prefix + name, option, near))
    return net.get_layer_or_missing(option)


def make_parameters(previous: RecPreviousLayer, subnet: RecSubnet) -> None:
    """
    :param previous: a layer at the frame before; gets the parameter that is its initial output, if it is one
    :param subnet: it is in
    """
    layer = previous.of_layer.layer_of_initial_output
    if layer.initial_output == "var":
        _variable(layer, previous.output, subnet)


def check_initial_output(previous: RecPreviousLayer, *, loop_dim: Dim, may_be_missing: bool) -> None:
    """
    :param previous: a layer at the frame before
    :param loop_dim: of the loop
    :param may_be_missing: labels need no initial output
    :raises ConfigError: the option is missing, or is wrong
    """
    layer = previous.of_layer.layer_of_initial_output
    name, template, option = layer.get_absolute_name(), previous.output, layer.initial_output
    if previous.initial is not None:
        if loop_dim in previous.initial.output.dims:
            raise ConfigError(
                "layer %r: initial_output %r is one frame, but that layer has the axis of the loop: %s"
                % (name, option, previous.initial.output.short_repr())
            )
        value = unify([template, previous.initial.output.copy_template()])[1]
        if any(d not in template.dims for d in value.dims):
            raise ConfigError(
                "layer %r: initial_output %r is %s, but the layer is %s"
                % (name, option, previous.initial.output.short_repr(), template.short_repr())
            )
        return
    if option is None:
        if template.sparse and not may_be_missing and not _has_own_initial_output(layer):
            raise ConfigError(
                "layer %r: You must explicitly provide an initial output value for sparse data %s, for instance "
                '"initial_output": 0' % (name, template.short_repr())
            )
    elif not isinstance(option, (str, int, float, bool)):
        raise ConfigError(
            'layer %r: initial_output must be a number, "zeros", "ones", "var", "apply(0)" or the name of a layer, but '
            "is %r" % (name, option)
        )


def _has_own_initial_output(layer: LayerBase) -> bool:
    own = type(layer).get_rec_initial_output.__func__  # type: ignore[attr-defined]
    return own is not LayerBase.get_rec_initial_output.__func__  # type: ignore[attr-defined]


def initial_output(previous: RecPreviousLayer, loop: Loop | LoopContext) -> Tensor:
    """
    :param previous: a layer at the frame before
    :param loop: it is in
    :return: its output at the first frame
    """
    layer = previous.of_layer.layer_of_initial_output
    template = loop.subnet.template_of(layer)
    option = layer.initial_output
    if previous.initial is not None:
        return unify([template, previous.initial.output])[1]
    if option == "var":
        return _variable(layer, template, loop.subnet)
    if option == "apply(0)":
        return _applied_to_zeros(layer, loop)
    if _has_own_initial_output(layer):
        kwargs = {**layer.kwargs, "initial_output": option, "sources": layer.sources}
        raw = layer.get_rec_initial_output(
            batch_dim=loop.subnet.net.get_data_batch_dim(),
            name=layer.name,
            output=template,
            rec_layer=loop.subnet.rec_layer,
            network=layer.network,
            **{key: value for key, value in kwargs.items() if key not in ("name", "output", "network")},
        )
        return template.like(raw)
    own = layer.output_before_first_frame() if option is None else None
    if own is not None:
        return own
    value = _NUMBERS.get(option, option) if isinstance(option, (str, type(None))) else option
    if template.dtype == "bool":
        value = bool(value)
    return template.like(loop.full_tensor(layer.name, template.dims, template.dtype, value).raw_tensor)


def _variable(layer: LayerBase, template: Tensor, subnet: RecSubnet) -> Tensor:
    dim = template.feature_dim
    if dim is None or any(d.is_dynamic for d in template.dims if not d.is_batch_dim):
        raise ConfigError('layer %r: initial_output "var" is for an output [batch, F]' % layer.name)
    path = (layer.network.name_prefix + layer.name)[len(subnet.net.name_prefix) :]
    if layer.network.masking is not None and layer.network.inside.masking is not None:
        # the unit of a masked_computation: checkpoints have the name twice in the scope, and once here
        for _ in layer.network.masking.masks:
            path = path.removesuffix("/" + layer.name)
        return layer.param("init_%s_var" % path, [dim], init=0.0, scope=layer.name)
    return layer.param("init_%s_var" % path, [dim], init=0.0)


def _applied_to_zeros(layer: LayerBase, loop: Loop | LoopContext) -> Tensor:
    """the output of the layer where all its sources are zero"""
    before = [source.output for source in layer.sources]
    output = layer.output
    try:
        for source in layer.sources:
            template = loop.subnet.template_of(source)
            zero = loop.full_tensor(source.name, template.dims, template.dtype, 0)
            source.output = template.like(zero.raw_tensor)
        layer.output = loop.subnet.template_of(layer)
        loop.subnet.net.inner_steps.compute_layer(layer)
        return layer.output
    finally:
        for source, value in zip(layer.sources, before, strict=True):
            source.output = value
        layer.output = output


def with_all_dims(x: Tensor, dims: Sequence[Dim], loop: Loop | LoopContext | OuterSearch) -> Tensor:
    """
    :param x: has these dims, or fewer
    :param dims: of the result, in this order
    :param loop: knows their sizes
    :return: the same value, repeated along the dims that x has not
    """
    missing = [d for d in dims if d not in x.dims]
    if not missing:
        return x if tuple(x.dims) == tuple(dims) else x.copy_transpose(dims)
    feature = x.feature_dim if x.feature_dim in dims else None
    value = loop.constant_value(x)
    if value is not None:
        raw = loop.full_tensor(x.name, dims, x.dtype, value).raw_tensor
        return x.like(raw, dims=dims, feature_dim=feature, time_dim=None)
    raw = x.copy_compatible_to_dims_raw(dims)
    backend = backend_of_raw(x.raw_tensor)
    sizes = []
    for axis, dim in enumerate(dims):
        sizes.append(loop.size_of(dim) if dim in missing else backend.size_of_axis(raw, axis))
    return x.like(backend.broadcast_to(raw, sizes), dims=dims, feature_dim=feature, time_dim=None)
