"""rf on PyTorch: raw values are torch tensors, computed at once.

Where values live is said in :mod:`.values`: nothing here waits for a device, but where a shape depends on values.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch
from torch.nn import functional

from returnn.frontend import init as rf_init
from returnn.frontend.run_ctx import get_run_ctx
from returnn.tensor import eager_loop
from returnn.tensor.backend import Backend, Raw, Size, register_backend
from returnn.tensor.numpy_backend import backend as numpy_backend
from returnn.util.errors import ConfigError

from . import alignment, conv, decoding, fsa, gradient, indexing, lstm, pooling, random, rnn, signal
from .elementwise import BINARY, COMPARE, REDUCE, UNARY
from .padding import reverse_sequence
from .user_code import eval_globals, find_function
from .user_functions import config_on_torch, on_torch
from .values import current_device, ints, operands, to_tensor, torch_dtype


class TorchBackend(Backend):
    """Operations on torch tensors; see the base class."""

    name = "torch"
    priority = 20

    # ---- values in and out

    def convert(self, value: Any, dtype: str | None = None) -> Raw:
        """Numbers stay on the host. Texts stay numpy arrays."""
        if isinstance(value, torch.Tensor):
            return value
        if dtype == "string" or (isinstance(value, numpy.ndarray) and value.dtype.kind in "OSU"):
            return numpy.asarray(value)
        raw = to_tensor(value, dtype)
        return raw.to(current_device()) if raw.ndim else raw

    def dtype_name(self, x: Raw) -> str:
        return str(x.dtype).removeprefix("torch.")

    def static_shape(self, x: Raw) -> tuple[int | None, ...]:
        return tuple(x.shape)

    def size_of_axis(self, x: Raw, axis: int) -> Size:
        return x.shape[axis]

    def to_numpy(self, x: Raw) -> Any:
        return x.detach().cpu().numpy() if isinstance(x, torch.Tensor) else numpy.asarray(x)

    # ---- shape

    def transpose(self, x: Raw, perm: Sequence[int]) -> Raw:
        return torch.permute(x, tuple(perm))

    def reshape(self, x: Raw, shape: Sequence[Size]) -> Raw:
        return torch.reshape(x, ints(shape))

    def expand_dims(self, x: Raw, axis: int) -> Raw:
        return torch.unsqueeze(x, axis)

    def squeeze(self, x: Raw, axis: int) -> Raw:
        return torch.squeeze(x, axis)

    def broadcast_to(self, x: Raw, shape: Sequence[Size]) -> Raw:
        return torch.broadcast_to(x, ints(shape))

    def concat(self, xs: Sequence[Raw], axis: int) -> Raw:
        return torch.cat(tuple(xs), axis)

    def stack(self, xs: Sequence[Raw], axis: int) -> Raw:
        return torch.stack(tuple(xs), axis)

    def split(self, x: Raw, sizes: Sequence[int], axis: int) -> list[Raw]:
        return list(torch.split(x, list(sizes), axis))

    def pad(self, x: Raw, paddings: Sequence[tuple[Size, Size]], *, mode: str = "constant", value: Any = 0) -> Raw:
        return indexing.pad(x, [(int(before), int(behind)) for before, behind in paddings], mode=mode, value=value)

    def slice(self, x: Raw, axis: int, start: Size | None, stop: Size | None, step: int = 1) -> Raw:
        start, stop = (int(i) if isinstance(i, torch.Tensor) else i for i in (start, stop))
        return x[(slice(None),) * axis + (slice(start, stop, step),)]

    def reverse_sequence(self, x: Raw, lens: Raw, *, axis: int, batch_axis: int) -> Raw:
        return reverse_sequence(x, lens, axis=axis, batch_axis=batch_axis)

    def gather(self, x: Raw, indices: Raw, *, axis: int, batch_dims: int = 0) -> Raw:
        return indexing.gather(x, indices, axis=axis, batch_dims=batch_dims)

    def boolean_mask(self, x: Raw, mask: Raw) -> Raw:
        return x[mask.to(x.device)]

    def boolean_scatter(self, x: Raw, mask: Raw) -> Raw:
        res = torch.zeros(mask.shape + x.shape[1:], dtype=x.dtype, device=x.device)
        res[mask.to(x.device)] = x
        return res

    def one_hot(self, x: Raw, depth: int, dtype: str) -> Raw:
        return indexing.one_hot(x, depth, torch_dtype(dtype))

    # ---- making values

    def full(self, shape: Sequence[Size], value: Any, dtype: str) -> Raw:
        if isinstance(value, torch.Tensor):
            return value.to(current_device(), torch_dtype(dtype)).expand(ints(shape))
        return torch.full(ints(shape), value, dtype=torch_dtype(dtype), device=current_device())

    def range(self, size: Size, dtype: str = "int32") -> Raw:
        return torch.arange(int(size), dtype=torch_dtype(dtype), device=current_device())

    def stateless_uniform(self, shape: Sequence[Size], *, seed: int, step: Raw) -> Raw:
        """Other numbers than those of TensorFlow, and others on each kind of device."""
        return random.stateless_uniform(ints(shape), seed=seed, step=int(step))

    def stateless_normal(self, shape: Sequence[Size], *, seed: int, step: Raw) -> Raw:
        return random.stateless_normal(ints(shape), seed=seed, step=int(step))

    def random_from_state(
        self, state: Raw, shape: Sequence[Size], *, distribution: str, dtype: str, low: Any = None, high: Any = None
    ) -> Raw:
        return random.random_from_state(
            state, ints(shape), distribution=distribution, dtype=torch_dtype(dtype), low=low, high=high
        )

    def create_parameter(
        self, name: str, shape: Sequence[int], dtype: str, *, init: rf_init.ParamInit, trainable: bool
    ) -> tuple[Any, Raw]:
        """
        It is variable and value in one. The initial value is that of the numpy backend. (TensorFlow has random
        generators of its own: with them only what is not drawn is the same.)
        """
        _, value = numpy_backend.create_parameter(name, shape, dtype, init=init, trainable=trainable)
        parameter = torch.nn.Parameter(torch.tensor(value, device=current_device()), requires_grad=trainable)
        return parameter, parameter

    def read_parameter(self, var: Any) -> Raw:
        return var.clone()

    def assign(self, var: Any, value: Raw) -> None:
        with torch.no_grad():
            var.copy_(value)

    # ---- element-wise

    def cast(self, x: Raw, dtype: str) -> Raw:
        return x.to(torch_dtype(dtype))

    def unary(self, op: str, x: Raw) -> Raw:
        return UNARY[op](to_tensor(x))

    def binary(self, op: str, a: Raw, b: Raw) -> Raw:
        return BINARY[op](*operands(a, b))

    def compare(self, op: str, a: Raw, b: Raw) -> Raw:
        return COMPARE[op](*operands(a, b))

    def where(self, condition: Raw, a: Raw, b: Raw) -> Raw:
        a, b = operands(a, b)
        condition, a, b = operands(condition, a, b)
        return torch.where(condition, a, b)

    def masked_fill(self, x: Raw, mask: Raw, value: Any) -> Raw:
        return torch.where(mask.to(x.device, non_blocking=True), x, value)

    def clip(self, x: Raw, low: Any, high: Any) -> Raw:
        return x if low is None and high is None else torch.clamp(x, low, high)

    def stop_gradient(self, x: Raw) -> Raw:
        return x.detach()

    def clip_with_identity_gradient(self, x: Raw, low: Any, high: Any) -> Raw:
        return gradient.clip_with_identity_gradient(x, low, high)

    def scaled_gradient(
        self, x: Raw, *, scale: Any, shift: Any, sum_axis: int | None, clip_max_axis: int | None
    ) -> Raw:
        return gradient.scaled_gradient(x, scale=scale, shift=shift, sum_axis=sum_axis, clip_max_axis=clip_max_axis)

    def zero_large_gradient(self, x: Raw, limit: float, *, batch_axis: int | None) -> Raw:
        return gradient.zero_large_gradient(x, limit, batch_axis=batch_axis)

    def synthetic_gradient(self, x: Raw, synthetic: Raw, weight: Raw) -> Raw:
        return gradient.synthetic_gradient(x, synthetic, weight)

    def gradient(self, y: Raw, x: Raw) -> Raw | None:
        return gradient.gradient(y, x)

    def watched(self, x: Raw) -> Raw:
        return x.view_as(x) if x.requires_grad else x.detach().requires_grad_()

    # ---- several elements at a time

    def reduce(self, x: Raw, mode: str, axes: Sequence[int] | None, *, keep_dims: bool = False) -> Raw:
        numbers = tuple(range(x.ndim)) if axes is None else tuple(axes)
        return REDUCE[mode](x, numbers, keep_dims) if numbers else x  # torch takes none as all

    def arg_reduce(self, x: Raw, mode: str, axis: int) -> Raw:
        return (torch.argmax if mode == "argmax" else torch.argmin)(x, axis).int()

    def softmax(self, x: Raw, axis: int, *, log: bool = False) -> Raw:
        return torch.log_softmax(x, axis) if log else torch.softmax(x, axis)

    def normalize(self, x: Raw, axis: int, epsilon: float) -> Raw:
        if axis == x.ndim - 1 and x.is_floating_point():
            return functional.layer_norm(x, x.shape[-1:], eps=epsilon)
        return super().normalize(x, axis, epsilon)

    def einsum(self, equation: str, a: Raw, b: Raw) -> Raw:
        return torch.einsum(equation, a, b)

    def dense(self, x: Raw, w: Raw) -> Raw:
        return torch.matmul(x, w)

    def conv(
        self,
        x: Raw,
        filter: Raw,
        *,
        padding: str | Sequence[tuple[int, int]],
        strides: Sequence[int],
        dilation: Sequence[int],
        groups: int,
    ) -> Raw:
        return conv.conv(x, filter, padding=padding, strides=strides, dilation=dilation, groups=groups)

    def transposed_conv(
        self, x: Raw, filter: Raw, *, strides: Sequence[int], left: Sequence[int], extra: Sequence[int]
    ) -> Raw:
        return conv.transposed_conv(x, filter, strides=strides, left=left, extra=extra)

    def pool(
        self, x: Raw, mode: str, *, size: Sequence[int], strides: Sequence[int], dilation: Sequence[int], same: bool
    ) -> Raw:
        def run(x: Raw) -> Raw:
            return pooling.pool(x, mode, size=size, strides=strides, dilation=dilation, same=same)

        return conv.on_one_batch_axis(run, x, len(size))

    def frames(self, x: Raw, *, axis: int, size: int, stride: int) -> Raw:
        return pooling.frames(x, axis=axis, size=size, stride=stride)

    def fft(self, x: Raw, size: int, *, kind: str) -> Raw:
        return signal.fft(x, size, kind=kind)

    def cumsum(self, x: Raw, axis: int, *, reverse: bool = False) -> Raw:
        if reverse:
            return torch.flip(self.cumsum(torch.flip(x, [axis]), axis), [axis])
        return torch.cumsum(x, axis, dtype=x.dtype)

    def scatter_add(self, x: Raw, indices: Raw, *, batch_dims: int, size: Size) -> Raw:
        batch, rest = x.shape[:batch_dims], x.shape[indices.ndim :]
        rows = torch.arange(math.prod(batch), device=x.device).reshape(batch + (1,) * (indices.ndim - batch_dims))
        res = x.new_zeros((math.prod(batch), int(size), *rest))
        res = res.index_put((rows.expand(indices.shape), indices.to(x.device).long()), x, accumulate=True)
        return res.reshape(*batch, int(size), *rest)

    def top_k(self, x: Raw, k: Size, *, sorted: bool) -> tuple[Raw, Raw]:
        if not sorted:
            values, places = torch.topk(x, int(k), sorted=False)
            return values, places.int()
        k, size = int(k), x.shape[-1]
        values, places = torch.topk(x, min(k + 1, size))  # of equal ones any
        if 0 < k < size and bool((values[..., k - 1] == values[..., k]).any()):  # some of these were left out
            values, places = torch.sort(x, dim=-1, descending=True, stable=True)
            return values[..., :k], places[..., :k].int()
        places, _ = torch.sort(places[..., :k], dim=-1)
        values, order = torch.sort(x.gather(-1, places), dim=-1, descending=True, stable=True)
        return values, places.gather(-1, order).int()

    def search_sorted(self, sorted_seq: Raw, values: Raw, *, right: bool) -> Raw:
        values = values.to(sorted_seq.device).contiguous()
        return torch.searchsorted(sorted_seq.contiguous(), values, right=right, out_int32=True)

    # ---- whole algorithms

    def sparse_softmax_cross_entropy(self, logits: Raw, labels: Raw) -> Raw:
        flat = logits.reshape(-1, logits.shape[-1])
        nothing = torch.iinfo(torch.int64).min  # to ignore: -1 is an error, as on the other backends
        loss = functional.cross_entropy(flat, labels.reshape(-1).long(), reduction="none", ignore_index=nothing)
        return loss.reshape(labels.shape)

    def lstm(
        self, x: Raw, w: Raw | None, w_re: Raw, b: Raw | None, *, sparse: bool = False, **options: Any
    ) -> tuple[Raw, Raw, Raw]:
        if sparse:
            return lstm.lstm(functional.embedding(x, w), w_re, b=b, **options)
        return lstm.lstm(x, w_re, w=w, b=b, **options)

    def rnn(self, x: Raw, **options: Any) -> tuple[Raw, list[Raw]]:
        return rnn.rnn(x, **options)

    def ctc_loss(self, logits: Raw, logit_lens: Raw, labels: Raw, label_lens: Raw, **options: Any) -> Raw:
        return alignment.ctc_loss(logits, logit_lens, labels, label_lens, **options)

    def ctc_full_sum(self, logits: Raw, logit_lens: Raw, labels: Raw, label_lens: Raw, **options: Any) -> Raw:
        return alignment.ctc_full_sum(logits, logit_lens, labels, label_lens, **options)

    def ctc_best_path(self, logits: Raw, logit_lens: Raw, labels: Raw, label_lens: Raw, **options: Any) -> Raw:
        return alignment.ctc_best_path(logits, logit_lens, labels, label_lens, **options)

    def ctc_decode(self, logits: Raw, logit_lens: Raw, *, beam_width: int) -> tuple[Raw, Raw]:
        if beam_width == 1:
            return decoding.ctc_greedy_decode(logits, logit_lens)
        return decoding.ctc_beam_decode(logits, logit_lens, beam_width=beam_width)

    def collapse_repeated(self, labels: Raw, lens: Raw) -> tuple[Raw, Raw]:
        return alignment.collapse_repeated(labels, lens)

    def edit_distance(self, a: Raw, a_lens: Raw, b: Raw, b_lens: Raw) -> Raw:
        return decoding.edit_distance(a, a_lens, b, b_lens)

    def fsa_full_sum(self, scores: Raw, lens: Raw, edges: Raw, weights: Raw, start_end_states: Raw) -> tuple[Raw, Raw]:
        return fsa.full_sum(scores, lens, edges, weights, start_end_states)

    def fsa_best_path(
        self, scores: Raw, lens: Raw, edges: Raw, weights: Raw, start_end_states: Raw, *, mask_label: int
    ) -> tuple[Raw, Raw]:
        return fsa.best_path(scores, lens, edges, weights, start_end_states, mask_label=mask_label)

    def call_numpy(
        self, function: Callable[..., Sequence[Any]], args: Sequence[Raw], results: Sequence[tuple[str, int]]
    ) -> list[Raw]:
        values = function(*[self.to_numpy(x) for x in args])
        return [self.convert(numpy.asarray(y, dtype)) for y, (dtype, _) in zip(values, results, strict=True)]

    # ---- values that live longer than a step

    def kept_value(
        self, name: str, width: int | Sequence[int | None], *, rows: Size, reset: Raw | None
    ) -> tuple[Raw, Callable[[Raw], Any]]:
        """Where it is kept: :attr:`returnn.frontend.run_ctx.RunCtx.kept`."""
        kept = get_run_ctx().kept
        value = kept.get(name)
        if value is None or (reset is not None and bool(reset)):
            sizes = [width] if isinstance(width, int) else [size or 0 for size in width]
            value = torch.zeros(int(rows), *sizes, device=current_device())
        if value.shape[0] != int(rows):
            raise ConfigError(
                "%s: the batch must have as many sequences as that of the step before: %i, not %i"
                % (name, value.shape[0], int(rows))
            )

        def keep(new: Raw) -> None:
            kept[name] = new.detach()

        return value, keep

    def placeholder(self, name: str, shape: Sequence[int | None], dtype: str) -> Raw:
        raise ConfigError(
            "%s: only in a TensorFlow graph a value can be fed by its name. On PyTorch, give it as data" % name
        )

    def named(self, x: Raw, name: str) -> Raw:
        return x

    # ---- users' code, and control

    def function_by_name(self, name: str) -> Callable[..., Raw] | None:
        return find_function(name)

    def user_code_globals(self) -> dict[str, Any]:
        return eval_globals()

    def user_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        return on_torch(function)

    def user_config(self, config: Any) -> Any:
        return config_on_torch(config)

    def cond(self, condition: Raw, true_fn: Callable[[], Raw], false_fn: Callable[[], Raw]) -> Raw:
        return true_fn() if condition else false_fn()

    def frame_loop(
        self, body: Callable[..., Any], *, back_prop: bool = True, **options: Any
    ) -> tuple[Raw, list[Raw], list[Raw]]:
        with contextlib.nullcontext() if back_prop else torch.no_grad():
            return eager_loop.frame_loop(self, body, unstack=_unstack, **options)


def _unstack(x: Raw) -> Sequence[Raw]:
    """:return: frames, whose gradients are stacked once; texts are numpy arrays"""
    return x.unbind(0) if isinstance(x, torch.Tensor) else eager_loop.unstack_array(x)


backend = TorchBackend()
register_backend(torch.Tensor, backend)
