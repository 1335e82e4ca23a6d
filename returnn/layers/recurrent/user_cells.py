"""Units that users write as classes, for the framework behind the backend: see
:class:`returnn.tf.backend.user_cells.BaseRNNCell`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

from .units import Unit, UnitCall

if TYPE_CHECKING:
    from .base import RecurrentLayer


def user_unit(layer: RecurrentLayer, cell_class: type, opts: dict[str, Any]) -> Unit:
    """
    :param layer: that the unit is for
    :param cell_class: of the user
    :param opts: ``unit_opts``
    :return: one that computes with the class, and makes its variables in the scope of the layer
    """
    out_dim = layer.required_out_dim()
    cell = layer.network.backend.user_rnn_cell(cell_class, out_dim.require_static(), opts)
    sizes = {cell.output_size, *cell.state_sizes}
    if sizes != {out_dim.dimension}:
        raise ConfigError(
            "unit %s: output and states must have n_out = %s features, but have %s"
            % (cell_class.__name__, out_dim.dimension, sorted(sizes))
        )

    def compute(call: UnitCall) -> tuple[Tensor, list[Tensor]]:
        if layer._is_template:
            return call.rnn(cell, {})
        with layer.var_creation_scope(), cell.collect_variables() as variables:
            result = call.rnn(cell, {})
        for var in variables:
            layer.add_param(var)
        return result

    return Unit(state_names=cell.state_names, options={}, compute=compute)
