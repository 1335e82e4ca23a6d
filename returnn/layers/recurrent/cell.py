"""One step of a recurrent unit, and access to the last state of recurrent layers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import returnn.frontend as rf
from returnn.layers.base import LayerBase
from returnn.layers.beam_border import template_without_beam
from returnn.layers.registry import layer_class
from returnn.layers.source import UnknownType
from returnn.tensor import DimKind, Tensor, batch_dim
from returnn.util.errors import ConfigError

from .base import RecurrentLayer, with_feature_dim

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("rnn_cell")
class RnnCellLayer(RecurrentLayer):
    """A recurrent unit, one step; on an input with a time axis all of its steps, forwards. Output [batch, F], or
    [time, batch, other.., F], zero behind a sequence's end.

    Parameters: those of the unit, see :mod:`.units`, in the scope ``LAYER/rec``. The unit must be one for single
    frames: not a native one.
    """

    _for_single_frames = True

    weights_init: Any = "xavier"
    """initial values of all matrices"""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        if "unit" not in d:
            raise ConfigError('option "unit" is missing')
        if d.get("initial_output") is not None:
            raise ConfigError("initial_output: set initial_state instead")
        super().transform_config_dict(d, network, get_layer)

    def compute(self, x: Tensor) -> Tensor:
        return self._run_unit(x, (x.time_dim or self.loop_dim_of(x)) if self.state is None else None)

    def _inits_given(self) -> list[Any]:
        return [self.weights_init, None, None]


@layer_class("get_last_hidden_state")
class GetLastHiddenStateLayer(LayerBase):
    """The state behind the last frame of recurrent layers; of a backward layer behind frame 0. Output [batch, F]."""

    combine: str = "concat"
    """or add: of several sources"""
    key: Any = "*"
    """"*": all parts of a state joined, c then h; "c", "h"; or their number"""

    def compute(self, *sources: Tensor) -> Tensor:
        if self.n_out is None and self.out_dim is None:
            raise ConfigError('option "n_out" is missing')
        out_dim = self.out_dim or self.make_dim("out", self.n_out, kind=DimKind.Feature)
        if self.combine not in ("concat", "add"):
            raise ConfigError("combine must be concat or add, but is %r" % (self.combine,))
        if not sources:
            raise ConfigError('the layer needs a source: "from" is empty')
        states = []
        loop = self.network.loop
        for layer in self.sources:
            if loop is not None and layer.network.loop is loop:
                loop.keep_in_loop(self, layer)
            try:
                state = layer.get_last_hidden_state(self.key)
            except UnknownType:  # of the frame before, of a layer that is not built yet
                if self.has_values:
                    raise
                return Tensor("state", [batch_dim, out_dim], "float32", feature_dim=out_dim)
            if state is None:
                raise ConfigError("layer %r (%s) has no state" % (layer.name, layer.layer_class))
            states.append(template_without_beam(state) if self._is_template else state)
        y = states[0]
        for x in states[1:]:
            if self.combine == "concat":
                y = rf.concat_features(y, x)
            else:
                assert y.feature_dim is not None
                y = y + with_feature_dim(x, y.feature_dim)
        if y.dim != out_dim.dimension:
            raise ConfigError("n_out is %s, but the state has dim %s" % (out_dim.dimension, y.dim))
        return with_feature_dim(y, out_dim)
