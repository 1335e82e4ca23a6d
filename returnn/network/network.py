"""Network: the layers of one layer dict, their parameters, losses and constraints.

On a backend that computes at once (PyTorch, numpy), it is built once and computed in each :func:`Network.step`. A
subclass may compute while it builds instead, as that for TensorFlow graphs does.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy

import returnn.frontend as rf
from returnn.config import Config, get_global_config
from returnn.layers.base import LayerBase
from returnn.layers.reuse_params import UnbuiltLayer
from returnn.log import log
from returnn.tensor import Dim, DimKind, Tensor, batch_dim
from returnn.tensor.backend import Backend
from returnn.tensor.run_table import run_table_ctx
from returnn.util.errors import ConfigError, UserError

from .construct import construct_all
from .description import describe
from .errors import LayerMissing, LayerNotFound
from .extern_data import ExternData
from .lookup import find_layer, find_param_owner, layer_not_found
from .loss_holder import LossHolder
from .losses import make_holders, make_loss
from .params import ParamStore
from .step import Steps

_current: list[Network] = []


class Network:
    """A layer dict, built. A sub-network is a Network too, with ``parent_net``; parameters and data belong to the
    root."""

    backend: Backend
    computes_at_construction = False
    """layers have values once they are built; else within a :func:`step`"""

    def __init__(
        self,
        config: Config | None = None,
        extern_data: ExternData | None = None,
        rnd_seed: int | None = None,
        train_flag: Any = None,
        eval_flag: bool | None = None,
        search_flag: bool | None = None,
        parent_layer: LayerBase | None = None,
        parent_net: Network | None = None,
        name: str | None = None,
        backend: Backend | None = None,
    ):
        """
        :param config: the global one by default
        :param extern_data: from the config by default
        :param rnd_seed: 42 by default; that of a sub-network is drawn from its parent
        :param train_flag: whether we train; a bool, or a raw bool scalar. If not False, losses are built too
        :param eval_flag: build losses
        :param search_flag: search
        :param parent_layer: of a sub-network
        :param parent_net: of a sub-network
        :param name: "root" by default
        :param backend: that computes; of the parent, or of the class, by default
        """
        if backend is not None:
            self.backend = backend
        elif parent_net is not None:
            self.backend = parent_net.backend
        self.parent_net = parent_net
        self.parent_layer = parent_layer
        self.name = name or ("root" if parent_net is None else "")
        if config is None and parent_net is not None:
            config = parent_net.get_config()
        if config is None:
            config = get_global_config(return_empty_if_none=True)
        assert config is not None
        self._config: Config = config
        if rnd_seed is None:
            rnd_seed = parent_net.random.randint(2**31) if parent_net else 42
        self.rnd_seed = rnd_seed
        self.random: numpy.random.RandomState = numpy.random.RandomState(rnd_seed)
        self.train_flag: Any = _first_given(train_flag, parent_net and parent_net.train_flag, False)
        self.search_flag: bool = bool(_first_given(search_flag, parent_net and parent_net.search_flag, False))
        self.eval_flag: bool = bool(_first_given(eval_flag, parent_net and parent_net.eval_flag, False))
        if self.train_flag is not False:
            self.eval_flag = True
        self.layers: dict[str, LayerBase] = {}
        self.layers_desc: dict[str, dict[str, Any]] = {}
        self.subnets: dict[str, Network] = {}
        self.losses: list[LossHolder] | None = None
        self.used_data_keys: set[str] = set()
        self._dims: dict[tuple[str, str], Dim] = {}
        self.unbuilt_owners: set[tuple[str, Network, str]] = set()
        """(layer, network, other layer): it takes parameters of the other one, which depends on it and so is built
        later"""
        self._param_store = ParamStore()
        self._steps = Steps(self) if parent_net is None else parent_net._steps
        self._objective: Any = None
        self._all_trainable = True
        self._run_opts: dict[str, Any] = {}
        self._graph_reset_callbacks: list[Callable[[], None]] = []
        self._run_finished_callbacks: list[Callable[[], None]] = []
        self.extern_data: ExternData
        if extern_data is None:
            extern_data = self._extern_data_from_config() if parent_net is None else parent_net.extern_data
        self.extern_data = extern_data

    def _extern_data_from_config(self) -> ExternData:
        extern_data = ExternData()
        extern_data.init_from_config(self._config)
        return extern_data

    def __repr__(self) -> str:
        return self.text_of_inner("")

    def text_of_inner(self, path: str) -> str:
        """
        :param path: of a subnetwork inside; "": this network
        :return: what messages call it
        """
        flags = []
        if self.train_flag is True:
            flags.append("train")
        elif self.train_flag is not False:
            flags.append("train=dynamic")
        if self.search_flag:
            flags.append("search")
        path = (self.name_prefix + path).rstrip("/")
        name = "root/" + path if path else self.name
        return "<%s %s>" % (type(self).__name__, " ".join(["%r" % name] + flags))

    # ---- place among networks

    @property
    def is_subnetwork(self) -> bool:
        """whether this is the inside of a layer"""
        return self.parent_net is not None

    def get_root_network(self) -> Network:
        """
        :return: outermost
        """
        return self.parent_net.get_root_network() if self.parent_net else self

    @property
    def name_prefix(self) -> str:
        """in front of layer names, "" in the root, else with "/" at the end"""
        return self.parent_net.name_prefix + self.name + "/" if self.parent_net else ""

    @property
    def name_prefix_for_log(self) -> str:
        """the same, with the name of the root"""
        return self.get_root_network().name + "/" + self.name_prefix

    def scope_of_layer(self, name: str, name_scope: str | None) -> str:
        """
        :param name: of a layer
        :param name_scope: its option
        :return: in front of the names of its parameters, without "/" at the end
        """
        if name_scope is not None and name_scope.startswith("/"):
            return name_scope[1:]
        own = _scope_text(name) if name_scope is None else name_scope
        return "/".join(x for x in (self._scope(), own) if x)

    def _scope(self) -> str:
        if self.parent_net is None:
            return ""
        desc = self.parent_net.layers_desc.get(self.name, {})
        return self.parent_net.scope_of_layer(self.name, desc.get("name_scope"))

    def get_config(self) -> Config:
        """
        :return: of this run
        """
        return self._config

    @classmethod
    def get_current_network(cls) -> Network | None:
        """
        :return: that which is being built
        """
        return _current[-1] if _current else None

    # ---- construction

    def construct_from_dict(self, net_dict: dict[str, Any]) -> None:
        """
        :param net_dict: layer dict; keys with "#" in front are not layers
        :raises NetworkLayerException: what is wrong with which layer
        """
        if not isinstance(net_dict, dict):
            raise ConfigError("network must be a dict, layer name -> options, but is %r" % (net_dict,))
        before = dict(self.layers), dict(self.subnets), set(self.used_data_keys), self.random.get_state()
        self._all_trainable = net_dict.get("#trainable", True) is not False
        try:
            with self._construction_ctx(), self.run_ctx():
                construct_all(self, net_dict)
                self.losses = make_holders(self)
        except BaseException:  # so that another dict can be tried
            self._steps.forget()
            self.layers, self.subnets, self.used_data_keys, random_state = before
            self.random.set_state(random_state)
            self.unbuilt_owners.clear()
            raise

    construct_from = construct_from_dict

    def _construction_ctx(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if self.computes_at_construction else run_table_ctx()

    def layer_made(self, layer: LayerBase) -> None:
        """
        :param layer: of this network; all that it depends on was made before
        """
        if not self.computes_at_construction:
            self._steps.add(layer)

    @property
    def has_values(self) -> bool:
        """whether layers are computed now, with values; else they are only built"""
        return self.computes_at_construction or self._steps.is_running

    def step(
        self, data: Mapping[str, Any], *, train: bool, global_train_step: Any = 0, epoch_step: Any = 0
    ) -> contextlib.AbstractContextManager[None]:
        """
        Inside, all layers and losses have the values of this step. Gradients are to be computed inside, too; at its end
        the running statistics of layers change.

        :param data: ``KEY`` -> raw value and ``KEY:size<axis>`` -> lengths, as
            :meth:`TensorDict.as_raw_tensor_dict` names them
        :param train: the train flag
        :param global_train_step: int, or raw int scalar
        :param epoch_step: int: step within the epoch, from 0
        """
        assert self.parent_net is None and not self.computes_at_construction
        return self._steps.step(data, train=train, global_train_step=global_train_step, epoch_step=epoch_step)

    @contextlib.contextmanager
    def run_ctx(self) -> Iterator[None]:
        """
        Inside, operations of :mod:`returnn.frontend` know the train flag, step and seed of this network.
        """
        root = self.get_root_network()
        ctx = rf.RunCtx(train_flag=root.train_flag, step=root.step_for_noise(), random_seed=root.seed_for_noise())
        _current.append(self)
        try:
            with rf.run_ctx(ctx):
                yield
        finally:
            _current.pop()

    def step_for_noise(self) -> Any:
        """
        :return: global train step: int or raw scalar
        """
        return self._steps.global_train_step

    def seed_for_noise(self) -> int:
        """
        :return: of the experiment; not of the epoch in which this process started, so that a resumed run draws the same
        """
        return self._config.int("random_seed", 0) or 42

    def log_layer(self, name: str, output: Tensor) -> None:
        """
        :param name: of a layer that will be built
        :param output: its template
        """
        stream = log.v1 if self._config.bool("debug_print_layer_output_template", False) else log.v3
        print("layer %s%r: %s" % (self.name_prefix_for_log, name, output.short_repr()), file=stream)

    def finish_layer(self, layer: LayerBase) -> None:
        """
        Adds to the output what the config wants of it besides the value: checks, other operations that have to come
        first.

        :param layer: built
        """

    def check_numerics(self, raw: Any, what: str) -> Any:
        """
        :param raw: float value
        :param what: for the message
        :return: the same; where it is inf or nan the step fails, with the config option
            ``debug_add_check_numerics_on_output``
        """
        return raw

    def check_same_lens(self, x: Tensor, dims: Sequence[tuple[Dim, Dim]], what: str) -> Tensor:
        """
        :param x: has the first dim of each pair
        :param dims: pairs of dynamic dims
        :param what: for the message
        :return: x; where the lengths of a pair differ the step fails
        """
        if not self.has_values:
            return x
        for a, b in dims:
            if a.dyn_size is None or b.dyn_size is None or a.dyn_size is b.dyn_size:
                continue
            found, wanted = self.backend.to_numpy(a.dyn_size), self.backend.to_numpy(b.dyn_size)
            if found.tolist() != wanted.tolist():
                raise UserError("%s: %s, but the others %s" % (what, found.tolist(), wanted.tolist()))
        return x

    def observe(self, function: Callable[..., None], raws: Sequence[Any], value: Any) -> Any:
        """
        :param function: Python code that prints something
        :param raws: it gets these, as numpy arrays
        :param value: in the steps that compute this one
        :return: value
        """
        if self.has_values:
            function(*[self.backend.to_numpy(raw) for raw in raws])
        return value

    def add_layer(self, name: str, layer: LayerBase) -> None:
        """
        :param name: in this network; the networks around it know the layer by its path
        :param layer: built
        """
        self.layers[name] = layer
        if self.parent_net is not None:
            self.parent_net.add_layer(self.name + "/" + name, layer)

    def dim_of_layer(self, layer_name: str, key: str, size: int | None, kind: DimKind) -> Dim:
        """
        :return: the dim of (layer, key); always the same object
        """
        dim = self._dims.get((layer_name, key))
        if dim is None or dim.dimension != size:
            description = "%s%s:%s" % (self.name_prefix, layer_name, key)
            size_dims = (batch_dim,) if size is None else None
            dim = Dim(size, description=description, kind=kind, auto_generated=True, size_dims=size_dims)
            self._dims[(layer_name, key)] = dim
        return dim

    # ---- layers by name

    def has_layer(self, name: str) -> bool:
        """
        :return: whether it is in the layer dict
        """
        return name in self.layers_desc

    def get_layer(self, name: str) -> LayerBase:
        """
        :param name: ``NAME``, ``SUB/NAME``, ``data``, ``data:KEY``, ``base:NAME``
        :return: built already, except for data
        :raises LayerNotFound: with the nearest names
        """
        try:
            return self.get_layer_or_missing(name)
        except LayerMissing:
            raise layer_not_found(self, name, "was not built") from None

    def get_layer_or_missing(self, name: str) -> LayerBase:
        """
        :param name: as in ``from``
        :return: built
        :raises LayerMissing: it has to be built first
        :raises LayerNotFound: there is no such one
        """
        return find_layer(self, name)

    def get_param_owner(self, name: str, *, for_layer: str) -> LayerBase | UnbuiltLayer:
        """
        :param name: of a layer that has parameters
        :param for_layer: which takes them
        :return: the layer; or what stands for it, where it depends on ``for_layer``
        :raises LayerMissing: it has to be built first
        """
        return find_param_owner(self, name, for_layer=for_layer)

    def subnet(self, name: str) -> Network:
        """
        :param name: of a layer of class subnetwork
        :return: the network inside
        """
        if name not in self.subnets:
            net = type(self)(parent_net=self, name=name)
            subnetwork = self.layers_desc[name]["subnetwork"]
            net.layers_desc = {key: value for key, value in subnetwork.items() if not key.startswith("#")}
            self.subnets[name] = net
        return self.subnets[name]

    def all_layers(self) -> Iterator[tuple[str, LayerBase]]:
        """
        :return: path from the root on, and layer; of this network and those inside; sorted by path
        """
        for name, layer in sorted(self.layers.items()):
            yield self.name_prefix + name, layer

    # ---- extern data

    def get_extern_data(self, key: str | None, mark_data_key_as_used: bool = True) -> Tensor:
        """
        :param key: None: default input
        :param mark_data_key_as_used: it has to be fed then
        """
        root = self.get_root_network()
        if key is None:
            key = root.extern_data.default_input
        if key not in root.extern_data.data and key in ("seq_tag", "seq_idx"):
            root.make_seq_info(key)
        data = root.extern_data.get_data(key)
        if mark_data_key_as_used:
            root.used_data_keys.add(key)
        return data

    def make_seq_info(self, key: str) -> None:
        """
        Adds ``seq_tag`` (string [batch]) or ``seq_idx`` (int32 [batch]) to the extern data.
        """
        data = Tensor(key, shape=(), dtype="string" if key == "seq_tag" else "int32")
        self.extern_data.data[key] = data
        self.extern_data.extra_added_keys.add(key)

    def register_extern_data(self, key: str, value: Tensor) -> None:
        """
        :param key: new data key
        :param value: output of a layer
        """
        root = self.get_root_network()
        data = value.copy(name=key)
        data.available_for_inference = value.available_for_inference
        root.extern_data.data[key] = data
        root.extern_data.extra_added_keys.add(key)

    def get_used_data_keys(self) -> set[str]:
        """
        :return: keys that have to be fed
        """
        return {key for key in self.get_root_network().used_data_keys if not self._is_computed(key)}

    def _is_computed(self, key: str) -> bool:
        extern_data = self.get_root_network().extern_data
        return key in extern_data.extra_added_keys and key not in ("seq_tag", "seq_idx")

    def get_data_batch_dim(self) -> Any:
        """
        :return: raw scalar: number of sequences
        """
        _, data = self.get_root_network().extern_data.get_sorted_data_items()[0]
        return data.get_batch_dim()

    def get_default_target(self) -> str:
        """
        :return: data key
        """
        return self.extern_data.default_target

    # ---- parameters

    def create_param(
        self, name: str, shape: Sequence[int], dtype: str, *, init: Any, trainable: bool
    ) -> tuple[Any, Any]:
        """
        :param name: full
        :param shape: sizes of its axes
        :param dtype: for instance "float32"
        :param init: :class:`returnn.frontend.init.ParamInit`
        :param trainable: that of the enclosing layers counts too
        :return: variable, raw value
        :raises ConfigError: the name is taken by a parameter of another shape
        """
        store = self.param_store
        if name not in store:
            trainable = trainable and self.enclosing_trainable()
            var, raw = self.backend.create_parameter(name, shape, dtype, init=init, trainable=trainable)
            store.add(name, var, raw, shape, dtype, trainable=trainable)
        return store.get(name, shape)

    def var_creation_scope(self, layer: LayerBase) -> contextlib.AbstractContextManager[None]:
        """
        See :func:`LayerBase.var_creation_scope`.
        """
        raise NotImplementedError

    def add_param_of_layer(
        self, layer: LayerBase, param: Any, *, trainable: bool | None, saveable: bool
    ) -> tuple[str, Any]:
        """
        :param layer: a user's
        :param param: variable that it made
        :param trainable: None: as the variable says
        :param saveable: it is part of checkpoints
        :return: name relative to the layer, and the variable
        """
        raise NotImplementedError

    def enclosing_trainable(self) -> bool:
        """
        :return: whether all layers around this network are trainable
        """
        if self.parent_net is None:
            return True
        desc = self.parent_net.layers_desc.get(self.name, {})
        return bool(desc.get("trainable", True)) and self.parent_net.enclosing_trainable()

    @property
    def param_store(self) -> ParamStore:
        """all parameters, of the root network"""
        return self.get_root_network()._param_store

    def param_tensor(self, var: Any) -> Tensor:
        """
        :param var: of a layer's ``params``
        :return: its value
        """
        return self.param_store.value_of(var)

    def get_params_list(self) -> list[Any]:
        """
        :return: variables, each once, sorted by name
        """
        return self.param_store.variables()

    def get_trainable_params(self) -> list[Any]:
        """
        :return: those that the updater may change
        """
        return self.param_store.variables(trainable=True) if self.get_root_network()._all_trainable else []

    def get_num_params(self) -> int:
        """
        :return: number of numbers
        """
        return self.param_store.count()

    def register_update(self, var: Any, raw_value: Any, *, only_in_training: bool) -> None:
        """
        :param var: changes in each step
        :param raw_value: to this
        :param only_in_training: not in evaluation
        """
        if self.train_flag or not only_in_training:
            self._steps.add_update(var, raw_value)

    def register_post_control_dependencies(self, ops: list[Any]) -> None:
        """
        :param ops: to run in each step, after it
        """
        raise NotImplementedError

    def get_epoch_step(self) -> Any:
        """
        :return: raw int scalar: step within the epoch, from 0
        """
        return self.backend.convert(self._steps.epoch_step, "int64")

    # ---- training

    def cond_on_train(self, fn_train: Callable[[], Any], fn_eval: Callable[[], Any]) -> Any:
        """
        :param fn_train: -> Tensor or raw value
        :param fn_eval: of the same dims
        :return: of the first one if we train, else of the second. Only that one is computed.
        """
        if self.train_flag is True:
            return fn_train()
        if self.train_flag is False:
            return fn_eval()
        template: list[Tensor] = []

        def raw_of(function: Callable[[], Any]) -> Callable[[], Any]:
            def call() -> Any:
                value = function()
                if not isinstance(value, Tensor):
                    return value
                if template:
                    value = value.copy_transpose(template[0].dims)
                template.append(value)
                return value.raw_tensor

            return call

        raw = self.backend.cond(self.train_flag, raw_of(fn_train), raw_of(fn_eval))
        return template[0].like(raw) if template else raw

    @property
    def decouple_constraints(self) -> bool:
        """whether L2 is a decay in the updater, not a part of the objective"""
        return self._config.bool("decouple_constraints", False)

    # ---- losses

    def make_loss(self, d: dict[str, Any], get_layer: Callable[[str], LayerBase]) -> None:
        """
        See :func:`returnn.network.losses.make_loss`.
        """
        make_loss(self, d, get_layer)

    def take_losses(self) -> None:
        """Layers have new values: losses, too."""
        self._objective = None
        for holder in self.get_losses():
            holder.init()

    def get_losses(self) -> list[LossHolder]:
        """
        :return: sorted by name
        """
        return list(self.losses or ())

    def get_total_loss(self) -> Any:
        """
        :return: raw scalar, or 0: sum of the losses, scaled
        """
        return self._total([h.get_loss_value_for_objective() for h in self.get_losses()])

    def get_total_constraints(self) -> Any:
        """
        :return: raw scalar, or 0: sum over all layers
        """
        values = [layer.get_constraints_value() for _, layer in self.all_layers()]
        return self._total([None if v is None else v.raw_tensor for v in values])

    def get_objective(self) -> Any:
        """
        :return: raw scalar, or 0: what the updater minimises
        """
        if self._objective is None:
            parts = (self.get_total_loss(), self.get_total_constraints())
            self._objective = self._total([x for x in parts if not is_zero(x)])
        return self._objective

    def _total(self, values: list[Any]) -> Any:
        total: Any = 0
        for value in values:
            if value is not None:
                total = value if is_zero(total) else self.backend.binary("add", total, value)
        return total

    # ---- outputs

    def get_output_layers(self) -> list[LayerBase]:
        """
        :return: layers named output, and those with a loss
        """
        return [layer for path, layer in self.all_layers() if layer.name == "output" or layer.loss is not None]

    def get_default_output_layer_name(self) -> str | None:
        """
        :return: "output", or the only output layer
        """
        if "output" in self.layers:
            return "output"
        found = [layer for layer in self.get_output_layers() if layer.network is self]
        return found[0].name if len(found) == 1 else None

    def get_default_output_layer(self, must_exist: bool = True) -> LayerBase | None:
        """
        :param must_exist: else None if there is none
        :raises LayerNotFound: listing the layers
        """
        name = self.get_default_output_layer_name()
        if name is None:
            if must_exist:
                raise LayerNotFound("there is no default output layer. Layers: %s" % ", ".join(sorted(self.layers)))
            return None
        return self.layers[name]

    # ---- state of a run

    def set_run_opts(self, **opts: Any) -> None:
        """
        :param opts: epoch, dataset_name: for layers that write files
        """
        self._run_opts = opts

    def get_run_opts(self) -> dict[str, Any]:
        """
        :return: of :func:`set_run_opts`
        """
        return self.get_root_network()._run_opts

    def register_graph_reset_callback(self, callback: Callable[[], None]) -> None:
        """
        :param callback: called once, before the network goes away
        """
        self.get_root_network()._graph_reset_callbacks.append(callback)

    def register_run_finished_callback(self, callback: Callable[[], None]) -> None:
        """
        :param callback: called after each pass over a dataset
        """
        self.get_root_network()._run_finished_callbacks.append(callback)

    def call_graph_reset_callbacks(self) -> None:
        """Calls them, and forgets them."""
        callbacks, self._graph_reset_callbacks = self._graph_reset_callbacks, []
        for callback in callbacks:
            callback()

    def call_run_finished_callbacks(self) -> None:
        """Calls them."""
        for callback in self._run_finished_callbacks:
            callback()

    # ---- text

    def print_network_info(self, name: str = "Network") -> None:
        """
        :param name: headline
        """
        for line in describe(self, name):
            print(line, file=log.v2)


def _first_given(*values: Any) -> Any:
    return next((v for v in values if v is not None), None)


def is_zero(value: Any) -> bool:
    """
    :return: whether there is nothing: the number 0 instead of a value of the backend
    """
    return isinstance(value, (int, float)) and value == 0


def _scope_text(name: str) -> str:
    """a layer name as part of a variable name"""
    text = name.encode("ascii", "ignore").decode("ascii")
    for char in ":(){}&+-*'\", ":
        text = text.replace(char, "__")
    if text[:1] in ("_", "-", "\\", "/"):
        text = ".%i.%s" % (ord(text[0]), text[1:])
    return text
