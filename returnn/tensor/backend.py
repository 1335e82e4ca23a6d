"""What a backend has to provide: operations on raw values with integer axes, and nothing about dims.

Dims are worked out once, in :mod:`returnn.frontend`; only below this line an axis is a number. There are the template
backend (dims without values, here), numpy (:mod:`.numpy_backend`), and those that register themselves when their
package is imported (TensorFlow graphs: :mod:`returnn.tf.backend`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from .tensor import Tensor

Raw = Any
"""A value of some backend: numpy array, TensorFlow tensor, ..; None in a template."""
Size = Any
"""Of an axis: int, or a raw int32 scalar."""
REAL_VALUED = ("abs", "angle", "real", "imag")
"""Element-wise functions that make real numbers of complex ones."""


class Backend:
    """Operations on raw values. ``x``, ``a``, ``b`` are raw values, axes are ints >= 0.

    Names of element-wise functions are those of :mod:`returnn.frontend` (``unary("tanh", x)``, ``binary("add", a,
    b)``). Operands of ``binary``, ``compare`` and ``where`` broadcast; leading axes of size 1 may be missing.
    """

    name: str
    priority = 0
    """Where values of several backends meet, the one with the highest priority computes."""

    def _missing(self, op: str) -> NotImplementedError:
        return NotImplementedError("backend %s: no operation %r" % (self.name, op))

    # ---- values in and out

    def convert(self, value: Any, dtype: str | None = None) -> Raw:
        """number, nested list, numpy array or raw value -> raw value"""
        raise self._missing("convert")

    def dtype_name(self, x: Raw) -> str:
        """as numpy names it; "string" for texts"""
        raise self._missing("dtype_name")

    def static_shape(self, x: Raw) -> tuple[int | None, ...]:
        """None: known only at run time"""
        raise self._missing("static_shape")

    def size_of_axis(self, x: Raw, axis: int) -> Size:
        """int where static"""
        raise self._missing("size_of_axis")

    def to_numpy(self, x: Raw) -> Any:
        """the value, of a backend that computes at once"""
        raise self._missing("to_numpy")

    def product(self, sizes: Iterable[Size]) -> Size:
        """of ints and raw scalars"""
        static, dynamic = 1, None
        for size in sizes:
            if isinstance(size, int):
                static *= size
            else:
                dynamic = size if dynamic is None else self.binary("mul", dynamic, size)
        if dynamic is None:
            return static
        return dynamic if static == 1 else self.binary("mul", dynamic, static)

    def reshape_sizes(self, axes: Sequence[Sequence[tuple[Raw, int]]]) -> list[Size]:
        """
        :param axes: for each axis of the result: (raw value, its axis), whose sizes it is the product of
        :return: for :meth:`reshape`; -1 if only one of them is not known statically, which saves asking for it
        """
        static = [[self.static_shape(x)[i] for x, i in group] for group in axes]
        dynamic = [n for n, sizes in enumerate(static) if None in sizes]
        if len(dynamic) == 1 and not any(0 in sizes for sizes in static):
            return [-1 if n in dynamic else math.prod(sizes) for n, sizes in enumerate(static)]
        return [self.product(self.size_of_axis(x, i) for x, i in group) for group in axes]

    # ---- shape

    def transpose(self, x: Raw, perm: Sequence[int]) -> Raw:
        """axis i of the result is axis perm[i] of x"""
        raise self._missing("transpose")

    def reshape(self, x: Raw, shape: Sequence[Size]) -> Raw:
        """row-major"""
        raise self._missing("reshape")

    def expand_dims(self, x: Raw, axis: int) -> Raw:
        """new axis of size 1"""
        raise self._missing("expand_dims")

    def squeeze(self, x: Raw, axis: int) -> Raw:
        """drops an axis of size 1"""
        raise self._missing("squeeze")

    def broadcast_to(self, x: Raw, shape: Sequence[Size]) -> Raw:
        """repeats axes of size 1"""
        raise self._missing("broadcast_to")

    def concat(self, xs: Sequence[Raw], axis: int) -> Raw:
        """one behind the other"""
        raise self._missing("concat")

    def stack(self, xs: Sequence[Raw], axis: int) -> Raw:
        """along a new axis"""
        raise self._missing("stack")

    def split(self, x: Raw, sizes: Sequence[int], axis: int) -> list[Raw]:
        """undoes concat"""
        raise self._missing("split")

    def pad(self, x: Raw, paddings: Sequence[tuple[Size, Size]], *, mode: str = "constant", value: Any = 0) -> Raw:
        """before and behind, for each axis; mode: constant, reflect, symmetric"""
        raise self._missing("pad")

    def slice(self, x: Raw, axis: int, start: Size | None, stop: Size | None, step: int = 1) -> Raw:
        """as Python slices"""
        raise self._missing("slice")

    def reverse_sequence(self, x: Raw, lens: Raw, *, axis: int, batch_axis: int) -> Raw:
        """the first lens[b] entries in reverse order, the rest as it is"""
        raise self._missing("reverse_sequence")

    def gather(self, x: Raw, indices: Raw, *, axis: int, batch_dims: int = 0) -> Raw:
        """the indices' axes (behind the first batch_dims, which both share) replace the axis"""
        raise self._missing("gather")

    def boolean_mask(self, x: Raw, mask: Raw) -> Raw:
        """entries where the mask, which has the leading axes of x, is true: [number of these, other axes of x]"""
        raise self._missing("boolean_mask")

    def boolean_scatter(self, x: Raw, mask: Raw) -> Raw:
        """undoes boolean_mask; zero where the mask is false"""
        raise self._missing("boolean_scatter")

    def one_hot(self, x: Raw, depth: int, dtype: str) -> Raw:
        """new last axis"""
        raise self._missing("one_hot")

    # ---- making values

    def full(self, shape: Sequence[Size], value: Any, dtype: str) -> Raw:
        """all the same"""
        raise self._missing("full")

    def range(self, size: Size, dtype: str = "int32") -> Raw:
        """0, 1, .. size - 1"""
        raise self._missing("range")

    def stateless_uniform(self, shape: Sequence[Size], *, seed: int, step: Raw) -> Raw:
        """float32 in [0, 1), a function of shape, seed (31 bits) and step (int scalar) alone"""
        raise self._missing("stateless_uniform")

    def stateless_normal(self, shape: Sequence[Size], *, seed: int, step: Raw) -> Raw:
        """float32, mean 0, variance 1; a function of shape, seed (31 bits) and step (int scalar) alone"""
        raise self._missing("stateless_normal")

    def create_parameter(
        self, name: str, shape: Sequence[int], dtype: str, *, init: Any, trainable: bool
    ) -> tuple[Any, Raw]:
        """
        :param name: of the variable, as in checkpoints
        :param init: :class:`returnn.frontend.init.ParamInit`
        :return: the variable, and its value
        """
        raise self._missing("create_parameter")

    def assign(self, var: Any, value: Raw) -> None:
        """another value of a parameter, on a backend that computes at once; gradients do not see it"""
        raise self._missing("assign")

    def read_parameter(self, var: Any) -> Raw:
        """value of a parameter at this moment: what is assigned later does not change it"""
        raise self._missing("read_parameter")

    def update_parameter(self, var: Any, value: Raw, *, add: bool) -> Raw:
        """assigns value, or adds it, at this moment; the int32 0, once that is done"""
        self.assign(var, self.binary("add", self.read_parameter(var), value) if add else value)
        return self.convert(0, "int32")

    def identity(self, x: Raw) -> Raw:
        """the same value; in a graph, another operation"""
        return x

    def after(self, raws: Sequence[Raw], function: Callable[[], Raw]) -> Raw:
        """what the function gives; in a graph, its operations run when all of raws are computed"""
        return function()

    # ---- random numbers from a state: int64 [3], of which the first counts what was drawn, 256 a number

    def random_from_state(
        self, state: Raw, shape: Sequence[Size], *, distribution: str, dtype: str, low: Any = None, high: Any = None
    ) -> Raw:
        """a function of the state; uniform in [0, 1), or for integers in [low, high); normal; truncated_normal,
        at two standard deviations"""
        raise self._missing("random_from_state")

    def advance_random_state(self, var: Any, count: Size) -> Raw:
        """counts this many numbers in a parameter that is a state; the state before"""
        state = self.read_parameter(var)
        step = self.convert([1, 0, 0], "int64")
        self.update_parameter(var, self.binary("mul", step, self.cast(self.convert(count * 256), "int64")), add=True)
        return state

    # ---- element-wise

    def cast(self, x: Raw, dtype: str) -> Raw:
        """other dtype"""
        raise self._missing("cast")

    def unary(self, op: str, x: Raw) -> Raw:
        """a function of one argument"""
        raise self._missing(op)

    def binary(self, op: str, a: Raw, b: Raw) -> Raw:
        """a function of two arguments"""
        raise self._missing(op)

    def binary_in_layout(self, op: str, a: Raw, b: Raw, *, missing: Sequence[Sequence[int] | None]) -> Raw:
        """binary, where it is known of each operand along which axes of the result it is repeated; None: a number"""
        return self.binary(op, a, b)

    def compare(self, op: str, a: Raw, b: Raw) -> Raw:
        """equal, not_equal, less, less_equal, greater, greater_equal; bool"""
        raise self._missing(op)

    def where(self, condition: Raw, a: Raw, b: Raw) -> Raw:
        """a where true, else b"""
        raise self._missing("where")

    def masked_fill(self, x: Raw, mask: Raw, value: Any) -> Raw:
        """x where the mask is true, else the number; the mask broadcasts to x"""
        raise self._missing("masked_fill")

    def clip(self, x: Raw, low: Any, high: Any) -> Raw:
        """into [low, high]; None: no bound"""
        raise self._missing("clip")

    def stop_gradient(self, x: Raw) -> Raw:
        """the same value, a constant for gradients"""
        raise self._missing("stop_gradient")

    def clip_with_identity_gradient(self, x: Raw, low: Any, high: Any) -> Raw:
        """clipped value; the gradient is passed as if it were not"""
        raise self._missing("clip_with_identity_gradient")

    def scaled_gradient(
        self, x: Raw, *, scale: Any, shift: Any, sum_axis: int | None, clip_max_axis: int | None
    ) -> Raw:
        """the same value. Gradient g: scale * g + shift, or shift * sum(abs(g)) over an axis; and cut to at most
        max(abs(g)) over an axis. scale, shift: numbers, or raw scalars"""
        raise self._missing("scaled_gradient")

    def safe_log(self, x: Raw, eps: float) -> Raw:
        """log(max(x, eps)), the gradient as if nothing were cut; exact where x is known to be a softmax or the like"""
        return self.unary("log", self.clip_with_identity_gradient(x, eps, None))

    def safe_exp(self, x: Raw, eps: float) -> Raw:
        """exp(x) in [eps, 1 / eps], the gradient as if nothing were cut; exact if it is known that x is a logarithm"""
        bound = -math.log(eps)
        return self.unary("exp", self.clip_with_identity_gradient(x, -bound, bound))

    def zero_large_gradient(self, x: Raw, limit: float, *, batch_axis: int | None) -> Raw:
        """the same value; no gradient to an entry of the batch if one squared component of it reaches the limit"""
        raise self._missing("zero_large_gradient")

    def synthetic_gradient(self, x: Raw, synthetic: Raw, weight: Raw) -> Raw:
        """the value of x; its gradient is ``synthetic``, not the true one g; to that goes weight * (synthetic - g)"""
        raise self._missing("synthetic_gradient")

    def gradient(self, y: Raw, x: Raw) -> Raw | None:
        """of the scalar y, in the shape of x, which was :meth:`watched`; None: y does not depend on x"""
        raise self._missing("gradient")

    def watched(self, x: Raw) -> Raw:
        """the same value, for which gradients may be asked"""
        return x

    # ---- several elements at a time

    def reduce(self, x: Raw, mode: str, axes: Sequence[int] | None, *, keep_dims: bool = False) -> Raw:
        """sum, max, min, mean, prod, any, all, logsumexp; axes None: all"""
        raise self._missing("reduce")

    def arg_reduce(self, x: Raw, mode: str, axis: int) -> Raw:
        """argmax, argmin; int32; the first of equal ones"""
        raise self._missing("arg_reduce")

    def softmax(self, x: Raw, axis: int, *, log: bool = False) -> Raw:
        """softmax or its logarithm"""
        raise self._missing("softmax")

    def normalize(self, x: Raw, axis: int, epsilon: float) -> Raw:
        """(x - mean) / sqrt(variance + epsilon) along the axis"""
        centered = self.binary("sub", x, self.reduce(x, "mean", [axis], keep_dims=True))
        variance = self.reduce(self.unary("square", centered), "mean", [axis], keep_dims=True)
        return self.binary("mul", centered, self.unary("rsqrt", self.binary("add", variance, epsilon)))

    def dropout(
        self, x: Raw, drop_prob: float, *, axes: Sequence[int], seed: int, step: Raw, train_flag: bool | Raw
    ) -> Raw:
        """x times 0, with this probability, or 1 / (1 - drop_prob); the same along all but these axes. Just x if the
        train flag is false. The noise depends on seed and step alone"""

        def drop() -> Raw:
            shape = [self.size_of_axis(x, i) if i in axes else 1 for i in range(len(self.static_shape(x)))]
            noise = self.stateless_uniform(shape, seed=seed, step=step)
            mask = self.unary("floor", self.binary("add", noise, 1.0 - drop_prob))
            return self.binary("mul", x, self.binary("mul", mask, 1.0 / (1.0 - drop_prob)))

        return drop() if train_flag is True else self.cond(train_flag, drop, lambda: x)

    def einsum(self, equation: str, a: Raw, b: Raw) -> Raw:
        """as numpy.einsum"""
        raise self._missing("einsum")

    def dense(self, x: Raw, w: Raw) -> Raw:
        """x [.., in] times w [in, out], as one matrix product"""
        raise self._missing("dense")

    def pool(
        self, x: Raw, mode: str, *, size: Sequence[int], strides: Sequence[int], dilation: Sequence[int], same: bool
    ) -> Raw:
        """x [batch, spatial.., channels]; mode max, avg; padding "same" as TensorFlow has it, else "valid" """
        raise self._missing("pool")

    def frames(self, x: Raw, *, axis: int, size: int, stride: int) -> Raw:
        """windows of ``size`` along the axis, every ``stride``: it becomes two, position and place in the window"""
        raise self._missing("frames")

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
        """x [batch.., spatial.., in], filter [sizes.., in / groups, out], not flipped: [batch.., spatial.., out].
        padding: zeros before and behind, for each spatial axis; or "same" as TensorFlow has it"""
        raise self._missing("conv")

    def transposed_conv(
        self, x: Raw, filter: Raw, *, strides: Sequence[int], left: Sequence[int], extra: Sequence[int]
    ) -> Raw:
        """x [batch.., spatial.., in], filter [sizes.., out, in]: y[t * stride - left + i] += x[t] filter[i], along each
        spatial axis; of n frames it makes n * stride + extra; extra >= 0"""
        raise self._missing("transposed_conv")

    def fft(self, x: Raw, size: int, *, kind: str) -> Raw:
        """Fourier transform of the last axis, cut or filled with zeros to the size: fft, of float32; rfft, the first
        size // 2 + 1 of it; irfft, which undoes that"""
        raise self._missing("fft")

    def cumsum(self, x: Raw, axis: int, *, reverse: bool = False) -> Raw:
        """running sum; reverse: from the end"""
        raise self._missing("cumsum")

    def scatter_add(self, x: Raw, indices: Raw, *, batch_dims: int, size: Size) -> Raw:
        """x [batch.., inner.., rest..], indices [batch.., inner..] below ``size``: [batch.., size, rest..], sums of the
        entries with that index"""
        raise self._missing("scatter_add")

    def top_k(self, x: Raw, k: Size, *, sorted: bool) -> tuple[Raw, Raw]:
        """the k largest along the last axis, and their int32 places; sorted: of equal ones the first"""
        raise self._missing("top_k")

    def search_sorted(self, sorted_seq: Raw, values: Raw, *, right: bool) -> Raw:
        """number of entries of sorted_seq [batch.., n] below each of values [batch.., m], or not above; int32"""
        raise self._missing("search_sorted")

    # ---- whole algorithms

    def sparse_softmax_cross_entropy(self, logits: Raw, labels: Raw) -> Raw:
        """-log softmax(logits)[label] on the last axis; labels without that axis"""
        raise self._missing("sparse_softmax_cross_entropy")

    def lstm(self, x: Raw, w: Raw | None, w_re: Raw, b: Raw | None, **options: Any) -> tuple[Raw, Raw, Raw]:
        """See :func:`returnn.frontend.rec.lstm`; x [time, sequences, in]; returns output and last h, c."""
        raise self._missing("lstm")

    def rnn(self, x: Raw, **options: Any) -> tuple[Raw, list[Raw]]:
        """See :func:`returnn.frontend.rec.rnn`; x [time, sequences, in]; returns output and last states."""
        raise self._missing("rnn")

    def user_rnn_cell(self, cell_class: type, num_units: int, opts: dict[str, Any]) -> Any:
        """a recurrent unit that is a class of the user: what ``rnn`` takes as cell"""
        raise ConfigError(
            "unit %s: units that are classes work on TensorFlow only, not on the backend %r"
            % (cell_class.__name__, self.name)
        )

    # ---- values that live longer than a step

    def kept_value(
        self, name: str, width: int | Sequence[int | None], *, rows: Size, reset: Raw | None
    ) -> tuple[Raw, Callable[[Raw], Any]]:
        """
        :param name: where it is kept, beside the parameters, but never saved
        :param width: of its rows; or all sizes of a row, None: any, which is 0 in the first step
        :param rows: of the value; those of the step before must be as many
        :param reset: bool scalar: start at zero again; None: never
        :return: value of the step before, [rows, width..], zeros in the first one; and how to set it for the next step:
            value -> operation that has to run in each step
        """
        raise self._missing("kept_value")

    def placeholder(self, name: str, shape: Sequence[int | None], dtype: str) -> Raw:
        """a value that the user feeds"""
        raise self._missing("placeholder")

    def named(self, x: Raw, name: str) -> Raw:
        """the same value, which the user finds under this name"""
        raise self._missing("named")

    def ctc_loss(self, logits: Raw, logit_lens: Raw, labels: Raw, label_lens: Raw, **options: Any) -> Raw:
        """logits [time, batch, classes + 1], blank last; labels [batch, label time]; [batch]"""
        raise self._missing("ctc_loss")

    def ctc_full_sum(self, logits: Raw, logit_lens: Raw, labels: Raw, label_lens: Raw, **options: Any) -> Raw:
        """logits [time, batch, classes and blank]; labels [batch, label time]; [batch]"""
        raise self._missing("ctc_full_sum")

    def ctc_best_path(self, logits: Raw, logit_lens: Raw, labels: Raw, label_lens: Raw, **options: Any) -> Raw:
        """as ctc_full_sum"""
        raise self._missing("ctc_best_path")

    def ctc_decode(self, logits: Raw, logit_lens: Raw, *, beam_width: int) -> tuple[Raw, Raw]:
        """best labels [batch, time] and their lengths; beam_width 1: greedy"""
        raise self._missing("ctc_decode")

    def collapse_repeated(self, labels: Raw, lens: Raw) -> tuple[Raw, Raw]:
        """of equal neighbours in labels [batch, time] the first; as long as the longest; and the lengths"""
        raise self._missing("collapse_repeated")

    def edit_distance(self, a: Raw, a_lens: Raw, b: Raw, b_lens: Raw) -> Raw:
        """int32 [batch]; a, b [batch, time]"""
        raise self._missing("edit_distance")

    def fsa_full_sum(self, scores: Raw, lens: Raw, edges: Raw, weights: Raw, start_end_states: Raw) -> tuple[Raw, Raw]:
        """scores +log [time, batch, emissions]; automata as in :mod:`returnn.util.fsa`; posteriors, 0 on padding; log
        sum [batch]. Without a path 0, -inf. No gradient"""
        raise self._missing("fsa_full_sum")

    def fsa_best_path(
        self, scores: Raw, lens: Raw, edges: Raw, weights: Raw, start_end_states: Raw, *, mask_label: int
    ) -> tuple[Raw, Raw]:
        """emissions int32 [time, batch], ``mask_label`` on padding and without a path; score [batch]. No gradient"""
        raise self._missing("fsa_best_path")

    def call_numpy(
        self, function: Callable[..., Sequence[Any]], args: Sequence[Raw], results: Sequence[tuple[str, int]]
    ) -> list[Raw]:
        """Python code on numpy arrays, in each step; gives arrays of these dtypes and numbers of axes. No gradient"""
        raise self._missing("call_numpy")

    # ---- users' code, and control

    def function_by_name(self, name: str) -> Callable[..., Raw] | None:
        """a function of the framework behind this backend, as configs name activations, combine kinds; None: unknown"""
        raise self._missing("function_by_name")

    def user_code_globals(self) -> dict[str, Any]:
        """names that expressions in configs may use"""
        raise self._missing("user_code_globals")

    def user_function(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """a function of the config, which calls functions of TensorFlow, as it runs on this backend"""
        return function

    def user_config(self, config: Any) -> Any:
        """the config, as code in it sees it: its functions as above"""
        return config

    def cond(self, condition: Raw, true_fn: Callable[[], Raw], false_fn: Callable[[], Raw]) -> Raw:
        """only one of the two is computed"""
        raise self._missing("cond")

    def frame_loop(
        self,
        body: Callable[[Raw, list[Raw], list[Raw]], tuple[Sequence[Raw], Sequence[Raw]]],
        *,
        frames: Sequence[Raw],
        state: Sequence[Raw],
        num_frames: Size | None,
        go_on: Callable[[Raw, list[Raw]], Raw] | None = None,
        growing: Sequence[Sequence[int]] = (),
        output_dtypes: Sequence[str] | None = None,
        empty_shapes: Callable[[], Sequence[Sequence[Size]]] | None = None,
        varying: Callable[[], Sequence[Sequence[int]]] | None = None,
        reverse: bool = False,
        back_prop: bool = True,
    ) -> tuple[Raw, list[Raw], list[Raw]]:
        """Run ``state, outputs = body(i, frames[i], state)`` for i = 0, 1, ..

        A graph calls the functions once. A backend that computes at once calls body in each frame, so never if there is
        none. What they use from outside, and state and frames, get gradients.

        :param body: f(i, frame i of each of ``frames``, state) -> state behind the frame, outputs. i: int32 scalar
        :param frames: each [T, ...], with T at least the number of frames run
        :param state: before the first frame. Each keeps its dtype, and its sizes but on the axes in ``growing``
        :param num_frames: int or int32 scalar; None: until ``go_on`` says no
        :param go_on: f(i, state) -> bool scalar, asked before each frame; it and ``num_frames`` must both allow it
        :param growing: for each of ``state`` the axes whose size may change in a frame; (): no state has any
        :param output_dtypes: of the outputs; needed to have no frame on a backend that computes at once
        :param empty_shapes: f() -> for each output its shape, sizes as ints or scalars: what the stacked outputs are if
            no frame was run. Called once at most, outside of the loop, and in a graph when body has been called.
            None: outputs have static shapes, or there is at least one frame
        :param varying: f() -> for each output the axes whose size differs from frame to frame: zeros fill it up to the
            longest frame. Called once at most, outside of the loop, when body has been called. None: there is none
        :param reverse: i = num_frames - 1, num_frames - 2, ..; outputs still stand in the order of i
        :param back_prop: False: no gradient goes into the loop, and it keeps nothing for one
        :return: number of frames that were run, int32 scalar; state behind the last one; outputs [frames run, ...]
        """
        raise self._missing("frame_loop")


class TemplateBackend(Backend):
    """No values: every operation gives None. What is left of a computation are its dims and dtypes."""

    name = "template"
    priority = 1000  # one unknown operand makes the result unknown

    def __getattribute__(self, attr: str) -> Any:
        if attr.startswith("_") or attr in ("name", "priority") or not hasattr(Backend, attr):
            return super().__getattribute__(attr)
        return _no_value


def _no_value(*_args: Any, **_kwargs: Any) -> None:
    return None


template_backend = TemplateBackend()
_backends: dict[type, Backend] = {type(None): template_backend}


def register_backend(raw_type: type, backend: Backend) -> None:
    """
    :param raw_type: values of this class, or one derived from it, belong to the backend
    :param backend: computes with them
    """
    _backends[raw_type] = backend


def backend_of_raw(raw: Raw) -> Backend:
    """
    :return: the backend whose value this is
    :raises TypeError: none knows it
    """
    raw_type = type(raw)
    backend = _backends.get(raw_type)
    if backend is None:
        backend = next((_backends[t] for t in raw_type.__mro__ if t in _backends), None)
        if backend is None:
            raise TypeError("no backend for a value of type %s" % raw_type)
        _backends[raw_type] = backend
    return backend


def backend_of_all(tensors: Iterable[Tensor]) -> Backend:
    """
    :return: the backend that computes with all of these: template if one has no value, else the one of highest priority
    """
    return max((backend_of_raw(t.raw_tensor) for t in tensors), key=lambda b: b.priority)
