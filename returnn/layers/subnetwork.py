"""A network inside of a layer, and the layer class that is nothing else.

A layer class says by ``cls_get_sub_network`` that there is a network inside: a :class:`Subnetwork`. Its layers are
built on demand, by the network around it, so that ``NAME/inner`` needs only what ``inner`` depends on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from returnn.log import log
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

from .base import LayerBase
from .concat_input import ConcatInputLayer
from .registry import layer_class

if TYPE_CHECKING:
    from returnn.network.network import Network


class Subnetwork:
    """The network inside of a layer: what it is made of, and what it has from the layer around it.

    A layer class whose ``data`` inside is something else than its sources derives from this, see :func:`data_layer`;
    one whose layers inside name layers outside without ``base:``, see :func:`outer_layer`.
    """

    has_scope = True
    """parameters of the layers inside have the name of the layer around in front"""
    is_hidden = False
    """the layers inside are not among those of the network around: they have no losses, and nobody outside names
    them"""
    is_deferred = False
    """the layers inside are only built; the layer around computes them, see ``Network.compute_inside``"""
    is_complete = False
    """the layer around builds all layers inside that are needed"""
    scope_suffix = ""
    """behind the name of the layer around, in front of the parameters inside"""

    def __init__(self, parent_net: Network, name: str, opts: dict[str, Any] | None = None):
        """
        :param parent_net: network that the layer is in
        :param name: of the layer
        :param opts: of the layer: ``subnetwork`` is the layer dict of the network inside; the scope and ``trainable``
            hold there too. By default what the config says
        """
        self.parent_net = parent_net
        self.name = name
        self.opts = parent_net.desc_of_layer(name) if opts is None else opts
        self.key = name
        """different for each network inside of a layer"""

    def __repr__(self) -> str:
        return "<%s %r>" % (type(self).__name__, self.parent_net.name_prefix + self.name)

    @property
    def net(self) -> Network:
        """the network; always the same object"""
        return self.parent_net.network_inside(self)

    @property
    def net_dict(self) -> dict[str, Any]:
        """layer name -> options, as the config has it"""
        return self.opts["subnetwork"]

    def get_layer(self, name: str) -> LayerBase:
        """
        :param name: in the network inside
        :return: built
        :raises LayerMissing: it has to be built first; whoever builds layers of ``parent_net`` does so
        """
        return self.net.get_layer_or_missing(name)

    def construct_layer(self, name: str) -> LayerBase:
        """
        :param name: in the network inside
        :return: built now, with all that it depends on
        """
        return self.net.build_layer(name)

    def data_layer(self, name: str) -> LayerBase | None:
        """
        :param name: ``data`` or ``data:KEY``, as a layer inside says it
        :return: what it means inside; made at the first look. None: the same as outside
        :raises LayerMissing: another layer has to be built first
        """
        names = self.opts.get("from", "data")
        names = [n for n in ([names] if isinstance(names, str) else names) if n != "none"]
        if self.opts.get("concat_sources", True):
            if name != "data":
                return None
        else:
            by_name = {"data:%i" % i: n for i, n in enumerate(names)} | {"data:" + n: n for n in names}
            if names:
                by_name["data"] = names[0]
            if name not in by_name:
                return None
            names = [by_name[name]]
        if not names:
            raise ConfigError('"data" is used in the subnetwork %r, but its "from" is empty' % self.net.name_prefix)
        sources = [self.parent_net.get_layer_or_missing(n) for n in names]
        opts: dict[str, Any] = {key: self.opts[key] for key in _INPUT_OPTIONS if key in self.opts}
        opts.update(name=name, network=self.net, sources=sources)
        return SubnetworkInputLayer(**opts, output=SubnetworkInputLayer.get_out_data_from_opts(**opts))

    @property
    def loop(self) -> Any:
        """:class:`.recurrent.subnet.RecSubnet`, if this is one"""
        return None

    @property
    def masking(self) -> Any:
        """:class:`.masking.Masking` of the frames of a loop around, if the layer around masks these"""
        return None

    def loop_layer(self, net: Network, name: str) -> LayerBase | None:
        """
        :param net: the network inside, or its extra net
        :param name: ``:i`` or ``prev:NAME``, as a layer inside says it
        :return: what it means inside. None: this is no loop, so the network around decides
        """
        return None

    def outer_layer(self, name: str) -> LayerBase | None:
        """
        :param name: that the network inside does not know; with ``base:`` in front as a layer inside says it
        :return: what it means inside. None: nothing; ``base:`` leads outside as ever
        :raises LayerMissing: another layer has to be built first
        """
        return None


_INPUT_OPTIONS = ("dropout", "dropout_noise_shape", "dropout_axis", "dropout_on_forward")


@layer_class("subnetwork")
class SubnetworkLayer(ConcatInputLayer):
    """A layer dict with an ``output`` layer. Inside, ``data`` are the sources, and ``base:NAME`` is a layer outside.

    Its layers are built on demand, as ``NAME/inner``: whoever needs only one of them does not need the output. Those
    with a loss, and output layers, are built even if nothing depends on them. ``dropout`` is that of the input.
    """

    recurrent = True

    subnetwork: dict[str, Any] | None = None
    """layer dict; must be given"""
    _inner_output: LayerBase
    _has_loaded = False
    concat_sources: bool = True
    """inside, ``data`` are the sources joined on the feature axis; False: ``data:0``, .. and ``data:NAME``, and
    ``data`` is the first"""
    load_on_init: str | dict[str, Any] | Callable[[], Any] | None = None
    """initial values of the parameters inside: name of a checkpoint, or a dict of options, see
    :class:`returnn.tf.network.CustomCheckpointLoader`, or a function that returns one of these"""
    encapsulate: bool = False
    """whoever needs a layer inside needs this one first; else they are on their own"""

    @classmethod
    def cls_get_sub_network(cls, name: str, network: Network, layer_desc: dict[str, Any]) -> Subnetwork | None:
        if not isinstance(layer_desc.get("subnetwork"), dict):
            return None  # an error, when this layer is built
        return Subnetwork(network, name, layer_desc)

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        if not isinstance(d.get("subnetwork"), dict):
            raise ConfigError('option "subnetwork" must be a layer dict')
        if "output" not in d["subnetwork"]:
            raise ConfigError('the subnetwork has no layer "output"')
        d["_inner_output"] = Subnetwork(network, d["_name"], dict(d)).get_layer("output")
        super().transform_config_dict(d, network, get_layer)
        if d.get("reuse_params"):
            text = "layer %s: reuse_params has no effect on a subnetwork, only on the layers in it."
            log.print_warning(text % (network.name_prefix + d["_name"]))

    def _set_opts(self, **kwargs: Any) -> None:
        LayerBase._set_opts(self, **kwargs)  # the input is made once, by the network inside
        self.subnet = self._inner_output.network

    def _read_sources(self) -> None:
        pass

    @property
    def params(self) -> dict[str, Any]:
        """also the variables of all layers inside, by their names in the scope of this layer"""
        inner = [(path, layer) for path, layer in sorted(self.subnet.layers.items()) if "/" not in path]
        return self._params | {
            "%s/%s" % (path, name): var for path, layer in inner for name, var in layer.params.items()
        }

    def _inputs(self) -> list[Tensor]:
        return []

    def compute(self) -> Tensor:
        inner = self._inner_output
        if not self._is_template:
            self.output_before_activation = inner.output_before_activation
            self.output_loss = inner.output_loss
        return self._output_of(inner)

    def _with_default_markers(self, output: Tensor) -> Tensor:
        return output

    def post_init(self, layer_desc: dict[str, Any] | None = None) -> None:
        super().post_init(layer_desc)
        if self.load_on_init is not None and not self._has_loaded:
            self._has_loaded = True
            opts = self.load_on_init() if callable(self.load_on_init) else self.load_on_init
            if isinstance(opts, str):
                opts = {"filename": opts}
            if not isinstance(opts, dict):
                raise ConfigError("load_on_init must be the name of a checkpoint or a dict, but is %r" % (opts,))
            self.network.load_params_on_init(self, opts)

    def get_sub_layer(self, layer_name: str) -> LayerBase | None:
        return self.subnet.layers.get(layer_name)

    @classmethod
    def get_available_sub_layer_names(cls, parent_layer_kwargs: dict[str, Any]) -> list[str]:
        return sorted(name for name in parent_layer_kwargs["subnetwork"] if not name.startswith("#"))

    def get_sub_layers(self) -> list[LayerBase]:
        return [layer for path, layer in sorted(self.subnet.layers.items()) if "/" not in path]

    def get_sub_networks(self) -> list[Network]:
        return [self.subnet]

    def get_dep_layers(self) -> list[LayerBase]:
        return [*super().get_dep_layers(), self._inner_output]

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        return self._inner_output.get_last_hidden_state(key)

    @property
    def layer_of_state(self) -> LayerBase:
        return self._inner_output.layer_of_state

    def get_state_of_frame_before(self, key: Any) -> Tensor | None:
        return self._inner_output.get_state_of_frame_before(key)


@layer_class(":subnetwork-input")
class SubnetworkInputLayer(ConcatInputLayer):
    """``data`` inside of a subnetwork: the sources of the layer outside, joined, with its dropout. Made implicitly."""

    def compute(self, x: Tensor) -> Tensor:
        if len(self.sources) == 1 and not self.dropout and not self._is_template:
            self.output_before_activation = self.sources[0].output_before_activation
            self.output_loss = self.sources[0].output_loss
        return x

    @property
    def origin(self) -> LayerBase:
        if len(self.sources) == 1 and not self.dropout:
            return self.sources[0].origin
        return self
