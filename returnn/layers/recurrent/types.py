"""What the outputs of layers in a loop are, where a layer may depend on its own output of the frame before.

Round by round: all layers are built on templates, in a network that is for nothing else. Where a circle begins, the
template of the last round is taken; in the first round it is unknown, and what is unknown adds nothing: a layer with
several sources is built from the others. It ends when a round finds what it has taken. What is unknown when a round
changes nothing depends on nothing but frames before: a number, or features where the layer says how many, is taken for
it, the same for all sequences.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from returnn.layers.base import LayerBase
from returnn.layers.source import GuessedLayer
from returnn.tensor import Dim, DimKind, Tensor, batch_dim
from returnn.util.errors import ConfigError, UserError

from .construction import build_roots

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .subnet import RecSubnet

_MAX_ROUNDS = 20


class TypeRounds:
    """Derives the templates; can be asked again after a layer outside was missing."""

    def __init__(self, subnet: RecSubnet):
        """
        :param subnet: gets the templates known so far
        """
        self._subnet = subnet
        self._net: Network | None = None
        self._number = 0
        self._result: dict[str, Tensor] | None = None
        self._error: Exception | None = None
        """what was wrong before something was taken for the rest"""
        self.taken: dict[str, Tensor | None] = {}
        """what this round has taken for layers that it had not come to yet: path -> template, None if unknown"""
        self._unknown: dict[str, LayerBase] = {}
        self._guesses = [_features, _features_of_sequences, _numbers]
        """one after the other is tried, until one fits"""

    def derive(self) -> dict[str, Tensor]:
        """
        :return: path of a layer inside -> template
        :raises LayerMissing: a layer outside has to be built first
        :raises ConfigError: there is no end of it
        """
        while self._result is None:
            if self._net is None:
                self._net = self._subnet.parent_net.network_for_types(self._subnet)
                self.taken = {}
            try:
                build_roots(self._subnet, self._net)
            except UserError as exc:
                if self._error is None:
                    raise
                self._guess_next(exc)
            else:
                self._end_round(self._net)
            self._net = None
        return self._result

    def _end_round(self, net: Network) -> None:
        self._number += 1
        layers = dict(_all_layers(net))
        unknown = {path: layer for path, layer in layers.items() if layer.is_unknown or isinstance(layer, GuessedLayer)}
        types = {path: layer.output.copy_template() for path, layer in layers.items() if path not in unknown}
        before = self._subnet.types
        changed = [path for path, x in types.items() if path not in before or not _same(x, before[path])]
        if not unknown and all(
            path in types and x is not None and _same(x, types[path]) for path, x in self.taken.items()
        ):
            self._result = types
            return
        types.update({path: before[path] for path in unknown if path in before})
        if unknown and not changed and self._number > 1:
            self._error = self._error or self._error_of_unknown(list(unknown.values()))
            self._unknown, self._subnet.types = unknown, types
            self._guess_next()
            return
        if self._number >= _MAX_ROUNDS:
            raise ConfigError(
                "layer %r: the outputs of these layers in its unit depend on their own frame before, and change with "
                "each look at it: %s"
                % (self._subnet.name, ", ".join("%s %s" % (p, types[p].short_repr()) for p in changed))
            )
        self._subnet.types = types

    def _guess_next(self, exc: Exception | None = None) -> None:
        """
        :param exc: what came of the guess before
        """
        assert self._error is not None
        if not self._guesses:
            raise self._error from exc
        self._subnet.types = {**self._subnet.types, **self._guesses.pop(0)(self._unknown)}

    def _error_of_unknown(self, unknown: list[LayerBase]) -> Exception:
        names = ", ".join(sorted(layer.name for layer in unknown))
        text = (
            "layer %r: nothing says what the outputs of these layers in its unit are, as each depends on the frame "
            "before: %s. Give one of them an initial_output that is a layer, or out_type" % (self._subnet.name, names)
        )
        for layer in unknown:
            reason = getattr(layer, "reason", None)
            if isinstance(reason, ConfigError):  # an unknown option is wrong anyway
                return reason if isinstance(reason, TypeError) else ConfigError("%s. Without that: %s" % (text, reason))
        return ConfigError(text)


def _all_layers(net: Network) -> list[tuple[str, LayerBase]]:
    found = [
        (net.name_prefix + name, layer)
        for name, layer in net.layers.items()
        if layer.network is net
        and (layer.is_unknown or isinstance(layer, GuessedLayer) or not (layer.layer_class or "").startswith(":"))
    ]
    for inner in net.subnets.values():
        found += _all_layers(inner)
    return found


def _features(unknown: Mapping[str, LayerBase], *, of_sequences: bool = False) -> dict[str, Tensor]:
    """
    :param unknown: by path
    :param of_sequences: with batch axis
    :return: what is taken for those that say how many features they have
    """
    res: dict[str, Tensor] = {}
    for path, layer in unknown.items():
        desc = layer.network.desc_of_layer(layer.name)
        dim = desc.get("out_dim")
        if not isinstance(dim, Dim) and isinstance(desc.get("n_out"), int):
            dim = layer.network.dim_of_layer(layer.name, "out", desc["n_out"], DimKind.Feature)
        if isinstance(dim, Dim):
            has_state = isinstance(desc.get("unit"), str)
            dims = [batch_dim, dim] if of_sequences or has_state else [dim]
            res[path] = Tensor(layer.name + "_output", dims, "float32", feature_dim=dim, time_dim_axis=None)
    return res


def _features_of_sequences(unknown: Mapping[str, LayerBase]) -> dict[str, Tensor]:
    """see :func:`_features`"""
    return _features(unknown, of_sequences=True)


def _numbers(unknown: Mapping[str, LayerBase]) -> dict[str, Tensor]:
    """
    :param unknown: by path
    :return: what is taken for those whose frame before was asked for
    """
    return {
        path: Tensor(layer.name + "_output", [], "float32")
        for path, layer in unknown.items()
        if layer.name in layer.network.types_to_guess and not isinstance(layer, GuessedLayer)
    }


def _same(a: Tensor, b: Tensor) -> bool:
    return (
        a.dims == b.dims
        and a.dtype == b.dtype
        and a.sparse_dim == b.sparse_dim
        and (a.time_dim_axis, a.feature_dim_axis) == (b.time_dim_axis, b.feature_dim_axis)
    )
