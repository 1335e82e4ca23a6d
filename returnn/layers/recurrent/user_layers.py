"""Layers of users that compute in ``__init__``, within a loop. For backends that make a graph."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import returnn.frontend as rf
from returnn.layers.base import LayerBase
from returnn.layers.beam_border import beam_of, merge_beam, split_beam
from returnn.layers.registry import layer_class
from returnn.layers.source import InternalLayer
from returnn.tensor import Dim, Tensor, batch_dim
from returnn.util.errors import ConfigError

STATE_TRANSFORM = "RETURNN_masked_comp_state_transform"
"""attribute of a state, a raw value: function of the value, that of the frame before, and the mask of a
masked_computation around (bool [batch]). It gives the value for the next frame, instead of that of the frame before
where the mask is false"""


@layer_class(":user-layer-in-loop")
class UserLayerInLoop(LayerBase):
    """Stands for such a layer: an object of its class is made where it is computed, in the loop or outside of it. Its
    ``rec_vars_outputs`` are the states."""

    user_class: type[LayerBase]
    user_kwargs: dict[str, Any]
    _instance: LayerBase | None = None

    def __init__(self, *, user_class: type[LayerBase], user_kwargs: Mapping[str, Any], **kwargs: Any):
        """
        :param user_class: its class
        :param user_kwargs: arguments for that, but for ``output``
        """
        super().__init__(user_class=user_class, user_kwargs=dict(user_kwargs), **kwargs)

    @property
    def params(self) -> dict[str, Any]:
        """those that its object made"""
        return self._instance.params if self._instance is not None else self._params

    def compute(self, *sources: Tensor) -> Tensor:
        template = self.output.copy_template()
        if not self.has_values:
            self._declare_states()
            return template
        beam = next((b for b in map(beam_of, sources) if b is not None), None)
        states = {key: self.previous(key, spec, _no_initial) for key, spec in self._states.items()}
        beam = next((b for b in map(beam_of, states.values()) if b is not None), beam)
        output = self.with_hidden_dims(template, [d for x in sources for d in x.dims if not d.is_beam_dim])
        kwargs = dict(self.user_kwargs, output=output, network=self.network)
        kwargs["sources"] = [self._seen(s, merge_beam(x, beam)) for s, x in zip(self.sources, sources, strict=True)]
        instance = object.__new__(self.user_class)
        before: dict[str, Any] = {}
        if self._states:
            before = {key: merge_beam(x, beam).raw_tensor for key, x in states.items()}
            instance._rec_previous_layer = SimpleNamespace(rec_vars_outputs=before, output=None)  # type: ignore[assignment]
        instance.__init__(**kwargs)  # type: ignore[misc]
        self._instance = instance
        for key, spec in self._states.items():
            if key not in instance.rec_vars_outputs:
                raise ConfigError("%s has not set rec_vars_outputs[%r]" % (self.user_class.__name__, key))
            raw = instance.rec_vars_outputs[key]
            of_user = None if self.network.masking is None else getattr(raw, STATE_TRANSFORM, None)
            if of_user is not None:
                raw = of_user(raw, before[key], self._raw_mask(beam))
            value = spec.like(raw)
            if beam is not None:
                value = split_beam(value, like=_with_beam(spec, beam))
            self.leave(key, value, in_each_frame=of_user is not None)
        if instance.output.raw_tensor is None:
            raise ConfigError("%s.__init__ must set self.output.placeholder" % self.user_class.__name__)
        return instance.output if beam is None else split_beam(instance.output, like=_with_beam(output, beam))

    def _raw_mask(self, beam: Dim | None) -> Any:
        """of the frames that concern the layer, the hypotheses merged into the batch"""
        loop, masking = self.network.require_loop().run, self.network.masking
        assert loop is not None and masking is not None
        masks = [loop.bring(mask.output) for mask in masking.masks]
        return merge_beam(functools.reduce(rf.logical_and, masks), beam).raw_tensor

    def _seen(self, source: LayerBase, value: Tensor) -> LayerBase:
        """the source as the user sees it"""
        if value is source.output:
            return source
        return InternalLayer(name=source.name, network=self.network, output=value)

    # ---- states

    @property
    def _states(self) -> dict[str, Tensor]:
        loop = self.network.require_loop()
        path = self.network.name_prefix + self.name
        return loop.state_templates(path)

    def _declare_states(self) -> None:
        for key, raw in self._initial_states(1).items():
            backend = self.network.backend
            sizes = backend.static_shape(raw)[1:]
            if None in sizes:
                raise ConfigError(
                    "get_rec_initial_extra_outputs: %r must be [batch, ..] with static sizes, but is %s" % (key, raw)
                )
            dims = [batch_dim, *(Dim(n, name="%s:%i" % (key, i)) for i, n in enumerate(sizes))]
            self.previous(key, Tensor(key, dims, backend.dtype_name(raw)), self._initial_of(key))

    def _initial_of(self, key: str) -> Any:
        def initial() -> Tensor:
            raw = self._initial_states(self.network.get_data_batch_dim())[key]
            return self._states[key].like(raw)

        return initial

    def _initial_states(self, batch_size: Any) -> dict[str, Any]:
        loop = self.network.require_loop()
        return self.user_class.get_rec_initial_extra_outputs(
            batch_dim=batch_size, rec_layer=loop.rec_layer, **{**self.user_kwargs, "output": self.output}
        )


def _with_beam(x: Tensor, beam: Dim) -> Tensor:
    dims = list(x.dims)
    dims.insert(dims.index(batch_dim) + 1, beam)
    return x.like(None, dims=dims)


def _no_initial() -> Tensor:
    raise AssertionError("the state is declared already")
