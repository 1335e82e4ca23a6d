"""A layer dict as unit that is computed for one frame of a loop around."""

from __future__ import annotations

from typing import Any

from returnn.layers.base import LayerBase
from returnn.layers.subnetwork import Subnetwork


class SingleStep(Subnetwork):
    """The network inside of a recurrent layer that does one step in each frame of the loop around it: layers inside are
    in that loop, so ``prev:NAME`` is what they were in its frame before."""

    scope_suffix = "/rec"

    @property
    def net_dict(self) -> dict[str, Any]:
        return self.opts["unit"]

    def data_layer(self, name: str) -> LayerBase | None:
        return super().data_layer("data" if name == "data:source" else name)
