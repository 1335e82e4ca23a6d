"""The recurrent layer, with a unit over the time axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from returnn.layers.base import LayerBase
from returnn.layers.registry import layer_class
from returnn.log import log
from returnn.tensor import Dim, Tensor, single_step_dim
from returnn.util.errors import ConfigError

from .base import RecurrentLayer
from .units import USER_CELLS, Unit, unit_of_name

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("rec")
class RecLayer(RecurrentLayer):
    """A recurrent unit over the time axis. Output [time, batch, other.., F], zero behind a sequence's end.

    Axes of the input besides time, batch and feature are independent sequences. An input without time axis is a single
    step, from ``initial_state``; output [batch, F].
    Parameters: those of the unit, see :mod:`.units`, in the scope ``LAYER/rec``.
    """

    direction: int | None = None
    """1 or None: forwards; -1: backwards, from each sequence's own end"""
    axis: Any = None
    """axis description of the axis to iterate over; default: time. ``single_step_dim``: one step"""
    input_projection: bool = True
    """False: the input is added to the gates as it is (4 n_out features), without W and b. Native LSTMs only"""
    back_prop: bool | None = None
    """False: no gradient through the layer"""
    forward_weights_init: Any = None
    """initial values of W"""
    recurrent_weights_init: Any = None
    """initial values of W_re, or of a unit's joint matrix; if only one of the two is given, it is that of both"""
    bias_init: Any = None
    """initial values of b, where the unit has W, W_re, b; 0 by default"""
    max_seq_len: Any = None
    """bounds loops of unknown length; a loop over an axis of the input has a known one, and is not bounded"""
    max_seq_len_via: LayerBase | str | None = None
    """the same, as a layer with a scalar"""
    include_eos: bool = False
    """concerns loops that end by themselves; a loop over an axis of the input does not"""
    unroll: bool = False
    """had the loop written out, ``max_seq_len`` (int) times; the results are the same, and here it is a loop anyway"""
    optimize_move_layers_out: bool | None = None
    """concerns units that are networks; the results are the same either way"""
    use_global_rec_step_offset: bool = False
    """concerns units that are networks: where they count their frames from"""
    debug: bool | None = None
    """concerns units that are networks"""
    cheating: bool = False
    """never had an effect: it is an option of layers that choose labels"""

    _layer_options = ("max_seq_len_via",)
    _rnn_cells_dict: ClassVar[dict[str, type]] = USER_CELLS
    """name, in lower case -> class: units of users, which configs may add"""

    @classmethod
    def get_rnn_cell_class(cls, name: str | type, cell_only: bool = False) -> type | Unit:
        """
        :param name: of a unit, letter case does not matter; or a class
        :param cell_only: units that work on whole sequences do not count
        :return: class of a user's unit; else what the unit is made of
        :raises ConfigError: unknown
        """
        return name if isinstance(name, type) else unit_of_name(name, for_single_frames=cell_only)

    @classmethod
    def _create_rnn_cells_dict(cls) -> None:
        """The dict is always there; configs call this before they add to it."""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        if isinstance(d.get("unit"), dict):
            raise ConfigError(
                "a recurrent layer with a sub-network as unit is not supported yet; units by name are, e.g. nativelstm2"
            )
        super().transform_config_dict(d, network, get_layer)

    def compute(self, x: Tensor) -> Tensor:
        self._check_loop_options()
        return self._run_unit(x, self._spatial_dim(x))

    def _check_loop_options(self) -> None:
        if self.unroll and not isinstance(self.max_seq_len, int):
            raise ConfigError("unroll needs max_seq_len as a number, but that is %r" % (self.max_seq_len,))
        if isinstance(self.max_seq_len_via, LayerBase) and self.max_seq_len_via.output.dims:
            raise ConfigError(
                "max_seq_len_via must be a layer with a scalar, but is %s" % self.max_seq_len_via.output.short_repr()
            )
        if self.cheating and not self._is_template:
            print("layer %r: cheating has no effect here; it is an option of class choice" % self.name, file=log.v2)

    def _spatial_dim(self, x: Tensor) -> Dim | None:
        """
        :return: of x, to iterate over; None: one step
        """
        if self.state is not None or self.axis is single_step_dim or (self.axis is None and not x.have_time_axis()):
            return None
        dim = x.dims[x.get_axis_from_description("T" if self.axis is None else self.axis)]
        if dim.is_batch_dim or dim == x.feature_dim:
            raise ConfigError("axis %r: cannot iterate over %s of the input %s" % (self.axis, dim, x.short_repr()))
        return dim

    def _inits_given(self) -> list[Any]:
        return [self.forward_weights_init, self.recurrent_weights_init, self.bias_init]
