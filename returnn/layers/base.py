"""LayerBase: what all layers share.

A built-in layer states its options as typed class attributes and has one ``compute(*inputs) -> Tensor``, written in
:mod:`returnn.frontend`. Its output template is the same code run on inputs without values. That run never enters
``__init__``, makes no variable and draws no seed.

A layer of a user may instead compute in ``__init__``, into ``self.output.placeholder``, and override the class method
``get_out_data_from_opts``; and it may extend a built-in layer either way.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from returnn.tensor import Dim, DimError, DimKind, Tensor
from returnn.tensor.hidden_dims import is_hidden
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError

from . import batch_norm as batch_norm_module
from .activations import OutputWithActivation, get_activation
from .beam_border import merge_beam, template_without_beam
from .constraints import constraint_terms
from .initializers import parse_initializer
from .out_type import apply_out_type
from .outer_search import inputs_of_one_beam
from .param_noise import with_noise
from .rec_protocol import RecProtocol
from .reuse_params import ReuseParams, WantedParam
from .target import out_dim_from_target, resolve_target_layers
from .unify import common_layout, unify

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .loss.base import Loss
    from .search_choices import SearchChoices


_T = TypeVar("_T")
_recent: deque[weakref.ref[LayerBase]] = deque(maxlen=1)


class LayerBase(RecProtocol):
    """A node of the network: sources, parameters, output."""

    layer_class: str | None = None
    """name in configs"""
    _default_source: str | None = "data"
    """what a missing ``from`` means in old configs; None: no source"""
    _layer_options: tuple[str, ...] = ()
    """options that name a layer, or a list of layers; ``compute`` finds the layers there, see :func:`_output_of`"""

    n_out: int | None = None
    """output dim; must be that of the output"""
    out_dim: Dim | None = None
    """output dim"""
    out_shape: set[Dim] | tuple[Dim, ...] | list[Dim] | None = None
    """the dims that the output must have, in any order; () for a scalar"""
    out_type: dict[str, Any] | Callable[..., Tensor] | None = None
    """arguments of a Tensor: overrides what the layer says about its output"""
    target: str | list[str] | None = None
    """data key, or ``layer:NAME``; needed for most losses, and gives ``n_out``"""
    loss: Loss | str | None = None
    """name of a loss"""
    loss_opts: dict[str, Any] | None = None
    """options of the loss"""
    loss_scale: float | None = None
    """factor in the objective, 1 by default; 0: only reported"""
    loss_only_on_non_search: bool | None = None
    """no loss in a search"""
    is_output_layer: bool | None = None
    """build it even if nothing depends on it"""
    only_on_eval: bool = False
    """the loss is computed in evaluation only"""
    only_on_search: bool = False
    """build it in a search only"""
    size_target: str | None = None
    """data key: where ``out_type`` makes a new time axis, it has the lengths of that data, if losses are built"""
    register_as_extern_data: str | None = None
    """the output becomes the data of this key"""
    trainable: bool = True
    """whether the updater may change the parameters; those of enclosing layers must be trainable too"""
    L2: float | None = None
    """adds L2 * sum of squares of all parameters to the objective"""
    darc1: float | None = None
    """adds darc1 * max over features of the sum over frames of abs(output before activation) to the objective"""
    spatial_smoothing: float = 0.0
    """adds spatial_smoothing * sum of squares of the high-pass filtered output, features as an image, to the
    objective"""
    batch_norm: bool | dict[str, Any] = False
    """normalise the output over the batch; or a dict of options"""
    reuse_params: ReuseParams | str | dict[str, Any] | None = None
    """take the parameters of another layer"""
    name_scope: str | None = None
    """scope of the parameters instead of the layer name; "/x": absolute; "": none"""
    control_dependencies_on_output: Callable[[LayerBase], Any] | None = None
    """function of the layer, gives an operation or a list of them: run before the output is used"""
    updater_opts: dict[str, Any] | None = None
    """options of the updater for these parameters"""
    param_variational_noise: float | None = None
    """standard deviation of normal noise on the parameters, in training; by default as the config key of this name
    says, else 0"""
    param_dropout: float | None = None
    """probability of zero of each entry of a parameter, in training; by default as the config key of this name says,
    else 0"""
    param_dropout_min_ndim: int | None = None
    """``param_dropout`` is for parameters of at least as many axes; by default as the config key of this name says,
    else 0: all of them"""
    param_device: str | None = None
    """for TensorFlow: where the parameters are, for instance "CPU"; other backends have all parameters on one device"""
    copy_output_loss_from_source_idx: int | None = None
    """the loss that comes with the output is that of this source, see ``eval_for_output_loss`` of the layer eval"""
    debug_print_layer_output: bool | dict[str, Any] | None = None
    """print the output in each step, with ``{"summarize": n}`` n entries of each end of an axis, 10 by default; by
    default as the config key of this name says"""
    initial_output: Any = None
    """of a layer in a loop: output before the first frame. Outside of loops it has no effect"""
    collocate_with: str | list[str] | None = None
    """of a layer in a loop: stays there together with these. Outside of loops it has no effect"""
    need_last: bool = False
    """of a layer in a loop: the output at the last frame of each sequence is wanted. Outside of loops it has no
    effect"""
    custom_param_importer: str | Callable[..., Any] | None = None
    """how a checkpoint sets the parameters: "reset", "ifpossible", "subset" for values of another shape, or a function
    of layer, values_dict, session"""

    recurrent = False
    """whether an output frame depends on other input frames; if no layer is so, frames of all sequences may be mixed"""
    needs_gradient = False
    """another layer asks for gradients with respect to the output"""
    allow_inf_in_output = False
    """for ``debug_add_check_numerics_on_output``"""
    _zero_padded_dims: tuple[Dim, ...] = ()
    """dims along which the output is zero behind a sequence's end; a layer sets them while it computes"""
    _loss_class: type[Loss] | None = None
    _is_template = False
    """within a template run"""
    is_unknown = False
    """its output is not known yet"""
    _has_skipped_seed = False
    search_choices: SearchChoices | None = None
    """of a layer that chooses, in a beam search"""

    def __init__(self, *, name: str, network: Network, output: Tensor, sources: Sequence[LayerBase] = (), **opts: Any):
        """
        :param name: in its network
        :param network: that the layer is in
        :param output: template; gets the value
        :param sources: layers of ``from``, built
        :param opts: options
        """
        self._set_opts(name=name, network=network, sources=sources, opts=opts)
        self.output = output
        self._compute_output()
        network.layer_made(self)

    def _compute_output(self) -> None:
        if type(self).compute is not LayerBase.compute:
            with inputs_of_one_beam(self):
                value = self.compute(*self._inputs())
            if self.has_values:
                self.output = self.with_hidden_dims(self.output, value.dims)
            self.output.raw_tensor = None if value.raw_tensor is None else self._in_layout_of(value, self.output)
            if self.network.loop is None:
                self.output = merge_beam(self.output)

    @staticmethod
    def with_hidden_dims(template: Tensor, dims: Sequence[Dim]) -> Tensor:
        """
        :param template: of an output
        :param dims: of its value
        :return: with those of dims that layers do not see, if it lacks some, without value: frames of a loop in front,
            a beam behind the batch
        """
        hidden = [d for i, d in enumerate(dims) if is_hidden(d) and d not in template.dims and d not in dims[:i]]
        if not hidden:
            return template
        beams = [d for d in hidden if d.is_beam_dim]
        res = list(template.dims)
        place = next((i + 1 for i, d in enumerate(res) if d.is_batch_dim), 0)
        res[place:place] = beams
        return template.like(None, dims=[*(d for d in hidden if d not in beams), *res])

    def compute_again(self) -> None:
        """On a backend that computes at once: the output of this step, from that of the sources."""
        self._read_sources()
        self._compute_output()

    def _read_sources(self) -> None:
        """What the layer takes from its sources before it computes."""

    def _set_opts(self, *, name: str, network: Network, sources: Sequence[LayerBase], opts: dict[str, Any]) -> None:
        self.name = name
        self.network = network
        self.sources = list(sources)
        self.kwargs = opts
        self._params: dict[str, Any] = {}
        self._param_inits: dict[str, Any] = {}
        self._reused_params: dict[str, Any] = {}
        self.param_trainable: dict[str, bool] = {}
        self.param_axes_split_info: dict[str, list[list[int]]] = {}
        self.stats: dict[str, Any] = {}
        self.output_loss: Any = None
        self.output_before_activation: OutputWithActivation | None = None
        for key, value in opts.items():
            setattr(self, key, value)
        if not self._is_template:
            self.rec_vars_outputs = {}
            _recent.append(weakref.ref(self))

    def drop_values(self) -> None:
        """On a backend that computes at once: behind a step, nothing of it is kept."""
        self.output.raw_tensor = None
        if self.output_before_activation is not None:
            before = self.output_before_activation
            self.output_before_activation = OutputWithActivation(before.x.copy_template(), before.activation)

    @property
    def loss_class(self) -> type[Loss] | None:
        """of its loss, also where losses are not built"""
        if self._loss_class is None and self.loss is not None and not isinstance(self.loss, str):
            return type(self.loss)
        return self._loss_class

    @property
    def params(self) -> dict[str, Any]:
        """variables of this layer, by their names in its scope; without those that it has from another layer"""
        return self._params

    @property
    def has_values(self) -> bool:
        """whether values are computed now: not for a template, nor while a network is built that computes in steps"""
        return not self._is_template and self.network.has_values

    # ---- what a layer class overrides

    def compute(self, *inputs: Any, **_: Any) -> Tensor:
        """
        :param inputs: outputs of the sources, Tensors; a layer class names those that it takes
        :return: output; on templates without value
        """
        raise NotImplementedError

    def _inputs(self) -> list[Tensor]:
        """
        :return: arguments of ``compute``
        """
        return [self._output_of(source) for source in self.sources]

    def _output_of(self, layer: LayerBase) -> Tensor:
        """
        :param layer: a source, or what one of the ``_layer_options`` names
        :return: its output; within a template run, or where this layer is only built, without value
        """
        return (layer.output.unmerged or layer.output) if self.has_values else template_without_beam(layer.output)

    def _output_of_option(self, key: str) -> Tensor:
        """
        :param key: one of the ``_layer_options``, which must be given
        :return: output of the layer there, see :func:`_output_of`
        :raises ConfigError: the option is missing, or names no layer
        """
        layer = getattr(self, key)
        if layer is None:
            raise ConfigError('option "%s" is missing' % key)
        if not isinstance(layer, LayerBase):
            raise ConfigError("%s must be the name of a layer, but is %r" % (key, layer))
        return self._output_of(layer)

    def _only_source(self, sources: Sequence[_T]) -> _T:
        """
        :param sources: layers, or their outputs
        :raises ConfigError: none, or several
        """
        if len(sources) != 1:
            raise ConfigError("the layer needs exactly one source, but has %i" % len(sources))
        return sources[0]

    def used_layers(self) -> list[LayerBase]:
        """
        :return: whose outputs this one computes with: sources, and what options name
        """
        named: list[Any] = []
        for key in self._layer_options:
            value = getattr(self, key, None)
            named += value if isinstance(value, (list, tuple)) else [value]
        return self.sources + [layer for layer in named if isinstance(layer, LayerBase)]

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        """
        Turns names of layers into layers, in place.

        :param d: the layer's dict without "class"
        :param network: that the layer is in
        :param get_layer: name -> layer
        """
        d["sources"] = [get_layer(name) for name in cls._source_names(d, network)]
        for key in cls._layer_options:
            value = d.get(key)
            if isinstance(value, str):
                d[key] = get_layer(value)
            elif isinstance(value, (list, tuple)):
                d[key] = [get_layer(item) if isinstance(item, str) else item for item in value]
        if isinstance(d.get("reuse_params"), (str, dict)):
            d["reuse_params"] = ReuseParams.from_config(
                d["reuse_params"],
                get_layer=get_layer,
                get_owner=lambda name: network.get_param_owner(name, for_layer=d["_name"]),
            )
        network.make_loss(d, get_layer)
        resolve_target_layers(d, network, get_layer)

    @classmethod
    def _source_names(cls, d: dict[str, Any], network: Network) -> list[str]:
        if "from" not in d and cls._default_source is not None:
            message = 'Missing option "from" of a layer: it meant "data".'
            BehaviorVersion.require(network.is_subnetwork, message, Change.FROM_IS_REQUIRED)
        names = d.pop("from", cls._default_source)
        if names is None:
            names = []
        if isinstance(names, str):
            names = [names]
        if not isinstance(names, (list, tuple)) or not all(isinstance(n, str) for n in names):
            raise ConfigError('option "from" must be a layer name or a list of layer names, but is %r' % (names,))
        return [n for n in names if n != "none"]

    @classmethod
    def get_out_data_from_opts(
        cls, *, name: str, network: Network, sources: Sequence[LayerBase] = (), **opts: Any
    ) -> Tensor:
        """
        :param name: in its network
        :param network: that the layer will be in
        :param sources: layers of ``from``, built
        :param opts: options
        :return: output without value
        """
        layer = cls._template_layer(name=name, network=network, sources=sources, **opts)
        if cls.compute is LayerBase.compute:
            output = layer._default_template()
        else:
            output = layer.compute(*layer._inputs()).copy_template()
            output = layer._with_default_markers(output)
        output.name = layer.output_name
        output.available_for_inference = all(s.output.available_for_inference for s in layer.used_layers())
        return apply_out_type(layer, output)

    @classmethod
    def _template_layer(
        cls, *, name: str, network: Network, sources: Sequence[LayerBase] = (), **opts: Any
    ) -> LayerBase:
        """
        :return: layer with options, for a template run: it never computes values
        """
        layer = object.__new__(cls)
        layer._is_template = True
        layer._set_opts(name=name, network=network, sources=sources, opts=opts)
        return layer

    # ---- output

    def _default_template(self) -> Tensor:
        """of a user's layer that does not say: all axes of the sources, with the output dim as feature"""
        if not self.sources:
            raise ConfigError("%s without sources needs get_out_data_from_opts, or out_type" % type(self).__name__)
        template = common_layout(unify([s.output.copy_template() for s in self.sources]))
        out_dim = self.resolve_out_dim()
        if out_dim is None or template.feature_dim_or_sparse_dim == out_dim:
            return template
        if template.feature_dim_axis is not None:
            return template.copy_template_replace_dim_tag(template.feature_dim_axis, out_dim)
        dims = (*template.dims, out_dim)
        return template.like(None, dims=dims, dtype="float32", sparse_dim=None, feature_dim=out_dim)

    def _with_default_markers(self, output: Tensor) -> Tensor:
        """time of the sources, if the output has that dim, else its first dynamic dim"""
        if output.time_dim_axis is None and output.have_batch_axis():
            times = [s.output.time_dim for s in self.used_layers() if s.output.time_dim is not None]
            dims = [d for d in times if d in output.dims and d != output.feature_dim]
            dims += [d for d in output.dims if d.is_dynamic and d != output.feature_dim]
            if dims:
                output.time_dim_axis = output.get_axis_from_dim(dims[0])
        return output

    def _activated(self, y: Tensor, activation: str | None) -> Tensor:
        """
        :param activation: name or expression of a function; None: none
        :return: the function of y, on its feature axis. Losses get to know y
        """
        function = get_activation(activation, backend=self.network.backend, config=self.network.get_config())
        if function is None:
            return y
        self.output_before_activation = OutputWithActivation(y, activation)
        return function(y, axis=y.feature_dim)

    def _in_layout_of(self, value: Tensor, template: Tensor) -> Any:
        try:
            return value.copy_transpose(template.dims).raw_tensor
        except DimError:
            # out_type, or the source that the template follows, gave other names to the same axes
            names, own = [[d for d in x.dims if d not in y.dims] for x, y in ((template, value), (value, template))]
            if not own or [d.dimension for d in names] != [d.dimension for d in own]:
                raise
            renamed = value.like(value.raw_tensor, dims=[names.pop(0) if d in own else d for d in value.dims])
            return renamed.copy_transpose(template.dims).raw_tensor

    def resolve_out_dim(self) -> Dim | None:
        """
        :return: ``out_dim``, or a dim of size ``n_out``, or that of the target
        """
        if self.out_dim is not None:
            if self.n_out is not None and self.n_out != self.out_dim.dimension:
                raise ConfigError("n_out is %s, but out_dim is %s" % (self.n_out, self.out_dim))
            return self.out_dim
        if self.n_out is not None:
            if not isinstance(self.n_out, int) or self.n_out <= 0:
                raise ConfigError("n_out must be a positive integer, but is %r" % (self.n_out,))
            return self.make_dim("out", self.n_out, kind=DimKind.Feature)
        if isinstance(self.out_type, dict) and isinstance(self.out_type.get("dim"), int):
            return self.make_dim("out", self.out_type["dim"], kind=DimKind.Feature)
        return out_dim_from_target(self)

    def required_out_dim(self) -> Dim:
        """
        :return: see :func:`resolve_out_dim`
        :raises ConfigError: nothing says it
        """
        dim = self.resolve_out_dim()
        if dim is None:
            raise ConfigError("n_out, out_dim or target is needed: nothing says how many outputs the layer has")
        return dim

    def make_dim(self, key: str, size: int | None, *, kind: DimKind = DimKind.Spatial) -> Dim:
        """
        A dim that belongs to this layer: template and real run get the same object.

        :param key: different for each dim of a layer
        :param size: None: dynamic
        :param kind: spatial or feature
        """
        return self.network.dim_of_layer(self.name, key, size, kind)

    # ---- parameters

    def param(
        self,
        name: str,
        dims: Sequence[Dim],
        *,
        init: Any = 0.0,
        trainable: bool | None = None,
        dtype: str = "float32",
        scope: str | None = None,
    ) -> Tensor:
        """
        :param name: behind the layer's scope
        :param dims: static
        :param init: as in configs, see :mod:`.initializers`
        :param trainable: that of the layer by default
        :param dtype: for instance "float32"
        :param scope: between the layer's scope and the name
        :return: [dims..]
        """
        for dim in dims:
            if dim.dimension is None:
                raise ConfigError("parameter %r needs a static size, but %s is not known" % (name, dim))
        if self._is_template or self.network.only_types:
            return Tensor(name, dims, dtype)
        key = "/".join(x for x in (scope, name) if x)
        own_name = "/".join(x for x in (self.scope, key) if x)
        is_learned = trainable is not False
        trainable = self.trainable if trainable is None else trainable and self.trainable
        if key not in self._param_inits:  # it takes its seed once, also if the parameter is one of another layer
            self._param_inits[key] = parse_initializer(init, layer=self)
        param_init = self._param_inits[key]

        def create(full_name: str) -> tuple[Any, Any]:
            shape = [d.require_static() for d in dims]
            var, raw = self.network.create_param(
                full_name, shape, dtype, init=param_init, trainable=trainable, device=self.param_device
            )
            if full_name == own_name:
                self.own_param(key, var, trainable=trainable)
            return var, raw

        if isinstance(self.reuse_params, ReuseParams):
            wanted = WantedParam(self, key, own_name, tuple(dims), dtype, create)
            self._reused_params[key], raw = self.reuse_params.get(wanted)
        else:
            _, raw = create(own_name)
        raw = raw if self.network.has_values else None
        value = Tensor(name, dims, dtype, raw_tensor=raw)
        return with_noise(self, key, value) if is_learned else value

    def _skip_seed(self) -> None:
        """
        Noise is a function of the layer's name and the step. Where configs expect that a layer with noise takes a seed
        from the generator of the network, one is dropped, once: initial values of later layers depend on the number of
        draws before.
        """
        if not self._is_template and not self._has_skipped_seed:
            self._has_skipped_seed = True
            self.network.random.randint(2**31)

    def own_param(
        self, name: str, var: Any, *, trainable: bool | None, axes_split_info: list[list[int]] | None = None
    ) -> None:
        """
        :param name: relative to the layer
        :param var: variable that was made for this layer
        :param trainable: as the layer by default
        :param axes_split_info: see :func:`add_param`
        """
        self._params[name] = var
        self.param_trainable[name] = self.trainable if trainable is None else trainable
        if axes_split_info is not None:
            self.param_axes_split_info[name] = axes_split_info

    def find_param(self, name: str) -> Any:
        """
        :param name: relative to the layer
        :return: variable, also one that this layer has from another one; or None
        """
        return self.params.get(name, self._reused_params.get(name))

    @property
    def scope(self) -> str:
        """in front of the names of the parameters"""
        return self.network.scope_of_layer(self.name, self.name_scope)

    @contextmanager
    def var_creation_scope(self) -> Iterator[None]:
        """
        For layers of users, who make variables with the functions of the framework behind the backend: inside, these
        are in the scope of this layer, outside of any loop, and ``reuse_params`` holds. Pass each one to
        :func:`add_param`.
        """
        with self.network.var_creation_scope(self):
            yield

    def add_param(
        self,
        param: Any,
        custom_update: Any = None,
        trainable: bool | None = None,
        saveable: bool | None = None,
        axes_split_info: list[list[int]] | None = None,
        non_critical_for_restore: bool = False,
    ) -> Any:
        """
        :param param: variable made within :func:`var_creation_scope`
        :param custom_update: a :class:`CustomUpdate`, which updates it instead of an optimizer
        :param trainable: whether the updater may change it; as the variable and the layer say by default
        :param saveable: False: not in checkpoints
        :param axes_split_info: per axis the sizes of the blocks it consists of: ``[[n], [n] * 4]`` for four gates. For
            copies into a network of other dims, block by block
        :param non_critical_for_restore: a checkpoint may lack it
        :return: what to compute with
        """
        if custom_update is not None:
            custom_update.set_on_var(param)
        return self.network.add_param_of_layer(
            self,
            param,
            trainable=trainable,
            saveable=saveable is not False,
            axes_split_info=axes_split_info,
            critical=not non_critical_for_restore,
        )

    # ---- after construction

    def post_init(self, layer_desc: dict[str, Any] | None = None) -> None:
        """
        Called when the output is there: batch normalisation.

        :param layer_desc: options of the layer
        """
        if self.copy_output_loss_from_source_idx is not None:
            self.output_loss = self.sources[self.copy_output_loss_from_source_idx].output_loss
        if getattr(self.loss, "recurrent", False):
            self.recurrent = True
        if self.batch_norm:
            opts = self.batch_norm if isinstance(self.batch_norm, dict) else {}
            normed = batch_norm_module.batch_norm(self, self.output.copy(), **opts)
            self.output.raw_tensor = normed.copy_transpose(self.output.dims).raw_tensor
            self.output_before_activation = None

    def get_constraints_value(self) -> Any:
        """
        :return: raw scalar to add to the objective, or None
        """
        total = self.constraint()
        return None if total is None else total.raw_tensor

    def constraint(self) -> Tensor | None:
        """
        :return: scalar to add to the objective, or None
        """
        total = None
        for term in constraint_terms(self):
            total = term if total is None else total + term
        return total

    @classmethod
    def get_losses(
        cls,
        name: str,
        network: Network,
        output: Tensor,
        loss: Loss | None = None,
        reduce_func: Callable[[Any], Any] | None = None,
        layer: LayerBase | None = None,
        **kwargs: Any,
    ) -> list[Any]:
        """
        :param name: of the layer
        :param network: that it is in
        :param output: of the layer
        :param loss: its option
        :param reduce_func: raw value per frame or sequence -> raw value for the objective; by default the sum
        :param layer: built
        :param kwargs: further options
        :return: of :class:`returnn.network.LossHolder`
        """
        if loss is None or isinstance(loss, str):
            return []
        return [network.make_loss_holder(name=name, loss=loss, layer=layer, reduce_func=reduce_func)]

    # ---- layers it depends on, layers inside

    def get_dep_layers(self) -> list[LayerBase]:
        """
        :return: layers that this one computes with
        """
        return self.used_layers()

    @classmethod
    def cls_get_sub_network(cls, name: str, network: Network, layer_desc: dict[str, Any]) -> Any:
        """
        :param name: of a layer of this class
        :param network: that it is or will be in
        :param layer_desc: its options, as in the config
        :return: :class:`.subnetwork.Subnetwork`, if there is a network inside whose layers can be built before this
            layer itself, ``NAME/inner``; else None
        """
        return None

    def get_sub_layer(self, layer_name: str) -> LayerBase | None:
        """
        :param layer_name: behind the "/"
        :return: None: there is no such one
        """
        return None

    @classmethod
    def get_sub_layer_out_data_from_opts(
        cls, layer_name: str, parent_layer_kwargs: dict[str, Any]
    ) -> tuple[Tensor, type[LayerBase], dict[str, Any]] | None:
        """
        :param layer_name: behind the "/"
        :param parent_layer_kwargs: arguments of :func:`get_out_data_from_opts` of a layer of this class
        :return: output of the sub layer without value, its class, and options. None: there is no such one
        """
        layer = cls._template_layer(**parent_layer_kwargs)
        if cls.compute is not LayerBase.compute:
            layer.output = layer.compute(*layer._inputs())
        sub = layer.get_sub_layer(layer_name)
        return None if sub is None else (sub.output.copy_template(), type(sub), {})

    @classmethod
    def get_available_sub_layer_names(cls, parent_layer_kwargs: dict[str, Any]) -> list[str]:
        """
        :param parent_layer_kwargs: arguments of :func:`get_out_data_from_opts` of a layer of this class
        :return: names for :func:`get_sub_layer`
        """
        return []

    def get_sub_layers(self) -> list[LayerBase]:
        """
        :return: layers that belong to this one
        """
        opts = {"name": self.name, "network": self.network, "sources": self.sources, **self.kwargs}
        names = self.get_available_sub_layer_names(opts)
        layers = [self.get_sub_layer(name) for name in names]
        return [layer for layer in layers if layer is not None]

    def get_sub_networks(self) -> list[Network]:
        """
        :return: networks inside
        """
        return []

    # ---- states, choices

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        """
        :param key: "*" for all parts, joined; else name or number of a part
        :return: [batch, feature], or None if the layer has no state
        """
        return None

    def get_search_choices(self) -> SearchChoices | None:
        """
        :return: of this layer or, of those it depends on, of the latest that chose; None: there are none
        """
        layer = self.network.get_search_choices(src=self)
        return layer.search_choices if layer else None

    @property
    def origin(self) -> LayerBase:
        """the layer whose output this is; another one for ``data`` inside of a sub-network"""
        return self

    # ---- text

    def get_absolute_name(self) -> str:
        """
        :return: from the root network on
        """
        return self.network.name_prefix + self.name

    def get_absolute_name_scope_prefix(self) -> str:
        """
        :return: in front of the names of the parameters, with "/" at the end; "": nothing is in front
        """
        return self.scope + "/" if self.scope else ""

    @classmethod
    def get_recent_layer(cls) -> LayerBase | None:
        """
        :return: layer that was made last, or is being made
        """
        return _recent[-1]() if _recent else None

    @property
    def output_name(self) -> str:
        """name of the output tensor"""
        return self.name + "_output"

    def get_batch_dim(self) -> Any:
        """
        :return: raw scalar: number of sequences
        """
        return self.output.get_batch_dim()

    def __repr__(self) -> str:
        output = getattr(self, "output", None)
        axes = "?" if output is None else output.short_repr()
        return "<%s %s%r out_type=%s>" % (type(self).__name__, self.network.name_prefix, self.name, axes)
