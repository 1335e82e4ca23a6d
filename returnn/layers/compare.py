"""Comparison, and the choice between two values."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.frontend.elementwise import COMPARE_KINDS, COMPARE_SYMBOLS
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

from .base import LayerBase
from .combine import apply_binary, check_broadcast, function_of_kind
from .registry import layer_class
from .unify import common_layout, unify

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("compare")
class CompareLayer(LayerBase):
    """s0 op s1 and s1 op s2 .., and at last, with ``value``, the last source op value; element by element.

    Sources and value: at least two, of one dtype, dense or labels. Output: bool, with all their axes.
    """

    kind: str = "equal"
    """equal, not_equal, less, less_equal, greater, greater_equal (or == != <> < <= > >=), or a function of two
    arguments of the framework"""
    value: float | int | bool | None = None
    """number to compare the last source with"""
    allow_broadcast_all_sources: bool | None = None
    """no source needs to have all axes; default: True up to behaviour version 3"""

    def compute(self, *sources: Tensor) -> Tensor:
        if len(sources) + (self.value is not None) < 2:
            raise ConfigError('there must be at least two things to compare: sources in "from", and "value"')
        sources = tuple(unify(sources))
        check_broadcast(self, sources, [layer.name for layer in self.sources])
        kind = COMPARE_SYMBOLS.get(self.kind, self.kind)
        function = None if kind in COMPARE_KINDS else function_of_kind(self, kind, COMPARE_KINDS)
        operands: list[Any] = [*sources, *([] if self.value is None else [self._checked_value(sources[-1])])]
        result = None
        for a, b in zip(operands, operands[1:], strict=False):
            both = rf.compare(a, kind, b) if function is None else apply_binary(function, a, b, dtype="bool")
            result = both if result is None else rf.logical_and(result, both)
        assert result is not None
        layout = common_layout(sources)
        result = result.copy_transpose(layout.dims)
        result.feature_dim, result.time_dim_axis = layout.feature_dim, layout.time_dim_axis
        return result

    def _checked_value(self, x: Tensor) -> float | int | bool:
        value = self.value
        if not isinstance(value, (bool, int, float)):
            raise ConfigError("value must be a number, but is %r" % (value,))
        if isinstance(value, float) and "int" in x.dtype:
            raise ConfigError("value is %r, but %s is of dtype %s" % (value, self.sources[-1].name, x.dtype))
        return value


@layer_class("switch")
class SwitchLayer(LayerBase):
    """``true_from`` where the condition is true, else ``false_from``; element by element. Both are computed.

    Output: axes of all three; dtype and labels of ``true_from``, or, if that is a number, of ``false_from``.
    """

    condition: LayerBase | Callable[..., bool] | bool | str | None = None
    """layer of dtype bool. Or a function that gets all options, ``network`` and ``get_layer``, while the network is
    built, and returns a bool: then the output is that of one of the two, and the other one need not be there"""
    true_from: LayerBase | str | float | int | bool | None = None
    """layer, or number"""
    false_from: LayerBase | str | float | int | bool | None = None
    """layer, or number"""
    allow_broadcast_all_sources: bool | None = None
    """none of the three needs to have all axes; default: True up to behaviour version 3"""

    _default_source = None
    _layer_options = ("condition", "true_from", "false_from")

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        for key in cls._layer_options:
            if key not in d:
                raise ConfigError('option "%s" is missing' % key)
        if callable(d["condition"]):
            options = {**d, "sources": [], "network": network, "get_layer": get_layer}
            d["condition"] = network.backend.user_function(d["condition"])(**options)
            if not isinstance(d["condition"], bool):
                raise ConfigError("condition: the function must return True or False, not %r" % (d["condition"],))
            d["false_from" if d["condition"] else "true_from"] = None
        super().transform_config_dict(d, network, get_layer)
        if d["sources"]:
            raise ConfigError('a switch layer has no "from", but "condition", "true_from" and "false_from"')

    def compute(self) -> Tensor:
        if isinstance(self.condition, bool):
            return self._operand("true_from" if self.condition else "false_from")
        if not isinstance(self.condition, LayerBase):
            raise ConfigError("condition must be a layer or a function, but is %r" % (self.condition,))
        condition = self._output_of(self.condition)
        if condition.dtype != "bool":
            raise ConfigError(
                "condition must be bool, but layer %r is %s" % (self.condition.name, condition.short_repr())
            )
        layers = [x for x in (self.true_from, self.false_from) if isinstance(x, LayerBase)]
        templates = [x.output for x in layers]
        if len({x.dtype for x in templates}) > 1:
            raise ConfigError("true_from is %s, but false_from is %s" % tuple(x.short_repr() for x in templates))
        dtype = templates[0].dtype if templates else None
        if dtype is None and float in (type(self.true_from), type(self.false_from)):
            dtype = "float32"
        tensors = unify([self._operand("true_from", dtype), self._operand("false_from", dtype), condition])
        names = [x.name if isinstance(x, LayerBase) else repr(x) for x in (self.true_from, self.false_from)]
        check_broadcast(self, tensors, [*names, self.condition.name])
        layout = common_layout(tensors)
        a, b, condition = tensors
        sparse_dim = templates[0].sparse_dim if templates else None
        result = rf.where(condition, a, b).copy_transpose(layout.dims)
        return result.like(
            result.raw_tensor,
            sparse_dim=sparse_dim,
            feature_dim=None if sparse_dim else layout.feature_dim,
            time_dim=layout.time_dim,
        )

    def _operand(self, key: str, dtype: str | None = None) -> Tensor:
        """
        :param key: option
        :param dtype: for a number; by default that of its type
        """
        value = getattr(self, key)
        if isinstance(value, LayerBase):
            return self._output_of(value)
        if not isinstance(value, (bool, int, float)):
            raise ConfigError("%s must be a layer or a number, but is %r" % (key, value))
        own = "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
        dtype = dtype or own
        if own == "float32" and "float" not in dtype:
            raise ConfigError("%s is %r, but the other value has dtype %s" % (key, value, dtype))
        raw = self.network.backend.convert(value, dtype) if self.has_values else None
        return Tensor(key, (), dtype, raw_tensor=raw)
