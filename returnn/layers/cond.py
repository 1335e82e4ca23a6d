"""One of two layers, by a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.log import log
from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError

from .base import LayerBase
from .constant import ConstantLayer
from .control import TrainFlagLayer
from .parts import LayerWithParts
from .recurrent.initial import with_all_dims
from .recurrent.loop_layers import RecPreviousLayer
from .registry import layer_class
from .unify import matching_dims
from .unit_network import UnitNetwork, unit_options

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .recurrent.loop import Loop


class _Hidden(UnitNetwork):
    is_hidden = True


class _Branch(_Hidden):
    is_deferred = True


@layer_class("cond")
class CondLayer(LayerWithParts):
    """The layer ``true_layer`` if the condition is true, else ``false_layer``. Only that one is computed; if the
    condition is known before the first step, only that one is built.

    Output: axes as ``true_layer`` has them; those of ``false_layer`` must be the same, in any order; where both have a
    dynamic axis of different lengths, the lengths are those of the layer that is computed. If both have parts, such as
    those of class split, ``LAYER/PART`` are theirs.

    Parameters: those of both, in the scope of this layer; of equal names, the same. The layers inside have no losses,
    and what they add to the objective does not count.
    Within a loop, states of the layer that is not computed stay as they were in the frame before.
    """

    _default_source = None

    condition: LayerBase | str | dict[str, Any] | None = None
    """bool scalar: name of a layer, or a layer dict; must be given"""
    true_layer: dict[str, Any] | str | None = None
    """layer dict, or the name of a layer; must be given. What it names is outside, and is computed in any case"""
    false_layer: dict[str, Any] | str | None = None
    """likewise"""
    _branches: list[LayerBase]
    """false, true; or only the one that is known to be needed"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        name, opts = d["_name"], dict(d)
        condition = d.get("condition")
        if isinstance(condition, str):
            d["condition"] = get_layer(condition)
        elif isinstance(condition, dict):
            d["condition"] = _Hidden(network, name, opts, unit=condition, key=name + ":condition").unit_layer
        else:
            raise ConfigError('option "condition" must be a layer, or a layer dict, but is %r' % (condition,))
        known = _known_value(d["condition"])
        units = [unit_options(d.get(key), key) for key in _BRANCH_NAMES]
        ignored = {key: _ignored_options(unit) for key, unit in zip(_BRANCH_NAMES, units, strict=True)}
        units = [{option: unit[option] for option in unit if option not in _OF_LOSS} for unit in units]
        if known is not None:
            inside: UnitNetwork = _Hidden(network, name, opts, unit=units[known], key="%s:%s" % (name, known))
            d["_branches"] = [inside.unit_layer]
        else:
            insides = [
                _Branch(network, name, opts, unit=unit, key="%s:%s" % (name, key))
                for key, unit in zip(_BRANCH_NAMES, units, strict=True)
            ]
            branches = [inside.unit_layer for inside in insides]
            d["_branches"] = [layer for layer in branches if not layer.is_unknown] or branches
        _check_frames_before(d["_branches"])
        super().transform_config_dict(d, network, get_layer)
        for key, options in ignored.items():
            if options:
                log.print_warning(
                    "layer %s: %s has no effect within %s of a layer of class cond"
                    % (network.name_prefix + name, " and ".join(options), key)
                )

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        self._templates: dict[str, list[Tensor]] = {}
        self._part_names = _common_parts(self._branches)
        self.recurrent = any(layer.recurrent for layer in self._branches)

    @property
    def params(self) -> dict[str, Any]:
        """of the layers inside, and of this one"""
        params = dict(self._params)
        for layer in self._branches:
            params.update(layer.params)
        return params

    def used_layers(self) -> list[LayerBase]:
        assert isinstance(self.condition, LayerBase)
        return [*super().used_layers(), self.condition, *self._branches]

    @property
    def layers_computed_inside(self) -> list[LayerBase]:
        if len(self._branches) == 1:
            return []
        return [layer for branch in self._branches for layer in branch.network.inner_steps.layers]

    @property
    def stays_in_loop(self) -> bool:  # type: ignore[override]
        return len(self._branches) > 1

    def get_dep_layers(self) -> list[LayerBase]:
        """also those outside that layers inside compute with"""
        inside = self.layers_computed_inside
        found = [*super().get_dep_layers(), *(other for layer in inside for other in layer.get_dep_layers())]
        return [layer for layer in dict.fromkeys(found) if layer not in inside]

    def _inputs(self) -> list[Tensor]:
        assert isinstance(self.condition, LayerBase)
        return [self._output_of(self.condition)]

    def compute(self, condition: Tensor) -> Tensor:
        if condition.dims or condition.dtype != "bool":
            raise ConfigError("the condition must be a bool scalar, but is %s" % condition.short_repr())
        if len(self._branches) == 1:
            (layer,) = self._branches
            self.parts = {part: self._value_of(_part_of(layer, part)) for part in self._part_names}
            return self._value_of(layer.output)
        joined = [self._joined("output", [layer.output for layer in self._branches])]
        for part in self._part_names:
            joined.append(self._joined(part, [_part_of(layer, part) for layer in self._branches]))
        if condition.raw_tensor is not None:
            self._compute_branch(condition.raw_tensor, joined)
        outputs = [output for output, _ in joined]
        self.parts = dict(zip(self._part_names, outputs[1:], strict=True))
        return outputs[0]

    def _value_of(self, output: Tensor) -> Tensor:
        return output.copy_template() if self._is_template else output.copy()

    def _joined(self, key: str, outputs: list[Tensor]) -> _Joined:
        """
        :param key: of what both layers give
        :param outputs: of false, true
        :return: output of this layer, and the dims of false and true in the order of its dims
        """
        outputs = self._templates.setdefault(key, [x.copy_template() for x in outputs])  # before they have a beam
        false, true = (x.copy_template() for x in outputs)
        if false.dtype != true.dtype or false.sparse != true.sparse:
            raise ConfigError("%s and %s differ: %s" % (*_BRANCH_NAMES, _both(false, true)))
        order = matching_dims(true, false)
        if order is None:
            raise ConfigError("%s and %s have different axes: %s" % (*_BRANCH_NAMES, _both(false, true)))
        dims = []
        for i, (dim, other) in enumerate(zip(true.dims, order, strict=True)):
            if dim != other and dim.is_dynamic:
                dim = self.make_dim("%s:axis%i" % (key, i), None, kind=dim.kind)
            dims.append(dim)
        return self._with_beams(true.copy_template_new_dim_tags(dims, keep_special_axes=True), (order, list(true.dims)))

    def _with_beams(self, output: Tensor, orders: tuple[list[Dim], list[Dim]]) -> _Joined:
        """
        Within a search, both layers get the beams of what any layer inside computes with.
        """
        if not self.has_values or self.network.loop is None:
            return output, orders
        beams = [d for layer in self.get_dep_layers() for d in layer.output.dims if d.is_beam_dim]
        res = self.with_hidden_dims(output, beams)
        new = [(i, d) for i, d in enumerate(res.dims) if d not in output.dims]
        for order in orders:
            for place, dim in new:
                order.insert(place, dim)
        return res, orders

    def _compute_branch(self, condition: Any, layouts: list[_Joined]) -> None:
        """
        Gives the outputs their values, and their dims the lengths that are known only then.
        """
        loop = None if self.network.loop is None else self.network.loop.run
        states = [] if loop is None else loop.states_of(self.layers_computed_inside)
        left: list[Tensor] = []
        new_dims = [
            (layout, axis)
            for layout, (output, _) in enumerate(layouts)
            for axis, dim in enumerate(output.dims)
            if dim.is_dynamic and not dim.is_batch_dim and _lens(dim) is None
        ]

        def compute(which: int) -> Callable[[], list[Any]]:
            def raws() -> list[Any]:
                backend = self.network.backend
                layer = self._branches[which]
                ops = layer.network.compute_inside()
                outputs = [layer.output, *[_part_of(layer, part) for part in self._part_names]]
                dims = [order[which] for _, order in layouts]
                values = [_raw_in_layout(x, d, loop) for x, d in zip(outputs, dims, strict=True)]
                values += [_lens(dims[layout][axis]) for layout, axis in new_dims]
                if loop is not None:
                    left[:] = loop.take_left(states)
                values += [x.raw_tensor for x in left]
                return backend.after(ops, lambda: [backend.identity(raw) for raw in values]) if ops else values

            return raws

        values = self.network.backend.cond(condition, compute(1), compute(0))
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        for (layout, axis), raw in zip(new_dims, values[len(layouts) :], strict=False):
            dim = layouts[layout][0].dims[axis]
            dim.dyn_size_ext = Tensor("lens", dim.size_dims or (), "int32", raw_tensor=raw)
        for (output, _), raw in zip(layouts, values, strict=False):
            output.raw_tensor = raw
        for state, x, raw in zip(states, left, values[len(layouts) + len(new_dims) :], strict=True):
            state.next = x.like(raw)

    def _with_default_markers(self, output: Tensor) -> Tensor:
        return output

    @classmethod
    def get_available_sub_layer_names(cls, parent_layer_kwargs: dict[str, Any]) -> list[str]:
        return _common_parts(parent_layer_kwargs["_branches"])


_Joined = tuple[Tensor, tuple[list[Dim], list[Dim]]]
_BRANCH_NAMES = ("false_layer", "true_layer")
_OF_LOSS = ("loss", "loss_opts", "loss_scale", "loss_only_on_non_search")
_OF_OBJECTIVE = ("loss", "L2", "darc1", "spatial_smoothing")


def _both(false: Tensor, true: Tensor) -> str:
    return "%s and %s" % (false.short_repr(), true.short_repr())


def _known_value(condition: LayerBase) -> bool | None:
    """
    :return: of a condition that is the same in all steps; else None
    """
    if isinstance(condition, ConstantLayer) and isinstance(condition.value, bool) and condition.shape is None:
        return condition.value
    if isinstance(condition, TrainFlagLayer) and condition.network.computes_at_construction:
        flag = condition.network.train_flag
        return flag if isinstance(flag, bool) else None
    return None


def _check_frames_before(branches: list[LayerBase]) -> None:
    """
    :param branches: both layers, or the only one that is known
    :raises ConfigError: a layer inside needs the frame before of another one inside, which was maybe not computed
    """
    if len(branches) < 2:
        return
    for branch in branches:
        for layer in branch.network.inner_steps.layers:
            if isinstance(layer, RecPreviousLayer):
                raise ConfigError(
                    "%r: within a layer of class cond, there is no frame before of the layers inside. "
                    "Put layer %r outside of it" % (layer.name, layer.of_name)
                )


def _ignored_options(unit: dict[str, Any]) -> list[str]:
    """
    :param unit: options of a layer inside
    :return: those that have no effect there
    """
    return sorted(option for option in _OF_OBJECTIVE if unit.get(option))


def _common_parts(layers: list[LayerBase]) -> list[str]:
    """
    :return: names of sub layers that all have
    """
    names = []
    for layer in layers:
        opts = {"name": layer.name, "network": layer.network, "sources": layer.sources, **layer.kwargs}
        names.append([] if layer.get_sub_networks() else layer.get_available_sub_layer_names(opts))
    return [name for name in names[0] if all(name in others for others in names)]


def _part_of(layer: LayerBase, name: str) -> Tensor:
    part = layer.get_sub_layer(name)
    assert part is not None
    return part.output


def _raw_in_layout(x: Tensor, dims: list[Dim], loop: Loop | None) -> Any:
    return (x.copy_transpose(dims) if loop is None else with_all_dims(x, dims, loop)).raw_tensor


def _lens(dim: Dim) -> Any:
    size = dim.dyn_size_ext
    return None if size is None else size.raw_tensor
