"""Parameters as layers: a variable, and layers that set and read it."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

from returnn.frontend.init import Constant
from returnn.tensor import Dim, Tensor, batch_dim
from returnn.util.errors import ConfigError

from .axes import dims_of_shape
from .base import LayerBase
from .initializers import offset_init
from .registry import layer_class


@layer_class("variable")
class VariableLayer(LayerBase):
    """A parameter [shape..]; the last axis is the feature axis. No input.

    Parameter: named like the layer, or ``param_name``.
    """

    _default_source = None
    _layer_options = ("init_by_layer",)

    shape: Sequence[int | Dim] | None = None
    """static sizes, or Dims, of the parameter; must be given. () for a scalar"""
    dtype: str = "float32"
    """of the parameter; integers are not trained"""
    init: Any = 0
    """initial value, as for the parameters of other layers"""
    init_by_layer: LayerBase | str | None = None
    """layer whose output is the initial value; it must not depend on data. Instead of ``init``"""
    saveable: bool | None = None
    """part of checkpoints; True by default"""
    non_critical_for_restore: bool | None = None
    """a checkpoint may lack it"""
    param_name: str | None = None
    """name of the parameter in the scope of the layer"""
    add_batch_axis: bool = False
    """repeat it for each sequence: batch axis in front"""
    add_time_axis: bool = False
    """an axis of size 1 in front, behind batch"""

    def _inputs(self) -> list[Tensor]:
        return []

    @property
    def var_name(self) -> str:
        """name of the parameter in the scope of the layer"""
        return self.param_name or self.name

    @property
    def var(self) -> Any:
        """the variable"""
        return self.find_param(self.var_name)

    def compute(self) -> Tensor:
        dims = self._dims()
        trainable = None if "float" in self.dtype else False
        x = self.param(self.var_name, dims, init=self._init(), trainable=trainable, dtype=self.dtype)
        if not self._is_template:
            self._mark_var()
            x = value_before_step(self, self.var, x)
        x = x.like(x.raw_tensor, feature_dim=dims[-1] if dims else None)
        if self.add_time_axis:
            x = x.copy_add_dim_by_tag(self.make_dim("time", 1), axis=0)
        return self._with_batch_axis(x) if self.add_batch_axis else x

    def _dims(self) -> list[Dim]:
        dims = dims_of_shape(self, self.shape)
        if not all(dim.is_static for dim in dims):
            raise ConfigError("shape must be static sizes > 0, but is %r" % (self.shape,))
        return dims

    def _init(self) -> Any:
        if self.init_by_layer is None:
            return offset_init(self.init)
        assert isinstance(self.init_by_layer, LayerBase)
        if self._is_template or self.var is not None:
            return Constant(0)  # not used
        return self.network.value_at_start(self.init_by_layer)

    def _mark_var(self) -> None:
        if self.non_critical_for_restore:
            with contextlib.suppress(AttributeError):  # numpy arrays take none, and are never restored
                self.var.RETURNN_non_critical_for_restore = True
        if self.saveable is False:
            self.network.param_store.do_not_save(self.var)

    def _with_batch_axis(self, x: Tensor) -> Tensor:
        raw = x.raw_tensor
        if raw is not None:
            backend = self.network.backend
            sizes = [self.network.get_data_batch_dim(), *(d.require_static() for d in x.dims)]
            raw = backend.broadcast_to(backend.expand_dims(raw, 0), sizes)
        return x.like(raw, dims=[batch_dim, *x.dims])

    def _with_default_markers(self, output: Tensor) -> Tensor:
        return output


def value_before_step(layer: LayerBase, var: Any, value: Tensor) -> Tensor:
    """
    :param layer: in which a parameter is an output
    :param var: its variable
    :param value: its value
    :return: the same, whatever is assigned to the variable in this step or at its end
    """
    network = layer.network
    if network.computes_at_construction or not network.has_values:
        return value
    return value.like(network.backend.read_parameter(var))


class _ControlDependencies(LayerBase):
    """Waits for other layers."""

    control_dependencies: list[LayerBase] | LayerBase | str | list[str] | None = None
    """layers that have to be computed before"""
    _layer_options: tuple[str, ...] = ("control_dependencies",)

    def _after_dependencies(self, function: Any, *more: Any) -> Any:
        """
        :param function: -> raw value
        :param more: further raw values to wait for
        :return: what it gives, in a step
        """
        layers = self.control_dependencies or []
        layers = [layers] if isinstance(layers, LayerBase) else layers
        raws = [layer.output.raw_tensor for layer in layers if isinstance(layer, LayerBase)]
        return self.network.backend.after([*raws, *more], function)

    def _variable_of(self, layer: Any) -> VariableLayer:
        if not isinstance(layer, VariableLayer):
            raise ConfigError('option "var" must name a layer of class "variable", but is %r' % (layer,))
        return layer


@layer_class("variable_assign")
class VariableAssignLayer(_ControlDependencies):
    """Sets a variable, in each step that computes this layer: in a TensorFlow graph only if another layer that is
    computed depends on it, by ``control_dependencies`` for instance. The output of the variable itself is the value
    from before. Output: the int32 scalar 0.
    """

    _default_source = None
    _layer_options = ("control_dependencies", "var", "value")

    var: LayerBase | str | None = None
    """layer of class ``variable``; must be given"""
    value: LayerBase | str | None = None
    """layer with the new value, of the shape of the parameter; must be given"""
    op: str = "assign"
    """or add: the value is added"""

    def _inputs(self) -> list[Tensor]:
        return [self._output_of_option("value")]

    def compute(self, value: Tensor) -> Tensor:
        if self.op not in ("assign", "add"):
            raise ConfigError("op must be assign or add, but is %r" % (self.op,))
        layer = self._variable_of(self.var)
        sizes = [d.dimension for d in layer._dims()]
        if [d.dimension for d in value.dims] != sizes or value.dtype != layer.dtype:
            raise ConfigError("the variable is %s %s, but the value %s" % (sizes, layer.dtype, value.short_repr()))
        raw = None
        if value.raw_tensor is not None:
            raw = self._after_dependencies(
                lambda: self.network.backend.update_parameter(layer.var, value.raw_tensor, add=self.op == "add"),
                self.network.param_tensor(layer.var).raw_tensor,  # read first
            )
        return Tensor(self.name, (), "int32", raw_tensor=raw)


@layer_class("variable_read")
class VariableReadLayer(_ControlDependencies):
    """Value of a variable when this layer is computed: behind what ``control_dependencies`` have assigned. Output
    [shape of the parameter..], the last axis is the feature axis.
    """

    _default_source = None
    _layer_options = ("control_dependencies", "var")

    var: LayerBase | str | None = None
    """layer of class ``variable``; must be given"""

    def _inputs(self) -> list[Tensor]:
        return []

    def compute(self) -> Tensor:
        layer = self._variable_of(self.var)
        dims = layer._dims()
        raw = None
        if self.has_values:
            raw = self._after_dependencies(lambda: self.network.backend.read_parameter(layer.var))
        return Tensor(self.name, dims, layer.dtype, feature_dim=dims[-1] if dims else None, raw_tensor=raw)
