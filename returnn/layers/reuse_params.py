"""The option ``reuse_params``: a layer takes parameters of another one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from returnn.tensor import Dim, DimError
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from .base import LayerBase

Param = tuple[Any, Any]
"""Variable (None: the value is not one), and raw value."""

_KEYS = ("reuse_layer", "map", "custom", "auto_create_missing", "layer_output", "shape")


@dataclass
class WantedParam:
    """A parameter that a layer needs."""

    layer: LayerBase
    name: str
    """relative to the layer"""
    full_name: str
    dims: tuple[Dim, ...]
    dtype: str
    create: Callable[[str], Param]
    """makes it under a full name, or finds the one that is there"""

    @property
    def shape(self) -> tuple[int, ...]:
        """sizes of dims"""
        return tuple(d.require_static() for d in self.dims)


class ReuseParams:
    """Where each parameter comes from."""

    def __init__(
        self,
        reuse_layer: LayerBase | UnbuiltLayer | None = None,
        map: dict[str, ReuseParams | None] | None = None,
        custom: Callable[..., Any] | None = None,
        auto_create_missing: bool = False,
        layer_output: LayerBase | None = None,
        shape: tuple[Dim, ...] | list[Dim] | None = None,
    ):
        """
        :param reuse_layer: has the parameters
        :param map: per parameter name another source, or None: the layer makes its own one. If given, it must list all
            parameters, unless ``auto_create_missing``
        :param custom: function of the keywords base_layer, reuse_layer, name, full_name, shape, dtype, getter; returns
            the value. ``getter()`` makes the variable that the layer would have had
        :param auto_create_missing: parameters that are in none of these are made
        :param layer_output: the value is the output of this layer
        :param shape: dims of ``layer_output``, in the order of the parameter's; its own order by default
        """
        self.reuse_layer = reuse_layer
        self.map = map
        self.custom = custom
        self.auto_create_missing = auto_create_missing
        self.layer_output = layer_output
        self.shape = shape

    @classmethod
    def from_config(
        cls,
        opts: str | dict[str, Any] | ReuseParams,
        *,
        get_layer: Callable[[str], LayerBase],
        get_owner: Callable[[str], Any],
    ) -> ReuseParams:
        """
        :param opts: name of a layer, or dict of options
        :param get_layer: name -> layer
        :param get_owner: name -> layer, or :class:`UnbuiltLayer` where the two layers depend on each other
        """
        if isinstance(opts, ReuseParams):
            return opts
        if isinstance(opts, str):
            return cls(reuse_layer=get_owner(opts))
        if not isinstance(opts, dict):
            raise ConfigError("reuse_params must be a layer name or a dict, but is %r" % (opts,))
        opts = dict(opts)
        for key in opts:
            if key not in _KEYS:
                raise ConfigError(
                    "reuse_params: unknown key %r.%s Keys: %s" % (key, did_you_mean(key, _KEYS), ", ".join(_KEYS))
                )
        if opts.get("reuse_layer"):
            opts["reuse_layer"] = get_owner(opts["reuse_layer"])
        if opts.get("layer_output"):
            opts["layer_output"] = get_layer(opts["layer_output"])
        if opts.get("map") is not None:
            opts["map"] = {
                name: None if source is None else cls.from_config(source, get_layer=get_layer, get_owner=get_owner)
                for name, source in opts["map"].items()
            }
        return cls(**opts)

    def get(self, wanted: WantedParam) -> Param:
        """
        :param wanted: what the layer needs, and how it would make it
        :return: from where the config says
        :raises ConfigError: it is not there
        """
        if self.map is not None and wanted.name in self.map:
            source = self.map[wanted.name]
            return wanted.create(wanted.full_name) if source is None else source.get(wanted)
        if self.custom is not None:
            return self._from_custom(self.custom, wanted)
        if self.layer_output is not None:
            return self._from_output_of(self.layer_output, wanted)
        layer = self.reuse_layer
        if isinstance(layer, UnbuiltLayer):
            return wanted.create(layer.param_name(wanted.name))
        var = None if layer is None else layer.find_param(wanted.name)
        if layer is not None and var is not None:
            value = wanted.layer.network.param_tensor(var)
            if value.batch_shape != wanted.shape:
                text = "reuse_params: parameter %r of layer %r has the shape %s, but %s is needed"
                raise ConfigError(text % (wanted.name, layer.name, list(value.batch_shape), list(wanted.shape)))
            return var, value.raw_tensor
        if self.auto_create_missing:
            return wanted.create(wanted.full_name)
        raise self._missing(wanted.name)

    def _missing(self, name: str) -> ConfigError:
        if self.reuse_layer is None:
            text = "parameter %r is not in map, which has: %s. Set it to None there, or set auto_create_missing."
            return ConfigError("reuse_params: " + text % (name, ", ".join(sorted(self.map or ())) or "nothing"))
        known = sorted(self.reuse_layer.params)
        text = "layer %r has no parameter %r, only: %s. Set auto_create_missing to make new ones."
        return ConfigError("reuse_params: " + text % (self.reuse_layer.name, name, ", ".join(known) or "none"))

    def _from_custom(self, function: Callable[..., Any], wanted: WantedParam) -> Param:
        backend = wanted.layer.network.backend
        value = backend.user_function(function)(
            base_layer=wanted.layer,
            reuse_layer=self.reuse_layer,
            name=wanted.name,
            full_name=wanted.full_name,
            shape=wanted.shape,
            dtype=wanted.dtype,
            getter=lambda *_args, **_kwargs: wanted.create(wanted.full_name)[0],
        )
        return None, backend.convert(value)

    def _from_output_of(self, layer: LayerBase, wanted: WantedParam) -> Param:
        output = layer.output
        dims = self.shape or output.dims
        sizes = [d.dimension for d in dims]
        if sizes != list(wanted.shape) or set(dims) != set(output.dims):
            raise DimError(
                "reuse_params: parameter %r has the shape %s, but layer %r gives %s"
                % (wanted.name, list(wanted.shape), layer.name, output.short_repr())
            )
        return None, output.copy_transpose(dims).raw_tensor


class UnbuiltLayer:
    """A layer that shares parameters with one that it depends on. Who comes first makes them, under this one's name."""

    params: dict[str, Any] = {}

    def __init__(self, name: str, scope: str):
        """
        :param name: of the layer
        :param scope: of its parameters
        """
        self.name = name
        self.scope = scope

    def param_name(self, name: str) -> str:
        """
        :param name: relative to the layer
        :return: full
        """
        return "/".join(x for x in (self.scope, name) if x)
