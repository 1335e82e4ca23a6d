"""``import returnn.frontend as rf``: the one vocabulary of operations in which layers, losses and search are written.

It works on :class:`~returnn.tensor.Tensor` objects whose axes are :class:`~returnn.tensor.Dim` objects. An operation
checks its arguments and works out the dims of its result here; the backend of its operands computes the value. Operands
without values (templates) give results without values.
"""
# ruff: noqa: F401 - all names imported here are public, see __all__

from returnn.tensor import Dim, DimError, Tensor, TensorDict, batch_dim, single_step_dim

from . import audio, init
from .alignment import Fsa, ctc_best_path, ctc_fsa, fsa_best_path, fsa_full_sum, staircase_fsa
from .attention import (
    dot_attention,
    relative_positions,
    relative_positions_of_frame,
    sinusoidal_encoding,
    sinusoidal_positional_encoding,
)
from .beam_search import beam_step, beam_step_with_labels, decide, gather_beam, normalized_scores, trace_beams
from .conv import conv, make_conv_out_spatial_dims, pool, transposed_conv
from .edit_distance_table import completion_distances, next_edit_distances
from .elementwise import (
    abs,
    angle,
    cast,
    ceil,
    clip_by_value,
    clip_with_identity_gradient,
    combine,
    common_dims,
    compare,
    conj,
    cos,
    elu,
    exp,
    expm1,
    floor,
    gelu,
    identity,
    identity_after,
    imag,
    log,
    log1p,
    log_sigmoid,
    logical_and,
    logical_not,
    logical_or,
    make_complex,
    maximum,
    minimum,
    neg,
    real,
    reciprocal,
    relu,
    relu_square,
    round,
    rsqrt,
    safe_exp,
    safe_log,
    scaled_gradient,
    scaled_gradient_ext,
    selu,
    sigmoid,
    sign,
    silu,
    sin,
    softplus,
    sqrt,
    square,
    squared_difference,
    stop_gradient,
    swish,
    tanh,
    where,
)
from .gradient import gradient, synthetic_gradient, watched
from .indexing import (
    cumsum,
    gather,
    lengths_along,
    masked_select,
    scatter,
    search_sorted,
    slice_nd,
    top_k,
)
from .join import concat, concat_features, split, stack, unstack
from .loss import (
    collapse_repeated,
    ctc_best_path_score,
    ctc_decode,
    ctc_full_sum,
    ctc_loss,
    ctc_loss_v1,
    edit_distance,
    sentence_bleu,
    sparse_softmax_cross_entropy,
)
from .masking import masked_fill
from .matmul import dot, matmul
from .nn import dropout, layer_norm, log_softmax, masked_softmax, moments, normalize, softmax, zero_large_gradient
from .noise import add_normal_noise
from .operators import Tensor as _Tensor  # installs the operators
from .packing import pack_padded, pad_packed, places_along, range_over_dim, unflatten_nd
from .random import (
    random,
    random_normal,
    random_state_from_seed,
    random_state_of_step,
    random_truncated_normal,
    random_uniform,
)
from .rec import lstm, rnn
from .rec_2d import lstm_2d
from .reduce import reduce, reduce_argmax, reduce_max, reduce_mean, reduce_min, reduce_out, reduce_sum
from .run_ctx import RunCtx, get_run_ctx, run_ctx
from .sampling import expected_counts, sample_without_replacement
from .sequences import pad, repeat, reverse_sequence, shift_left, shift_right
from .shape import (
    expand_dim,
    merge_dims,
    replace_dim,
    reshape,
    slice,
    split_dims,
    squeeze,
)
from .signal import complex_as_real, dct, istft, real_as_complex, stft
from .windows import chunk, fold, resize, unchunk, window

__all__ = [name for name in dir() if not name.startswith("_")]
