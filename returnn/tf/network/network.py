"""TFNetwork: a layer dict as a TensorFlow graph, computed once, at construction."""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from returnn.config import Config
from returnn.engine.checkpoint_files import strip_checkpoint_suffix
from returnn.frontend.init import Computed, ParamInit
from returnn.layers.base import LayerBase
from returnn.layers.param_noise import has_noise, with_noise
from returnn.layers.reuse_params import ReuseParams, WantedParam
from returnn.network import Network
from returnn.network.objective import is_zero
from returnn.network.scopes import op_scope
from returnn.network.step import InnerSteps
from returnn.tensor import Dim, Tensor
from returnn.tf.backend import backend
from returnn.tf.checkpoint import checkpoint_exists
from returnn.tf.compat import tf, v1
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .checkpoint_loader import CustomCheckpointLoader
from .extern_data import ExternData
from .param_values import ParamValues
from .post_init import run_custom_post_inits


class TFNetwork(Network, ParamValues):
    """See :class:`Network`. Parameters are variables of the current graph, named as in checkpoints."""

    backend = backend
    computes_at_construction = True

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        outside = self.outer_net
        if isinstance(outside, TFNetwork):
            self.global_train_step_var = outside.global_train_step_var
            self.global_train_step = outside.global_train_step
            self._post_control_dependencies = outside._post_control_dependencies
            self._loads_on_init = outside._loads_on_init
            self._image_summaries = outside._image_summaries
        else:
            self._epoch_step: Any = None
            self._step_for_noise: Any = None
            self.global_train_step_var = _global_step_var()
            # read once, before the updater counts on
            self.global_train_step = self.global_train_step_var.read_value()
            self._post_control_dependencies: list[Any] = []
            self._image_summaries: list[Any] = []
            self._random_state_var: Any = None
            self._loads_on_init: list[Callable[[Any], None]] = []
        self._fetches: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.loaded_params = set()

    def _extern_data_from_config(self) -> ExternData:
        extern_data = ExternData()
        extern_data.init_from_config(self._config, auto_create_placeholders=True)
        return extern_data

    def ops_of_layer(self, name: str) -> contextlib.AbstractContextManager[Any]:
        return v1.name_scope(op_scope(self.name_prefix + name) + "/")

    def step_for_noise(self) -> Any:
        root = self.get_root_network()
        if root.train_flag is True:
            return root.global_train_step
        if root._step_for_noise is None:
            with tf.init_scope(), v1.name_scope("step_for_noise/"):
                step = root.global_train_step + tf.cast(root.get_epoch_step(), root.global_train_step.dtype)
                flag = root.train_flag
                root._step_for_noise = step if flag is False else tf.where(flag, root.global_train_step, step)
        return root._step_for_noise

    def get_global_train_step(self) -> Any:
        return self.global_train_step

    def value_at_start(self, layer: LayerBase) -> ParamInit:
        return Computed(layer.output.raw_tensor)

    def make_seq_info(self, key: str) -> None:
        super().make_seq_info(key)
        self.extern_data.create_placeholder(key, self.extern_data.data[key])

    def get_data_batch_dim(self) -> Any:
        root_data = self.get_root_network().extern_data
        placeholder = getattr(root_data, "batch_dim_placeholder", None)
        return super().get_data_batch_dim() if placeholder is None else placeholder

    def get_epoch_step(self) -> Any:
        """
        :return: int64 scalar placeholder: step within the epoch; 0 where nothing is fed
        """
        root = self.get_root_network()
        if root._epoch_step is None:
            with tf.init_scope(), v1.name_scope(None):
                root._epoch_step = v1.placeholder_with_default(tf.constant(0, tf.int64), (), name="epoch_step")
        return root._epoch_step

    # ---- users' layers

    @contextlib.contextmanager
    def var_creation_scope(self, layer: LayerBase) -> Iterator[None]:
        prefix = layer.get_absolute_name_scope_prefix()

        def get_variable(getter: Callable[..., Any], name: str, *args: Any, **kwargs: Any) -> Any:
            def create(full_name: str) -> tuple[Any, Any]:
                with tf.init_scope():  # out of any loop; other operations of the user stay inside
                    var = getter(full_name, *args, **kwargs)
                return var, var

            if not isinstance(layer.reuse_params, ReuseParams):
                return create(name)[0]
            key = name[len(prefix) :]
            dims = [Dim(n, name=name) for n in tf.TensorShape(kwargs.get("shape"))]
            wanted = WantedParam(
                layer, key, name, tuple(dims), tf.as_dtype(kwargs.get("dtype") or "float32").name, create
            )
            var, raw = layer.reuse_params.get(wanted)
            return raw if var is None else var

        with v1.variable_scope(
            layer.scope or v1.get_variable_scope(),
            custom_getter=get_variable,
            reuse=v1.AUTO_REUSE,
            auxiliary_name_scope=False,
        ):
            yield

    def add_param_of_layer(
        self,
        layer: LayerBase,
        param: Any,
        *,
        trainable: bool | None,
        saveable: bool,
        axes_split_info: list[list[int]] | None,
        critical: bool,
    ) -> Any:
        if not isinstance(param, tf.Variable):  # from reuse_params
            return param
        name = param.name.rsplit(":", 1)[0]
        prefix = layer.get_absolute_name_scope_prefix()
        is_own = name.startswith(prefix)
        store = self.param_store
        if name not in store:
            if not is_own:
                raise ConfigError(
                    "add_param: the variable %r is not in the scope %r of the layer: make it within"
                    " self.var_creation_scope()" % (name, layer.scope)
                )
            trainable = getattr(param, "trainable", True) if trainable is None else trainable
            store.add(
                name,
                param,
                param.value(),
                param.shape.as_list(),
                param.dtype.base_dtype.name,
                trainable=trainable and layer.trainable and self.enclosing_trainable(),
                saveable=saveable,
            )
        param.RETURNN_non_critical_for_restore = not critical
        key = name[len(prefix) :] if is_own else name
        if is_own:
            layer.own_param(key, param, trainable=trainable, axes_split_info=axes_split_info)
        return with_noise(layer, key, self.param_tensor(param)).raw_tensor if has_noise(layer) else param

    def create_param(
        self, name: str, shape: Sequence[int], dtype: str, *, init: Any, trainable: bool, device: str | None = None
    ) -> tuple[Any, Any]:
        with _device(device):
            return super().create_param(name, shape, dtype, init=init, trainable=trainable)

    def use_random_state(self) -> None:
        self.get_root_network()._random_state_var = _random_state_var(self.seed_for_noise())

    # ---- checks

    def finish_layer(self, layer: LayerBase) -> None:
        output = layer.output
        if layer.control_dependencies_on_output is not None:
            ops = layer.control_dependencies_on_output(layer)
            with tf.control_dependencies(list(ops) if isinstance(ops, (list, tuple)) else [ops]):
                output.raw_tensor = tf.identity(output.raw_tensor)
        super().finish_layer(layer)

    def check_numerics(self, raw: Any, what: str) -> Any:
        if not self._config.bool("debug_add_check_numerics_on_output", False):
            return raw
        return tf.debugging.check_numerics(raw, what)

    def check_same_lens(self, x: Tensor, dims: Sequence[tuple[Dim, Dim]], what: str) -> Tensor:
        checks = []
        for a, b in dims:
            if a.dyn_size is not None and b.dyn_size is not None and a.dyn_size is not b.dyn_size:
                checks.append(v1.assert_equal(a.dyn_size, b.dyn_size, message=what, summarize=100))
        if not checks:
            return x
        with tf.control_dependencies(checks):
            return x.like(tf.identity(x.raw_tensor))

    def observe(self, function: Callable[..., None], raws: Sequence[Any], value: Any) -> Any:
        def call(*arrays: Any) -> Any:
            function(*arrays)
            return numpy.zeros((), "bool")

        with tf.control_dependencies([tf.numpy_function(call, list(raws), tf.bool)]):
            return tf.identity(value)

    # ---- operations of each step

    def draw_images(self, name: str, images: Any, *, max_outputs: int) -> None:
        with v1.name_scope(None):
            self._image_summaries.append(v1.summary.image(name, images, max_outputs=max_outputs, collections=[]))

    def register_update(self, var: Any, raw_value: Any, *, only_in_training: bool) -> None:
        flag = self.train_flag
        if not self.has_values or (only_in_training and flag is False):
            return
        if only_in_training and flag is not True:
            value = tf.where(flag, raw_value, var.read_value())
        else:
            value = raw_value
        with tf.control_dependencies([value]):
            self.register_post_control_dependencies([var.assign(value)])

    def register_post_control_dependencies(self, ops: list[Any]) -> None:
        """
        :param ops: run in each step
        """
        if isinstance(self._steps, InnerSteps):  # from outside, one cannot run what is within a conditional
            self._steps.add_ops(ops)
            return
        for op in ops:
            v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, op)
        self._post_control_dependencies.extend(ops)

    def get_post_control_dependencies(self) -> list[Any]:
        """
        :return: ops to run in each step
        """
        return list(self._post_control_dependencies)

    def get_saveable_params_list(self) -> list[Any]:
        """
        :return: what a checkpoint holds: parameters, ``global_step``, and, if parameters get noise, a random state
        """
        random_state = self.get_root_network()._random_state_var
        variables = [*self.param_store.variables(saveable=True), self.global_train_step_var]
        return variables if random_state is None else [*variables, random_state]

    def initialize_params(self, session: Any) -> None:
        """
        :param session: its graph has the parameters
        """
        variables = {var.op.name: var for var in [*self.get_params_list(), *self.get_saveable_params_list()]}
        session.run([var.initializer for var in variables.values()])
        for load in self._loads_on_init:
            load(session)
        run_custom_post_inits(self.get_params_list(), session)

    def load_params_on_init(self, layer: LayerBase, opts: dict[str, Any]) -> None:
        known = inspect.signature(CustomCheckpointLoader).parameters
        unknown = sorted(key for key in opts if key not in known)
        if unknown or "filename" not in opts:
            text = (
                "option %r is unknown.%s" % (unknown[0], did_you_mean(unknown[0], known)) if unknown else "no filename."
            )
            raise ConfigError("load_on_init: %s Options: %s" % (text, ", ".join(known)))
        filename = strip_checkpoint_suffix(opts["filename"])
        if not checkpoint_exists(filename):
            raise ConfigError("load_on_init: there is no checkpoint %r" % filename)

        def load(session: Any) -> None:  # later, as further layers inside may be built yet
            params = list(layer.params.values())
            loader_opts = {"params_prefix": layer.scope + "/", "saveable_params": params, **opts}
            CustomCheckpointLoader(**loader_opts).load_now(session)

        self._loads_on_init.append(load)

    def get_fetches_dict(
        self,
        config: Config | None = None,
        should_train: bool | None = None,
        should_eval: bool | None = None,
        with_summary: bool = False,
        with_size: bool = False,
    ) -> dict[str, Any]:
        """
        :param config: of the network by default
        :param should_train: whether this is for a training step; by default if the train flag is not False
        :param should_eval: fetch losses; by default as the network has it
        :param with_summary: also ``summary``: name -> value to draw, beside the others; and ``image_summaries``, if
            there are any: serialised
        :param with_size: lengths of all used data keys, as ``size:KEY:AXIS``
        :return: ``loss`` (objective), ``cost:NAME`` (sum, not scaled), ``error:NAME``, ``loss_norm_factor:NAME``, ..
        """
        should_train = self.train_flag is not False if should_train is None else should_train
        should_eval = self.eval_flag if should_eval is None else should_eval
        key = (should_train, should_eval, with_size, with_summary)
        if key not in self._fetches:
            with self.run_ctx():
                self._fetches[key] = self._make_fetches(should_train, should_eval, with_size)
                if with_summary and (should_train or should_eval):
                    self._fetches[key]["summary"] = self._make_summary(should_train)
                    if self._image_summaries:
                        self._fetches[key]["image_summaries"] = self._image_summaries
        return dict(self._fetches[key])

    def _make_fetches(self, should_train: bool, should_eval: bool, with_size: bool) -> dict[str, Any]:
        fetches: dict[str, Any] = {}
        if with_size:
            for key in sorted(self.get_used_data_keys()):
                for axis, size in self.extern_data.data[key].size_placeholder.items():
                    fetches["size:%s:%i" % (key, axis)] = size
        if should_train or should_eval:
            loss = self.get_objective()
            fetches["loss"] = tf.constant(0.0) if is_zero(loss) else loss
            for holder in self.get_losses():
                if holder.get_only_on_eval() and should_train:
                    continue
                self._add_loss_fetches(fetches, holder)
        for path, layer in self.all_layers():
            for name, value in layer.stats.items():
                fetches["stats:%s:%s" % (path, name)] = value
        if self.get_post_control_dependencies():
            fetches["post_control_dependencies"] = self.get_post_control_dependencies()
        return fetches

    def _make_summary(self, should_train: bool) -> dict[str, Any]:
        parts = {"loss": self.get_total_loss(), "constraints": self.get_total_constraints()}
        for holder in self.get_losses():
            if holder.get_only_on_eval() and should_train:
                continue
            name = holder.name.replace("/", "_")
            if self._config.bool("debug_unnormalized_loss_summaries", False):
                parts["loss/unnormalized_loss_%s" % name] = holder.get_loss_value_for_fetch()
            if self._config.bool("debug_objective_loss_summaries", False):
                parts["loss/objective_loss_%s" % name] = holder.get_loss_value_for_objective()
        return {name: value for name, value in parts.items() if value is not None and not is_zero(value)}

    @staticmethod
    def _add_loss_fetches(fetches: dict[str, Any], holder: Any) -> None:
        value, error = holder.get_loss_value_for_fetch(), holder.get_error_value()
        if value is not None:
            fetches["cost:" + holder.name] = value
        if error is not None:
            fetches["error:" + holder.name] = error
        fetches["loss_norm_factor:" + holder.name] = tf.convert_to_tensor(holder.get_norm_factor())


def _device(name: str | None) -> contextlib.AbstractContextManager[Any]:
    """
    :param name: option ``param_device``: "CPU", "gpu:1", "/job:x/device:CPU:0"
    """
    if not name:
        return contextlib.nullcontext()
    return tf.device(name if name.startswith("/") else "/device:" + (name if ":" in name else name + ":*"))


def _random_state_var(seed: int) -> Any:
    """
    The state of a random generator (Philox: counter, counter, key). Noise is stateless here, so nothing changes it. It
    is there for programs that need it in a checkpoint to go on from.
    """
    no_scope = v1.VariableScope(v1.AUTO_REUSE, name="")  # also no function that gives variables of users' layers
    with v1.variable_scope(no_scope, auxiliary_name_scope=False), tf.init_scope():
        var = v1.get_variable(
            "global_random_generator/random_generator/StateVar",
            (3,),
            tf.int64,
            initializer=v1.constant_initializer([0, 0, seed]),
            trainable=False,
        )
    var.RETURNN_non_critical_for_restore = True
    return var


def _global_step_var() -> Any:
    collections = [v1.GraphKeys.GLOBAL_VARIABLES, v1.GraphKeys.GLOBAL_STEP]  # for tf.train.get_global_step
    with v1.variable_scope("", reuse=v1.AUTO_REUSE, auxiliary_name_scope=False):
        return v1.get_variable(
            "global_step", (), tf.int64, initializer=v1.zeros_initializer(), trainable=False, collections=collections
        )
