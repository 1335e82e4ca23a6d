"""The option ``reuse_params``: a layer takes parameters of another one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from .base import LayerBase


class ReuseParams:
    """Where each parameter comes from."""

    def __init__(
        self,
        reuse_layer: LayerBase | None = None,
        map: dict[str, ReuseParams | None] | None = None,
        auto_create_missing: bool = False,
    ):
        """
        :param reuse_layer: has the parameters
        :param map: per parameter name another source, or None: the layer makes its own one. If given, it must list all
            parameters, unless ``auto_create_missing``
        :param auto_create_missing: parameters that are in none of these are made
        """
        self.reuse_layer = reuse_layer
        self.map = map
        self.auto_create_missing = auto_create_missing

    @classmethod
    def from_config(cls, opts: str | dict[str, Any] | ReuseParams, get_layer: Callable[[str], LayerBase]) -> ReuseParams:
        """
        :param opts: name of a layer, or dict of options
        :param get_layer: name -> layer
        """
        if isinstance(opts, ReuseParams):
            return opts
        if isinstance(opts, str):
            return cls(reuse_layer=get_layer(opts))
        opts = dict(opts)
        known = ("reuse_layer", "map", "auto_create_missing")
        for key in opts:
            if key not in known:
                raise ConfigError("reuse_params: unknown key %r.%s Keys: %s" % (key, did_you_mean(key, known), ", ".join(known)))
        if opts.get("reuse_layer"):
            opts["reuse_layer"] = get_layer(opts["reuse_layer"])
        if opts.get("map") is not None:
            opts["map"] = {
                name: None if source is None else cls.from_config(source, get_layer)
                for name, source in opts["map"].items()
            }
        return cls(**opts)

    def find(self, layer: LayerBase, name: str) -> tuple[Any, Any] | None:
        """
        :param layer: that needs the parameter
        :param name: relative to the layer
        :return: variable and its value; None: to be made
        :raises ConfigError: it is not there
        """
        if self.map is not None:
            if name in self.map:
                source = self.map[name]
                return None if source is None else source.find(layer, name)
            if not self.auto_create_missing and self.reuse_layer is None:
                raise ConfigError("reuse_params: parameter %r is not in map" % name)
        if self.reuse_layer is not None and name in self.reuse_layer.params:
            var = self.reuse_layer.params[name]
            return var, layer.network.param_tensor(var).raw_tensor
        if self.auto_create_missing:
            return None
        raise ConfigError(
            "reuse_params: layer %r has no parameter %r, only: %s"
            % (self.reuse_layer and self.reuse_layer.name, name, ", ".join(sorted(self.reuse_layer.params)) if self.reuse_layer else "")
        )
