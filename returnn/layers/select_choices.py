"""Outputs with a beam, seen from later choices."""

from __future__ import annotations

from typing import Any

from returnn.tensor.backend import backend_of_raw
from returnn.util.errors import ConfigError

from .base import LayerBase
from .search_choices import SearchChoices
from .source import InternalLayer


class SelectSearchSourcesLayer(InternalLayer):
    """The output of a layer, from the hypotheses that the latest choices go on from. Made by
    :func:`select_if_needed`."""

    layer_class = ":select-search-sources"

    def __init__(self, *, search_choices: SearchChoices, **kwargs: Any):
        """
        :param search_choices: that the output belongs to
        """
        super().__init__(**kwargs)
        self.search_choices = search_choices

    @classmethod
    def select_if_needed(cls, layer: LayerBase, search_choices: SearchChoices | None) -> LayerBase:
        """
        :param layer: its output may have a beam, merged into the batch: row b * beam_size + k
        :param search_choices: latest ones
        :return: the layer, if it has no beam or the beam is that of these choices; else a layer with the output for
            their hypotheses
        :raises ConfigError: the choices do not go on from those of the layer
        """
        own = layer.get_search_choices()
        if search_choices is None or own is None or own is search_choices:
            return layer
        backend = backend_of_raw(layer.output.raw_tensor)
        beams = _beams_in(own, search_choices)
        batch = backend.size_of_axis(beams, 0)
        first = backend.binary("mul", backend.expand_dims(backend.range(batch), 1), own.beam_size)
        rows = backend.reshape(backend.binary("add", first, beams), [-1])
        output = layer.output.copy()
        assert output.batch_dim_axis is not None
        output.beam = search_choices.owner.output.beam
        output.raw_tensor = backend.gather(layer.output.raw_tensor, rows, axis=output.batch_dim_axis)
        return cls(
            name="%s/select" % layer.name,
            network=layer.network,
            output=output,
            sources=[layer, search_choices.owner],
            search_choices=search_choices,
        )


def _beams_in(earlier: SearchChoices, later: SearchChoices) -> Any:
    """
    :return: raw int32 [batch, beam of ``later``]: which hypothesis of ``earlier`` each one goes on from
    """
    chain = [later]
    while True:
        before = chain[-1].src_layer
        choices = before.search_choices if before is not None else None
        if choices is None:
            raise ConfigError("%r does not go on from %r" % (later, earlier))
        if choices is earlier:
            break
        chain.append(choices)
    backend = backend_of_raw(later.src_beams)
    beams = later.src_beams
    for choices in chain[1:]:
        beams = backend.gather(choices.src_beams, beams, axis=1, batch_dims=1)
    return beams
