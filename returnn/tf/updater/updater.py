"""One training step, from the objective to the new parameters.

    gradients of the objective -> sum over steps -> noise, clipping -> decoupled decay -> optimizer
    -> custom and extra updates -> global_step + 1

Laws: the global step is read once, at the beginning, and increased once, at the end; no variable changes before the
objective and all gradients are computed. So the result does not depend on the order in which ops happen to run.
Elsewhere: the gradient steps in gradients.py, the formulas in optimizers.py, names and options in registry.py.
"""

from __future__ import annotations

import dataclasses
import hashlib
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from returnn.config import Config
from returnn.log import log
from returnn.tf.compat import tf, v1
from returnn.tf.updater.base import SCOPE, BaseCustomOptimizer, make_variable
from returnn.tf.updater.custom_update import get_custom_update
from returnn.tf.updater.gradients import (
    Gradient,
    GradientOptions,
    GradientProcessor,
    deduplicate,
    global_norm,
    make_noise_seeds,
    parts,
    to_dense,
)
from returnn.tf.updater.learning_rate import apply_dynamic_learning_rate
from returnn.tf.updater.registry import create_optimizer, default_optimizer_options, get_optimizer_class
from returnn.tf.updater.v1_optimizer import V1Optimizer
from returnn.util.errors import UserError
from returnn.util.suggest import did_you_mean


@dataclasses.dataclass(frozen=True)
class _ParamOptions:
    """What ``updater_opts`` of a layer, and the config, say for one parameter."""

    gradient: GradientOptions
    optimizer: Mapping[str, Any] | None = None  # with "class"; None: the default one
    tags: frozenset[str] = frozenset()
    l2: float = 0.0  # only if decoupled

    @property
    def group_key(self) -> tuple[str, int]:
        """Parameters of equal keys share an optimizer. One of its own for each accumulation: it counts its updates."""
        key = ""
        if self.optimizer is not None:
            name = get_optimizer_class(self.optimizer["class"]).__name__
            key = repr({"class": name, **{k: v for k, v in sorted(self.optimizer.items()) if k != "class"}})
        return key, self.gradient.accum_grad_multiple_step


@dataclasses.dataclass
class _Item:
    """One parameter in one step."""

    var: tf.Variable
    opts: _ParamOptions
    grad: Gradient


class Updater:
    """Updates the parameters of a network. All ops and variables are in the graph of its construction."""

    def __init__(self, config: Config, network: Any, initial_learning_rate: float = 1.0):
        """
        :param config: options of optimizer and gradients
        :param network: gives the objective, the global step, and ``updater_opts`` and ``L2`` of the layers
        :param initial_learning_rate: of the first epoch; the reference of ``decouple_constraints``
        :raises UserError: an option has an impossible value
        """
        self._graph = v1.get_default_graph()
        self.config = config
        self.network = network
        self.initial_learning_rate = initial_learning_rate
        self.learning_rate = initial_learning_rate
        """Of the current epoch."""
        self.effective_learning_rate: tf.Tensor
        """Scalar, of the current step."""
        self.learning_rate_var = make_variable("learning_rate", value=initial_learning_rate)
        with v1.name_scope("updater/"):
            self.effective_learning_rate = apply_dynamic_learning_rate(
                config.typed_value("dynamic_learning_rate"),
                learning_rate=self.learning_rate_var.read_value(),
                global_train_step=network.global_train_step,
                network=network,
            )
        if config.float("maximize_grad_norm", 0.0):
            raise UserError("maximize_grad_norm is not supported. Remove it from the config, or set it to 0.")
        self._default_gradient_options = GradientOptions.from_config(config)
        self._default_optimizer_options, self._default_optimizer_log_line = default_optimizer_options(config)
        self._optimizers: dict[tuple[str, int], BaseCustomOptimizer | V1Optimizer] = {}
        self._accumulators: dict[str, tf.Variable] = {}
        self._trainable_vars: list[tf.Variable] = []
        self._optim_op: tf.Operation | None = None
        self._grad_norm: tf.Tensor | None = None

    def set_trainable_vars(self, trainable_vars: Sequence[tf.Variable]) -> None:
        """
        :param trainable_vars: to be updated from now on. State of the optimizer stays, where they were before.
        """
        trainable_vars = sorted(trainable_vars, key=lambda var: var.op.name)
        if [var.op.name for var in trainable_vars] != [var.op.name for var in self._trainable_vars]:
            self._trainable_vars = trainable_vars
            self._optim_op = None

    def set_learning_rate(self, value: float, session: v1.Session) -> None:
        """
        :param value: from now on
        :param session: has the variable; it need not be initialized
        """
        self.learning_rate = value
        initializer = self.learning_rate_var.initializer
        session.run(initializer, {initializer.inputs[1]: value})

    def get_optim_op(self) -> tf.Operation:
        """
        :return: op of one step: updates all, and increases the global step by one
        :raises UserError: there is nothing to train, or an option is wrong
        """
        if self._optim_op is None:
            with self._graph.as_default(), v1.name_scope("updater/"):
                self._optim_op = self._make_optim_op()
        return self._optim_op

    def get_optimizer_vars(self) -> list[tf.Variable]:
        """
        :return: all variables which, beside those of the network, a later step depends on; in the order of their names,
            which are the same whenever the network is. Not the learning rate, which each epoch sets.
        """
        self.get_optim_op()
        with self._graph.as_default():  # those of TensorFlow 1 show only the variables of the default graph
            variables = [var for optimizer in self._optimizers.values() for var in optimizer.variables()]
        return sorted(variables + list(self._accumulators.values()), key=lambda var: var.op.name)

    def init_optimizer_vars(self, session: v1.Session) -> None:
        """
        Sets all variables of the updater to their initial values; the learning rate to that of the current epoch.

        :param session: of this graph
        """
        variables = self.get_optimizer_vars()
        slots: set[str] = set()
        for (key, _), optimizer in self._optimizers.items():
            names = sorted(optimizer.get_slot_names())
            print("Initialize optimizer (%s) with slots %s." % (key or "default", names), file=log.v3)
            slots.update(slot.op.name for slot in optimizer.slot_variables())
        additional = [var for var in variables if var.op.name not in slots]
        if additional:
            print("These additional variable were created by the optimizer: %s." % additional, file=log.v3)
        session.run([var.initializer for var in variables])
        self.set_learning_rate(self.learning_rate, session)

    def get_extra_fetches(self) -> dict[str, tf.Tensor]:
        """
        :return: name -> scalar, values of a step to be shown: ``grad_norm:p2`` with ``log_grad_norm``
        """
        self.get_optim_op()
        return {"grad_norm:p2": self._grad_norm} if self._grad_norm is not None else {}

    # Building the step

    def _make_optim_op(self) -> tf.Operation:
        step = self.network.global_train_step
        loss = self._get_objective()
        items = self._make_items(loss)
        custom = [(var, update) for var in self._trainable_vars if (update := get_custom_update(var)) is not None]
        if not items and not custom:
            raise UserError(
                "no single variable to train: the loss depends on none of the trainable parameters"
                f" {[var.op.name for var in self._trainable_vars]}. Check `trainable` of the layers,"
                " and that the layers with a loss depend on them."
            )
        norm_of_tag = self._make_norm_of_tag(items)
        if self.config.bool_or_other("log_grad_norm", False):
            self._grad_norm = norm_of_tag(None)
        computed = tf.group(loss, *[part for item in items for part in parts(item.grad)])
        raw_grads = {item.var.op.name: item.grad for item in items}
        updates: list[tf.Operation] = []
        with tf.control_dependencies([computed]):
            for group_items in self._grouped(items):
                updates += self._update_group(group_items, step=step, norm_of_tag=norm_of_tag)
            updates += [update.update_var(var) for var, update in custom]
        updates += self._extra_updates(updates, raw_grads)
        with tf.control_dependencies([*updates, step]):
            return self.network.global_train_step_var.assign_add(1, read_value=False)

    def _get_objective(self) -> tf.Tensor:
        loss = self.network.get_objective()
        if not isinstance(loss, tf.Tensor):
            raise UserError(
                'no loss defined? No layer of the network has a loss. Add one, e.g. "loss": "ce" to the output layer.'
            )
        return loss

    def _make_items(self, loss: tf.Tensor) -> list[_Item]:
        by_gradient = [var for var in self._trainable_vars if get_custom_update(var) is None]
        grads = v1.gradients(loss, by_gradient) if by_gradient else []
        opts = self._make_param_options()
        without = [var.op.name for var, grad in zip(by_gradient, grads, strict=True) if grad is None]
        if without:
            print("Parameters without gradient, which stay as they are: %s" % ", ".join(without), file=log.v4)
        return [
            _Item(var, opts.get(var.op.name, _ParamOptions(self._default_gradient_options)), grad)
            for var, grad in zip(by_gradient, grads, strict=True)
            if grad is not None
        ]

    def _make_param_options(self) -> dict[str, _ParamOptions]:
        """
        :return: parameter name -> options, of all layers
        """
        decoupled = self.config.bool("decouple_constraints", False)
        result: dict[str, _ParamOptions] = {}
        for layer in self.network.layers.values():
            opts = self._layer_options(layer)
            if decoupled:
                opts = dataclasses.replace(opts, l2=layer.L2 or 0.0)
            for param in layer.params.values():
                result.setdefault(param.op.name, opts)
        return result

    def _layer_options(self, layer: Any) -> _ParamOptions:
        opts = dict(layer.updater_opts or {})
        where = f"layer {layer.get_absolute_name()!r}, updater_opts"
        names = GradientOptions.names()
        gradient = {name: opts.pop(name) for name in names if name in opts}
        optimizer = opts.pop("optimizer", None)
        tags = opts.pop("tags", ())
        if opts:
            near = "".join(did_you_mean(key, [*names, "optimizer", "tags"]) for key in sorted(opts))
            raise UserError(
                f"{where}: The keys {set(opts)} were not read in the collection {layer.updater_opts}.{near}"
            )
        if optimizer is not None and "class" not in optimizer:
            optimizer = {"class": self._default_optimizer_options["class"], **optimizer}
        return _ParamOptions(
            gradient=self._default_gradient_options.override(gradient, where=where),
            optimizer=optimizer,
            tags=frozenset([tags] if isinstance(tags, str) else tags),
        )

    def _make_norm_of_tag(self, items: Sequence[_Item]) -> Callable[[str | None], tf.Tensor]:
        """
        :return: tag or None -> norm of the raw gradients. All that may be asked for is made here, outside conditionals.
        """
        tags = set()
        for item in items:
            opts = item.opts.gradient
            if opts.grad_norm_to_clip_to_zero:
                tags.add(opts.global_norm_tag)
            if opts.gradient_clip_global_norm:
                tags.add(opts.gradient_clip_global_norm_tag or opts.global_norm_tag)
        if self.config.bool_or_other("log_grad_norm", False):
            tags.add(None)
        norms = {}
        for tag in tags:
            grads = [item.grad for item in items if tag is None or tag in item.opts.tags]
            if not grads:
                known = sorted({tag for item in items for tag in item.opts.tags})
                raise UserError(f"No parameter has the tag {tag!r} of the global norm. Tags of updater_opts: {known}")
            norms[tag] = global_norm(grads)
        return norms.__getitem__

    @staticmethod
    def _grouped(items: Sequence[_Item]) -> Iterator[list[_Item]]:
        groups: dict[tuple[str, int], list[_Item]] = {}
        for item in items:
            groups.setdefault(item.opts.group_key, []).append(item)
        yield from groups.values()

    def _update_group(
        self, items: list[_Item], *, step: tf.Tensor, norm_of_tag: Callable[[str | None], tf.Tensor]
    ) -> list[tf.Operation]:
        """
        :param items: which share one optimizer
        :return: ops of the update
        """
        optimizer = self._get_optimizer(items)

        def apply() -> list[tf.Operation]:
            return self._process_and_apply(optimizer, items, step=step, norm_of_tag=norm_of_tag)

        num_steps = items[0].opts.gradient.accum_grad_multiple_step
        if num_steps <= 1:
            return apply()
        stored = self._accumulate(items, step_in_window=tf.math.floormod(step, num_steps))
        is_last = tf.equal(tf.math.floormod(step, num_steps), num_steps - 1)
        return [*stored, v1.cond(is_last, lambda: tf.group(*apply()), tf.no_op)]

    def _accumulate(self, items: list[_Item], *, step_in_window: tf.Tensor) -> list[tf.Operation]:
        """
        Replaces the gradients by their sums over the window so far.

        :param step_in_window: int64 scalar, from 0
        :return: ops that store the sums
        """
        stored = []
        is_first = tf.equal(step_in_window, 0)
        for item in items:
            name = f"{SCOPE}{item.var.op.name}/accum_grad"
            if name not in self._accumulators:
                self._accumulators[name] = make_variable(
                    name, shape=item.var.shape.as_list(), dtype=item.var.dtype.base_dtype, like=item.var
                )
            old_sum = self._accumulators[name]
            grad = to_dense(item.grad, item.var)
            item.grad = tf.where(is_first, grad, old_sum.read_value() + grad)
            stored.append(old_sum.assign(item.grad, read_value=False))
        return stored

    def _process_and_apply(
        self,
        optimizer: BaseCustomOptimizer | V1Optimizer,
        items: Sequence[_Item],
        *,
        step: tf.Tensor,
        norm_of_tag: Callable[[str | None], tf.Tensor],
    ) -> list[tf.Operation]:
        process = GradientProcessor(
            norm_of_tag=norm_of_tag,
            noise_seeds=make_noise_seeds(
                [item.var.op.name for item in items if item.opts.gradient.gradient_noise],
                random_seed=self.config.int("random_seed", 0) or 0,
                step=step,
            ),
        )
        grads = [(process(deduplicate(item.grad), item.var, item.opts.gradient), item.var) for item in items]
        decays = self._decoupled_decays(items)
        with tf.control_dependencies(decays):
            return [*decays, *optimizer.apply_gradients(grads)]

    def _decoupled_decays(self, items: Sequence[_Item]) -> list[tf.Operation]:
        items = [item for item in items if item.opts.l2]
        if not items:
            return []
        factor = self.config.float("decouple_constraints_factor", 0.025)
        if not self.initial_learning_rate > 0:
            raise UserError(f"decouple_constraints needs learning_rate > 0, not {self.initial_learning_rate!r}.")
        rate = self.effective_learning_rate * (2.0 * factor / self.initial_learning_rate)
        return [
            item.var.assign_sub(
                item.var.read_value() * tf.cast(rate * item.opts.l2, item.var.dtype.base_dtype), read_value=False
            )
            for item in items
        ]

    def _get_optimizer(self, items: Sequence[_Item]) -> BaseCustomOptimizer | V1Optimizer:
        key, opts = items[0].opts.group_key, items[0].opts.optimizer
        is_default = opts is None and key[1] == self._default_gradient_options.accum_grad_multiple_step
        if key not in self._optimizers:
            self._optimizers[key] = self._create_optimizer(opts)
        scope = "" if is_default else "%s/" % hashlib.sha256(repr(key).encode()).hexdigest()[:8]
        self._optimizers[key].create_variables([item.var for item in items], scope=scope)
        return self._optimizers[key]

    def _create_optimizer(self, opts: Mapping[str, Any] | None) -> BaseCustomOptimizer | V1Optimizer:
        log_line = None
        if opts is None:
            opts, log_line = self._default_optimizer_options, self._default_optimizer_log_line
        return create_optimizer(opts, learning_rate=self.effective_learning_rate, config=self.config, log_line=log_line)

    def _extra_updates(self, updates: list[tf.Operation], grads: Mapping[str, Gradient]) -> list[tf.Operation]:
        """
        :param updates: run before
        :param grads: parameter name -> raw gradient of this step
        :return: ops of ``extra_updates``: parameter name -> function
        """
        by_name = {var.op.name: var for var in self._trainable_vars}
        result = []
        for name, function in sorted((self.config.typed_value("extra_updates") or {}).items()):
            if name not in by_name:
                raise UserError(
                    f"extra_updates: there is no trainable parameter {name!r}.{did_you_mean(name, by_name)}"
                )
            available = {
                **{"var": by_name[name], "network": self.network},
                **{"update_ops": updates, "grad": grads.get(name)},
            }
            args = list(inspect.signature(function).parameters)
            for arg in args:
                if arg not in available:
                    raise UserError(f"extra_updates[{name!r}]: argument {arg!r} is none of {', '.join(available)}.")
            with tf.control_dependencies(updates):
                result.append(function(**{arg: available[arg] for arg in args}))
        return [op for op in result if op is not None]
