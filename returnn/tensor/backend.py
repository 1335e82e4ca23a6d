"""What a backend has to provide: operations on raw values with integer axes, and nothing about dims.

Dims are worked out once, in :mod:`returnn.frontend`; only below this line an axis is a number. There are the template
backend (dims without values, here), numpy (:mod:`.numpy_backend`), and those that register themselves when their
package is imported (TensorFlow graphs: :mod:`returnn.tf.backend`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .tensor import Tensor

Raw = Any
"""A value of some backend: numpy array, TensorFlow tensor, ..; None in a template."""
Size = Any
"""Of an axis: int, or a raw int32 scalar."""


class Backend:
    """Operations on raw values. ``x``, ``a``, ``b`` are raw values, axes are ints >= 0.

    Names of element-wise functions are those of :mod:`returnn.frontend` (``unary("tanh", x)``, ``binary("add", a,
    b)``). Operands of ``binary``, ``compare`` and ``where`` have the same rank, or are scalars, and broadcast.
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

    def compare(self, op: str, a: Raw, b: Raw) -> Raw:
        """equal, not_equal, less, less_equal, greater, greater_equal; bool"""
        raise self._missing(op)

    def where(self, condition: Raw, a: Raw, b: Raw) -> Raw:
        """a where true, else b"""
        raise self._missing("where")

    def clip(self, x: Raw, low: Any, high: Any) -> Raw:
        """into [low, high]; None: no bound"""
        raise self._missing("clip")

    def stop_gradient(self, x: Raw) -> Raw:
        """the same value, a constant for gradients"""
        raise self._missing("stop_gradient")

    def clip_with_identity_gradient(self, x: Raw, low: Any, high: Any) -> Raw:
        """clipped value; the gradient is passed as if it were not"""
        raise self._missing("clip_with_identity_gradient")

    def zero_large_gradient(self, x: Raw, limit: float, *, batch_axis: int | None) -> Raw:
        """the same value; no gradient to an entry of the batch if one squared component of it reaches the limit"""
        raise self._missing("zero_large_gradient")

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

    # ---- values that live longer than a step

    def kept_value(self, name: str, width: int, *, rows: Size, reset: Raw | None) -> tuple[Raw, Callable[[Raw], Any]]:
        """
        :param name: where it is kept, beside the parameters, but never saved
        :param rows: of the value; those of the step before must be as many
        :param reset: bool scalar: start at zero again; None: never
        :return: value of the step before, [rows, width], zeros in the first one; and how to set it for the next step:
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

    # ---- users' code, and control

    def function_by_name(self, name: str) -> Callable[..., Raw] | None:
        """a function of the framework behind this backend, as configs name activations, combine kinds; None: unknown"""
        raise self._missing("function_by_name")

    def user_code_globals(self) -> dict[str, Any]:
        """names that expressions in configs may use"""
        raise self._missing("user_code_globals")

    def cond(self, condition: Raw, true_fn: Callable[[], Raw], false_fn: Callable[[], Raw]) -> Raw:
        """only one of the two is computed"""
        raise self._missing("cond")


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
