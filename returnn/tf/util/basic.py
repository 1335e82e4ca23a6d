"""The helpers that configs import, in one place (old name: ``TFUtil``). They are also the names in ``eval`` strings."""

from returnn.tensor import Dim
from returnn.tensor import Dim as DimensionTag
from returnn.tensor import Tensor as Data

from .flow import cond, py_print, reuse_name_scope
from .masks import (
    filter_ended_scores,
    flatten_with_seq_len_mask,
    matrix_triangular,
    nd_indices,
    sequence_mask,
    sequence_mask_time_major,
    where_bc,
)
from .math import dropout, safe_exp, safe_log, to_int32_64
from .shapes import (
    check_input_dim,
    check_shape_equal,
    dot,
    expand_dims_unbroadcast,
    get_shape,
    get_shape_dim,
    move_axis,
    swapaxes,
    tile_transposed,
)

__all__ = [
    "Data",
    "Dim",
    "DimensionTag",
    "check_input_dim",
    "check_shape_equal",
    "cond",
    "dot",
    "dropout",
    "expand_dims_unbroadcast",
    "filter_ended_scores",
    "flatten_with_seq_len_mask",
    "get_shape",
    "get_shape_dim",
    "matrix_triangular",
    "move_axis",
    "nd_indices",
    "py_print",
    "reuse_name_scope",
    "safe_exp",
    "safe_log",
    "sequence_mask",
    "sequence_mask_time_major",
    "swapaxes",
    "tile_transposed",
    "to_int32_64",
    "where_bc",
]
