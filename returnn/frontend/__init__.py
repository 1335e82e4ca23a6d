"""``import returnn.frontend as rf``: the one vocabulary of operations in which layers, losses and search are written.

It works on :class:`~returnn.tensor.Tensor` objects whose axes are :class:`~returnn.tensor.Dim` objects. An operation
checks its arguments and works out the dims of its result here; the backend of its operands computes the value. Operands
without values (templates) give results without values.
"""
# ruff: noqa: F401 - all names imported here are public, see __all__

from returnn.tensor import Dim, DimError, Tensor, TensorDict, batch_dim, single_step_dim

from . import init
from .elementwise import (
    abs,
    cast,
    ceil,
    clip_by_value,
    clip_with_identity_gradient,
    combine,
    common_dims,
    compare,
    cos,
    elu,
    exp,
    expm1,
    floor,
    gelu,
    identity,
    log,
    log1p,
    log_sigmoid,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    neg,
    reciprocal,
    relu,
    relu_square,
    round,
    rsqrt,
    safe_log,
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
from .loss import (
    collapse_repeated,
    ctc_best_path,
    ctc_decode,
    ctc_full_sum,
    ctc_loss,
    edit_distance,
    sparse_softmax_cross_entropy,
)
from .matmul import dot, matmul
from .nn import dropout, layer_norm, log_softmax, moments, pool, softmax, zero_large_gradient
from .operators import Tensor as _Tensor  # installs the operators
from .rec import lstm, rnn
from .reduce import reduce, reduce_argmax, reduce_max, reduce_mean, reduce_min, reduce_out, reduce_sum
from .run_ctx import RunCtx, get_run_ctx, run_ctx
from .shape import (
    concat,
    concat_features,
    expand_dim,
    gather,
    merge_dims,
    replace_dim,
    slice,
    split_dims,
    squeeze,
    window,
)

__all__ = [name for name in dir() if not name.startswith("_")]
