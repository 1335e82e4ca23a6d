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
from returnn.layers.missing import LayerMissing
from returnn.layers.reuse_params import UnbuiltLayer
from returnn.layers.subnetwork import Subnetwork
from returnn.log import log
from returnn.tensor import Dim, DimKind, Tensor, batch_dim
from returnn.tensor.backend import Backend
from returnn.tensor.run_table import run_table_ctx
from returnn.util.errors import ConfigError

from .construct import build, build_roots, construct_all, construct_layer
from .data_access import DataAccess
from .description import describe
from .errors import LayerNotFound
from .extern_data import ExternData
from .extra_nets import entries_of_extra_net, home_of, searches
from .layer_list import net_dict_from_list
from .lookup import check_is_seen, find_layer, find_param_owner, layer_not_found
from .loss_holder import LossHolder
from .losses import make_holders, make_loss
from .objective import Objective
from .output_checks import OutputChecks
from .param_access import ParamAccess
from .rec_context import RecContext
from .run_state import RunState
from .scopes import scope_text
from .search_choices import latest_choices
from .step import InnerSteps, Steps

_current: list[Network] = []


class Network(DataAccess, ParamAccess, Objective, RunState, RecContext, OutputChecks):
    """A layer dict, built. A sub-network is a Network too, with ``parent_net``, and so is an extra net, with
    ``extra_parent_net``; parameters and data belong to the root."""

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
        extra_parent_net: Network | None = None,
        extra_name_prefix: str | None = None,
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
        :param extra_parent_net: of an extra net: the network whose layers it overlays, see :mod:`.extra_nets`
        :param extra_name_prefix: of an extra net, without ":"
        :param name: "root" by default
        :param backend: that computes; of the parent, or of the class, by default
        """
        DataAccess.__init__(self)
        ParamAccess.__init__(self)
        Objective.__init__(self)
        RunState.__init__(self)
        self.outer_net: Network | None = extra_parent_net or parent_net
        """what it belongs to: the network around it, or the one that it is an extra net of"""
        outer = self.outer_net
        if backend is not None:
            self.backend = backend
        elif outer is not None:
            self.backend = outer.backend
        self.parent_net: Network | None = extra_parent_net.parent_net if extra_parent_net else parent_net
        self.parent_layer = parent_layer
        self.extra_parent_net = extra_parent_net
        self.extra_name_prefix = extra_name_prefix
        self.name = name or ("root" if outer is None else "")
        if config is None and outer is not None:
            config = outer._config
        if config is None:
            config = get_global_config(return_empty_if_none=True)
        assert config is not None
        self._config: Config = config
        if rnd_seed is None:
            rnd_seed = outer.random.randint(2**31) if outer else 42
        self.rnd_seed = rnd_seed
        self.random: numpy.random.RandomState = numpy.random.RandomState(rnd_seed)
        self._set_flags(train_flag, eval_flag, search_flag)
        self.layers: dict[str, LayerBase] = {}
        self.layers_desc: dict[str, dict[str, Any]] = {}
        self.subnets: dict[str, Network] = {}
        self.extra_nets: dict[str, Network] = {}
        self.inside: Subnetwork | None = None
        """of a sub-network: what it has from the layer around it"""
        self.only_types: bool = outer is not None and outer.only_types
        """layers are built to know the templates of their outputs, and for nothing else"""
        self.types_to_guess: set[str] = set()
        """names of layers that depend on their own output of the frame before"""
        self._dims: dict[tuple[str, str], Dim] = outer._dims if outer else {}
        self.unbuilt_owners: set[tuple[str, Network, str]] = set()
        """(layer, network, other layer): it takes parameters of the other one, which depends on it and so is built
        later"""
        self._steps: Steps | InnerSteps = Steps(self) if outer is None else outer._steps
        if outer is not None and not outer.computes_at_construction:
            self.computes_at_construction = False
        if extern_data is None:
            extern_data = self._extern_data_from_config() if outer is None else outer.extern_data
        self.extern_data = extern_data

    def _set_flags(self, train_flag: Any, eval_flag: bool | None, search_flag: bool | None) -> None:
        outer = self.outer_net
        self.train_flag: Any = _first_given(train_flag, outer and outer.train_flag, False)
        self.search_flag: bool = bool(_first_given(search_flag, outer and outer.search_flag, False))
        self.eval_flag: bool = bool(_first_given(eval_flag, outer and outer.eval_flag, False))
        if self.train_flag is not False:
            self.eval_flag = True

    def _extern_data_from_config(self) -> ExternData:
        extern_data = ExternData()
        extern_data.init_from_config(self._config, auto_create_placeholders=True)  # values will be fed
        return extern_data

    def __repr__(self) -> str:
        return self.text_of_inner("")

    def text_of_inner(self, path: str) -> str:
        """
        :param path: of a network inside, "/NAME" or "(PREFIX)"; "": this network
        :return: what messages call it
        """
        flags = []
        if self.train_flag is True:
            flags.append("train")
        elif self.train_flag is not False:
            flags.append("train=dynamic")
        if self.search_flag:
            flags.append("search")
        return "<%s %s>" % (type(self).__name__, " ".join(["%r" % (self.name_for_log + path)] + flags))

    # ---- place among networks

    @property
    def is_subnetwork(self) -> bool:
        """whether this is inside of a layer"""
        return self.parent_net is not None

    def get_root_network(self) -> Network:
        """
        :return: outermost
        """
        return self.outer_net.get_root_network() if self.outer_net else self

    def get_home(self) -> Network:
        """
        :return: this network, or the one it is an extra net of
        """
        return self.extra_parent_net.get_home() if self.extra_parent_net else self

    @property
    def name_prefix(self) -> str:
        """in front of layer names: "" in the root, else with "/" or ":" at the end"""
        if self.outer_net is None:
            return ""
        own = self.name + "/" if self.extra_parent_net is None else "%s:" % self.extra_name_prefix
        return self.outer_net.name_prefix + own

    @property
    def name_for_log(self) -> str:
        """path from the root network on, with its name"""
        if self.outer_net is None:
            return self.name
        own = "/" + self.name if self.extra_parent_net is None else "(%s)" % self.extra_name_prefix
        return self.outer_net.name_for_log + own

    def scope_of_layer(self, name: str, name_scope: str | None) -> str:
        """
        :param name: of a layer
        :param name_scope: its option
        :return: in front of the names of its parameters, without "/" at the end
        """
        if name_scope is not None and name_scope.startswith("/"):
            return name_scope[1:]
        own = scope_text(name) if name_scope is None else name_scope
        return "/".join(x for x in (self._scope(), own) if x)

    def _scope(self) -> str:
        if self.outer_net is None:
            return ""
        if self.inside is None or not self.inside.has_scope:
            return self.outer_net._scope()
        scope = self.outer_net.scope_of_layer(self.name, self.inside.opts.get("name_scope"))
        return scope + (self.inside.scope_suffix if self.inside.opts.get("name_scope") is None else "")

    def get_config(self) -> Config:
        """
        :return: of this run
        """
        return self.backend.user_config(self._config)

    @classmethod
    def get_current_network(cls) -> Network | None:
        """
        :return: that which is being built
        """
        return _current[-1] if _current else None

    # ---- construction

    def construct_from_dict(self, net_dict: dict[str, Any] | list[dict[str, Any]]) -> None:
        """
        :param net_dict: layer dict; keys with "#" in front are not layers. Or a list, see :mod:`.layer_list`
        :raises NetworkLayerException: what is wrong with which layer
        """
        if isinstance(net_dict, (list, tuple)):
            net_dict = net_dict_from_list(net_dict, default_target=self.get_default_target())
        if not isinstance(net_dict, dict):
            raise ConfigError("network must be a dict, layer name -> options, but is %r" % (net_dict,))
        nets_before = dict(self.subnets), dict(self.extra_nets)
        before = dict(self.layers), set(self.used_data_keys), self.random.get_state()
        desc_before = self.layers_desc, self.all_trainable
        number_before = self._steps.number_of_layers()
        self.all_trainable = net_dict.get("#trainable", True) is not False
        try:
            with self._construction_ctx(), self.run_ctx():
                construct_all(self, net_dict)
                self.losses = make_holders(self)
        except BaseException:  # so that another dict can be tried
            self._steps.forget_from(number_before)
            self.layers_desc, self.all_trainable = desc_before
            self.subnets, self.extra_nets = nets_before
            self.layers, self.used_data_keys, random_state = before
            self.random.set_state(random_state)
            self.unbuilt_owners.clear()
            raise

    construct_from = construct_from_dict

    def _construction_ctx(self) -> contextlib.AbstractContextManager[Any]:
        return contextlib.nullcontext() if self.computes_at_construction else run_table_ctx()

    def ops_of_layer(self, name: str) -> contextlib.AbstractContextManager[Any]:
        """
        :param name: of a layer of this network
        :return: what is computed inside belongs to the layer: errors at run time name it
        """
        return contextlib.nullcontext()

    def building_ctx(self) -> contextlib.AbstractContextManager[Any]:
        """
        Inside, a layer is made, with the values that it has then.
        """
        if self.computes_at_construction or not self.get_root_network().computes_at_construction:
            return contextlib.nullcontext()
        return run_table_ctx()  # what is cached without values must not be found later

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
        Inside, all layers and losses have the values of this step, and only there. Gradients are to be computed inside,
        too; at its end the running statistics of layers change.

        :param data: ``KEY`` -> raw value and ``KEY:size<axis>`` -> lengths, as
            :meth:`TensorDict.as_raw_tensor_dict` names them
        :param train: the train flag
        :param global_train_step: int, or raw int scalar
        :param epoch_step: int: step within the epoch, from 0
        """
        assert isinstance(self._steps, Steps) and self.parent_net is None and not self.computes_at_construction
        return self._steps.step(data, train=train, global_train_step=global_train_step, epoch_step=epoch_step)

    @contextlib.contextmanager
    def run_ctx(self) -> Iterator[None]:
        """
        Inside, operations of :mod:`returnn.frontend` know the train flag, step and seed of this network.
        """
        root = self.get_root_network()
        ctx = rf.RunCtx(
            train_flag=root.train_flag,
            step=root.step_for_noise(),
            random_seed=root.seed_for_noise(),
            kept=root._steps.kept,
            frame=self._frame_of_loop(),
        )
        _current.append(self)
        try:
            with rf.run_ctx(ctx):
                yield
        finally:
            _current.pop()

    def _frame_of_loop(self) -> Any:
        run = None if self.loop is None else self.loop.run
        return run.index.raw_tensor if run is not None and run.is_in_loop and run.index is not None else None

    def step_for_noise(self) -> Any:
        """
        :return: int or raw scalar: global train step; where it stands still, that and the step within the pass
        """
        steps = self._steps
        return steps.global_train_step if self.train_flag is True else steps.global_train_step + steps.epoch_step

    def get_global_train_step(self) -> Any:
        """
        :return: int or raw scalar: training steps before this one
        """
        return self._steps.global_train_step

    def value_at_start(self, layer: LayerBase) -> rf.init.ParamInit:
        """
        :param layer: depends on no data
        :return: its value, for a parameter to start with
        """
        return rf.init.Constant(self._steps.value_at_start(layer))

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
        print("layer %s/%r: %s" % (self.name_for_log, name, output.short_repr()), file=stream)

    def add_layer(self, name: str, layer: LayerBase) -> None:
        """
        :param name: in this network; the networks around it know the layer by its path
        :param layer: built
        """
        self.layers[name] = layer
        if self.inside is not None and self.inside.is_hidden:
            return
        if self.extra_parent_net is None:
            if self.parent_net is not None:
                self.parent_net.add_layer(self.name + "/" + name, layer)
        elif "/" not in name:  # what is inside of its layers counts in the network itself
            self.extra_parent_net.add_layer("%s:%s" % (self.extra_name_prefix, name), layer)

    def dim_of_layer(self, layer_name: str, key: str, size: int | None, kind: DimKind) -> Dim:
        """
        :return: the dim of (layer, key); always the same object
        """
        path = self.name_prefix + layer_name
        dim = self._dims.get((path, key))
        if dim is None or dim.dimension != size:
            size_dims = (batch_dim,) if size is None else None
            description = "%s:%s" % (path, key)
            dim = Dim(size, description=description, kind=kind, auto_generated=True, size_dims=size_dims)
            self._dims[(path, key)] = dim
        return dim

    # ---- layers by name

    def set_layers_desc(self, net_dict: dict[str, Any]) -> None:
        """
        :param net_dict: layer dict; keys with "#" in front are not layers
        """
        self.layers_desc = {name: desc for name, desc in net_dict.items() if not name.startswith("#")}
        for prefix, net in self.extra_nets.items():
            net.layers_desc = entries_of_extra_net(self.layers_desc, prefix)

    def has_layer(self, name: str) -> bool:
        """
        :return: whether it is in the layer dict
        """
        net, name = home_of(self, name)
        return name in net.layers_desc or bool(net.extra_parent_net and net.extra_parent_net.has_layer(name))

    def desc_of_layer(self, name: str) -> dict[str, Any]:
        """
        :param name: in the layer dict, or, of an extra net, in that of the network it belongs to
        :return: options
        """
        if name not in self.layers_desc and self.extra_parent_net is not None:
            return self.extra_parent_net.desc_of_layer(name)
        return self.layers_desc[name]

    def get_layer(self, name: str) -> LayerBase:
        """
        :param name: ``NAME``, ``SUB/NAME``, ``data``, ``data:KEY``, ``base:NAME``, ``extra:NAME``, ``extra.x:NAME``
        :return: built already, except for data
        :raises LayerNotFound: with the nearest names
        """
        if name in self.layers:
            check_is_seen(self, self.layers[name])
            return self.layers[name]
        try:
            return self.get_layer_or_missing(name)
        except LayerMissing:
            raise layer_not_found(self, name, "it was not built, as nothing needs it") from None

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

    def construct_layer(
        self,
        net_dict: dict[str, Any],
        name: str,
        get_layer: Callable[[str], LayerBase] | None = None,
        add_layer: Callable[..., LayerBase] | None = None,
    ) -> LayerBase:
        """
        Builds a layer of another layer dict in this network.

        :param net_dict: has the layer, and what it depends on where that is not here yet
        :param name: in ``net_dict``, or of a layer that is here already
        :param get_layer: ``f(name)`` gives the layers that it depends on, instead
        :param add_layer: ``f(name, layer_class, **options)`` makes the layer instead, and adds it
        :return: the layer
        """
        if name in self.layers:
            return self.layers[name]
        before = self.layers_desc
        self.set_layers_desc({**before, **net_dict})
        try:
            with self._construction_ctx(), self.run_ctx():
                if get_layer is None and add_layer is None:
                    return self.build_layer(name)
                layer = construct_layer(*home_of(self, name), get_layer=get_layer, add_layer=add_layer)
                if add_layer is None:
                    self.add_layer(name, layer)
                return layer
        finally:
            self.set_layers_desc(before)

    def get_search_choices(
        self,
        sources: Sequence[LayerBase] | None = None,
        src: LayerBase | None = None,
        base_search_choice: LayerBase | None = None,
    ) -> LayerBase | None:
        """
        One of the three arguments is to be given.

        :param sources: layers
        :param src: layer
        :param base_search_choice: layer whose own choices do not count, only those before
        :return: layer that chose last, of these and of what they depend on; None outside of searches, and behind a
            decision
        """
        if src is not None:
            sources = [src]
        elif base_search_choice is not None:
            sources = base_search_choice.get_dep_layers()
        return latest_choices(sources or ())

    def build_layer(self, name: str) -> LayerBase:
        """
        :param name: in the layer dict
        :return: built, with all that it depends on
        """
        return build(*home_of(self, name))

    def network_inside(self, inside: Subnetwork) -> Network:
        """
        :param inside: of a layer of this network
        :return: its network, made at the first time
        """
        net = self.subnets.get(inside.key)
        if net is None:
            net = self.subnets[inside.key] = type(self)(parent_net=self, name=inside.name)
            net.inside = inside
            if inside.is_deferred:
                net.computes_at_construction = False
                net._steps = InnerSteps(self._steps)
            net.set_layers_desc(inside.net_dict)
        return net

    def compute_inside(self) -> list[Any]:
        """
        Of a network inside of a layer that computes it itself: computes its layers, now.

        :return: raw values or operations that have to be computed too, with those of the layers
        """
        assert isinstance(self._steps, InnerSteps)
        return self._steps.compute()

    @property
    def inner_steps(self) -> InnerSteps:
        """of a network inside of a layer that computes it itself: its layers, and how to compute them"""
        assert isinstance(self._steps, InnerSteps)
        return self._steps

    def network_for_types(self, inside: Subnetwork) -> Network:
        """
        :param inside: of a layer of this network
        :return: a new network like that of :func:`network_inside`, only to know the templates of outputs
        """
        net = type(self)(parent_net=self, name=inside.name, rnd_seed=0)
        net.inside = inside
        net.only_types = True
        net.computes_at_construction = False
        net._steps = InnerSteps(self._steps)
        net.set_layers_desc(inside.net_dict)
        return net

    def build_roots(self, *, only_own: bool = False) -> None:
        """
        Builds the outputs, all layers with a loss, and what these depend on.

        :param only_own: not those of the networks inside
        """
        build_roots(self, only_own=only_own)

    def subnet(self, name: str) -> Network:
        """
        :param name: of a layer in the dict, of class subnetwork
        :return: the network inside
        """
        return Subnetwork(self, name).net

    def extra_net(self, prefix: str) -> Network:
        """
        :param prefix: "extra", "extra.search", "extra.NAME"
        :return: extra net of this network, made at the first time
        """
        if self.extra_parent_net is not None:
            return self.extra_parent_net.extra_net(prefix)
        net = self.extra_nets.get(prefix)
        if net is None:
            net = type(self)(extra_parent_net=self, extra_name_prefix=prefix, search_flag=searches(prefix))
            net.layers_desc = entries_of_extra_net(self.layers_desc, prefix)
            self.extra_nets[prefix] = net
        return net

    def all_layers(self) -> Iterator[tuple[str, LayerBase]]:
        """
        :return: path from the root on, and layer; of this network and those inside; sorted by path
        """
        for name, layer in sorted(self.layers.items()):
            yield self.name_prefix + name, layer

    # ---- of each step

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
        :param ops: to run in each step, with it; a backend that computes at once has run them already
        """

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
        if self.train_flag is False or not self.has_values:
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

    # ---- losses, outputs

    def make_loss(self, d: dict[str, Any], get_layer: Callable[[str], LayerBase]) -> None:
        """
        See :func:`returnn.network.losses.make_loss`.
        """
        make_loss(self, d, get_layer)

    def make_loss_holder(self, **kwargs: Any) -> LossHolder:
        """
        See :class:`LossHolder`.
        """
        return LossHolder(network=self, **kwargs)

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

    # ---- text

    def print_network_info(self, name: str = "Network") -> None:
        """
        :param name: headline
        """
        for line in describe(self, name):
            print(line, file=log.v2)


def _first_given(*values: Any) -> Any:
    return next((v for v in values if v is not None), None)
