"""The base of all optimizers here, ours and those of users.

One optimizer updates a group of variables. Life cycle, as :class:`returnn.tf.updater.Updater` runs it:
    create_variables(var_list)         once, outside of any control flow
    apply_gradients(grads_and_vars)    makes the ops of one update, maybe inside a conditional
Variables of the optimizer get stable names, which depend on nothing but the parameter and the optimizer: those of a
parameter ("slots") are ``optimize/<parameter>/<optimizer>``, then ``..._1`` and so on in the order of their creation;
scalars are ``optimize/<scalar>``.
"""

from __future__ import annotations

import dataclasses
import numbers
from collections.abc import Sequence
from typing import Any, ClassVar

from returnn.tf.compat import tf, v1
from returnn.tf.updater.gradients import Gradient, parts, to_dense
from returnn.util.errors import UserError

SCOPE = "optimize/"
"""All variables of all optimizers are below it."""

_MAX_SIZE_AS_CONSTANT = 1000


def make_variable(
    name: str,
    *,
    shape: Sequence[int] = (),
    dtype: tf.DType = tf.float32,
    value: float = 0.0,
    like: tf.Variable | None = None,
) -> tf.Variable:
    """
    :param name: exact and complete
    :param shape: of the new variable
    :param dtype: of the new variable
    :param value: initial, of all elements
    :param like: same device and kind (resource or reference variable)
    :return: not trainable
    """
    size = tf.TensorShape(shape).num_elements()
    with tf.init_scope(), v1.name_scope(None), v1.device(like.device if like is not None else ""):
        # As a constant, a large value would stay in memory as long as the session.
        fill = v1.constant if size <= _MAX_SIZE_AS_CONSTANT else lambda v, t, s: tf.fill(s, v1.constant(v, t))
        use_resource = like is None or is_resource(like)
        var = v1.Variable(fill(value, dtype, shape), trainable=False, name=name, use_resource=use_resource)
    assert var.op.name == name, f"there are two variables {name!r} in one graph"
    return var


def is_resource(var: tf.Variable) -> bool:
    """
    :return: whether a resource variable; otherwise it is a reference variable
    """
    return hasattr(var, "handle")


@dataclasses.dataclass(eq=False)
class BaseCustomOptimizer:
    """
    Base class of optimizers. Its fields, and those which a subclass adds as ``dataclass(eq=False, kw_only=True)`` or as
    arguments of its own ``__init__``, are the options that ``optimizer = {"class": ..., ...}`` takes.

    A subclass implements :func:`_apply`. Inside of it there are :func:`get_slot` and :func:`_update_slot` for variables
    beside each parameter (:func:`slot_values`), :func:`_option` for options and scalar variables
    (:func:`scalar_values`), and :func:`_assign`, :func:`_assign_add`, :func:`_assign_sub`, :func:`_gather`.
    With an option ``weight_decay``, each parameter first loses this share of itself, times the learning rate.
    """

    learning_rate: tf.Tensor | tf.Variable | float
    """Scalar."""
    use_locking: bool = False
    """Whether updates of a variable hold its lock."""
    name: str | None = None
    """Part of the names of slots. Default: class name without ``Optimizer``."""

    sparse_as_dense: ClassVar[bool] = False
    """Whether also rows without a gradient move, so that a sparse gradient is the same as a dense one with zeros.
    Otherwise :func:`_apply` gets the touched rows."""

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if field.type in ("float", float) and not isinstance(value, numbers.Real):
                raise UserError(f"optimizer {self._op_name}: {field.name} = {value!r} is not possible, it is a number.")

    @property
    def _op_name(self) -> str:
        return getattr(self, "name", None) or type(self).__name__.removesuffix("Optimizer")

    # What the updater calls

    def create_variables(self, var_list: Sequence[tf.Variable], *, scope: str = "") -> None:
        """
        :param var_list: all that this optimizer will update. More may come in a later call.
        :param scope: below :data:`SCOPE`, of the scalars; empty, or ending in "/"
        """
        if not hasattr(self, "_slots"):
            self._slots: dict[str, dict[str, tf.Variable]] = {}  # parameter -> slot name -> variable
            self._scalars = {
                name: make_variable(f"{SCOPE}{scope}{name}", value=value)
                for name, value in self.scalar_values().items()
            }
        self._create_slots([var for var in var_list if var.op.name not in self._slots])

    def apply_gradients(self, grads_and_vars: Sequence[tuple[Gradient, tf.Variable]]) -> list[tf.Operation]:
        """
        :param grads_and_vars: for each variable its gradient; in sparse ones each row occurs once
        :return: ops of one update
        """
        self._prepare()
        return [op for grad, var in grads_and_vars for op in self._decay_and_apply(grad, var)] + self._finish()

    def get_slot_names(self) -> list[str]:
        """
        :return: sorted
        """
        return sorted({name for slots in self._slots.values() for name in slots})

    def get_slot(self, var: tf.Variable, name: str) -> tf.Variable:
        """
        :param var: parameter
        :param name: of the slot
        :return: that variable
        """
        return self._slots[var.op.name][name]

    def slot_variables(self) -> list[tf.Variable]:
        """
        :return: all slots of all parameters
        """
        return [slot for slots in self._slots.values() for slot in slots.values()]

    def variables(self) -> list[tf.Variable]:
        """
        :return: all that has to be saved to go on exactly
        """
        return self.slot_variables() + list(self._scalars.values())

    # What subclasses define

    def slot_values(self) -> dict[str, float]:
        """
        :return: name -> initial value, of the variables beside each parameter, which have its shape
        """
        return {}

    def scalar_values(self) -> dict[str, float]:
        """
        :return: name -> initial value, of the float32 scalar variables that all parameters share
        """
        return {}

    def _create_slots(self, var_list: Sequence[tf.Variable]) -> None:
        for var in var_list:
            for name, value in self.slot_values().items():
                self._make_slot(var, name, value)

    def _prepare(self) -> None:
        """Called before the ops of an update are made."""
        self._tensors: dict[tuple[str, tf.DType], tf.Tensor] = {}
        self._scalar_reads: dict[str, tf.Tensor] = {}

    def _apply(self, grad: tf.Tensor, var: tf.Variable, indices: tf.Tensor | None = None) -> tf.Operation:
        """
        :param grad: of the shape of ``var``, or [num_indices, ...]
        :param var: to be updated
        :param indices: [num_indices] unique rows of ``var``, if the gradient is sparse
        :return: op that does all of it
        """
        raise NotImplementedError

    def _finish(self) -> list[tf.Operation]:
        """
        :return: ops which update the scalars. Tensors of :func:`_option` stay those of before.
        """
        return []

    # Tools for subclasses

    def _make_slot(
        self, var: tf.Variable, name: str, value: float = 0.0, *, shape: Sequence[int] | None = None
    ) -> tf.Variable:
        slots = self._slots.setdefault(var.op.name, {})
        suffix = f"_{len(slots)}" if slots else ""
        slots[name] = make_variable(
            f"{SCOPE}{var.op.name}/{self._op_name}{suffix}",
            shape=var.shape.as_list() if shape is None else shape,
            dtype=var.dtype.base_dtype,
            value=value,
            like=var,
        )
        return slots[name]

    def _option(self, name: str, var: tf.Variable) -> tf.Tensor:
        """
        :param name: of an attribute, or of a scalar variable
        :param var: gives the dtype
        :return: scalar, value as before this update
        """
        key = (name, var.dtype.base_dtype)
        if key not in self._tensors:
            if name in self._scalars and name not in self._scalar_reads:  # once for all dtypes: _finish changes it
                self._scalar_reads[name] = self._scalars[name].read_value()
            value = self._scalar_reads[name] if name in self._scalars else getattr(self, name)
            is_tensor = isinstance(value, tf.Tensor | tf.Variable)
            self._tensors[key] = tf.cast(value, key[1]) if is_tensor else tf.constant(value, key[1])
        return self._tensors[key]

    def _update_slot(
        self, var: tf.Variable, name: str, value: tf.Tensor, indices: tf.Tensor | None = None
    ) -> tf.Operation:
        return self._assign(self.get_slot(var, name), value, indices)

    def _gather(self, dense: tf.Tensor | tf.Variable, indices: tf.Tensor | None = None) -> tf.Tensor:
        """
        :return: the rows, or all if there are no indices
        """
        return tf.convert_to_tensor(dense) if indices is None else tf.gather(dense, indices)

    def _assign(self, ref: tf.Variable, updates: tf.Tensor, indices: tf.Tensor | None = None) -> tf.Operation:
        return self._change(ref, updates, indices, "assign", "scatter_update")

    def _assign_add(self, ref: tf.Variable, updates: tf.Tensor, indices: tf.Tensor | None = None) -> tf.Operation:
        return self._change(ref, updates, indices, "assign_add", "scatter_add")

    def _assign_sub(self, ref: tf.Variable, updates: tf.Tensor, indices: tf.Tensor | None = None) -> tf.Operation:
        return self._change(ref, updates, indices, "assign_sub", "scatter_sub")

    def _change(
        self, ref: tf.Variable, updates: tf.Tensor, indices: tf.Tensor | None, dense: str, sparse: str
    ) -> tf.Operation:
        if indices is None:
            changed = getattr(ref, dense)(updates, use_locking=self.use_locking, read_value=False)
        else:
            changed = getattr(ref, sparse)(tf.IndexedSlices(updates, indices), use_locking=self.use_locking)
        return changed if isinstance(changed, tf.Operation) else changed.op

    def _fused(
        self, op: str, var: tf.Variable, slots: dict[str, str], *, indices: tf.Tensor | None = None, **inputs: Any
    ) -> tf.Operation:
        """
        :param op: what follows ``Apply`` in the name of a raw op
        :param var: to be updated
        :param slots: argument of the op -> slot name
        :param indices: rows, if sparse
        :param inputs: all other arguments of the op
        """
        kind = "Apply" if indices is None else "SparseApply"
        refs = {"var": var, **{arg: self.get_slot(var, name) for arg, name in slots.items()}}
        if indices is not None:
            inputs["indices"] = indices
        if is_resource(var):
            refs = {arg: ref.handle for arg, ref in refs.items()}
            return getattr(tf.raw_ops, f"Resource{kind}{op}")(**refs, **inputs, use_locking=self.use_locking)
        refs = {arg: ref._ref() for arg, ref in refs.items()}
        return getattr(tf.raw_ops, f"{kind}{op}")(**refs, **inputs, use_locking=self.use_locking).op

    # Inside

    def _decay_and_apply(self, grad: Gradient, var: tf.Variable) -> list[tf.Operation]:
        if not getattr(self, "weight_decay", 0.0):
            return [self._apply_any(grad, var)]
        with tf.control_dependencies(parts(grad)):  # which belong to the undecayed parameter
            rate = self._option("learning_rate", var) * self._option("weight_decay", var)
            decay = self._assign_sub(var, var.read_value() * rate)
        with tf.control_dependencies([decay]):
            return [self._apply_any(grad, var)]

    def _apply_any(self, grad: Gradient, var: tf.Variable) -> tf.Operation:
        if isinstance(grad, tf.IndexedSlices) and not self.sparse_as_dense:
            return self._apply(grad.values, var, grad.indices)
        return self._apply(to_dense(grad, var), var)
