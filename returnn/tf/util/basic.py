"""The helpers that configs import, in one place (old name: ``TFUtil``). They are also the names in ``eval`` strings."""

from returnn.tensor import Dim
from returnn.tensor import Dim as DimensionTag
from returnn.tensor import Tensor as Data
from returnn.tf.updater.custom_update import CustomUpdate

from .compiler import OpCodeCompiler
from .flow import cond, py_print, reuse_name_scope
from .gradients import add_scaled_noise_to_gradients, custom_gradient
from .image import create_random_warp_flow_2d, dense_image_warp
from .init import get_initializer
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
from .output import OutputWithActivation
from .positions import get_positional_encoding
from .sampling import compute_sampled_logits
from .search import beam_search, select_src_beams
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
from .transducer import get_rnnt_linear_aligned_output
from .vocab import get_shared_vocab

__all__ = [
    "CustomUpdate",
    "Data",
    "Dim",
    "DimensionTag",
    "OpCodeCompiler",
    "OutputWithActivation",
    "add_scaled_noise_to_gradients",
    "beam_search",
    "check_input_dim",
    "check_shape_equal",
    "compute_sampled_logits",
    "cond",
    "create_random_warp_flow_2d",
    "custom_gradient",
    "dense_image_warp",
    "dot",
    "dropout",
    "expand_dims_unbroadcast",
    "filter_ended_scores",
    "flatten_with_seq_len_mask",
    "get_initializer",
    "get_positional_encoding",
    "get_rnnt_linear_aligned_output",
    "get_shape",
    "get_shape_dim",
    "get_shared_vocab",
    "matrix_triangular",
    "move_axis",
    "nd_indices",
    "py_print",
    "reuse_name_scope",
    "safe_exp",
    "safe_log",
    "select_src_beams",
    "sequence_mask",
    "sequence_mask_time_major",
    "swapaxes",
    "tile_transposed",
    "to_int32_64",
    "where_bc",
]
