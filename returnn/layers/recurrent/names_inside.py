"""What names mean inside of a recurrent unit: ``data``, ``prev:NAME``, ``:i``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.layers.base import LayerBase
from returnn.layers.missing import LayerMissing
from returnn.layers.source import UnknownLayer
from returnn.layers.subnetwork import SubnetworkInputLayer
from returnn.tensor import Tensor, batch_dim
from returnn.util.errors import ConfigError

from .initial import layer_of_initial_output
from .loop_layers import RecFrameLayer, RecPreviousLayer, RecStepInfoLayer

if TYPE_CHECKING:
    from returnn.network.network import Network

    from .subnet import RecSubnet

_INPUT_OPTIONS = ("dropout", "dropout_noise_shape", "dropout_axis", "dropout_on_forward")


class NamesInside:
    """Makes the layers that stand for what the unit sees of the loop, each once."""

    def __init__(self, subnet: RecSubnet):
        """
        :param subnet: the unit
        """
        self._subnet = subnet
        self.layers_before: list[RecPreviousLayer] = []
        """all that stand for the frame before of a layer that is built"""

    def data_frame(self, name: str) -> LayerBase:
        """
        :param name: ``data`` or ``data:KEY``
        :return: its frame
        :raises LayerMissing: a layer outside has to be built first
        """
        subnet = self._subnet
        is_source = name == "data:source" or (name == "data" and subnet.source_names())
        full = self._joined_sources(name) if is_source else subnet.parent_net.get_layer_or_missing(name)
        return RecFrameLayer(name=name, network=subnet.net, full=full, loop_dim=subnet.loop_dim_of_inputs, what=name)

    def frames_of(self, net: Network, full: LayerBase) -> RecFrameLayer:
        """
        :param net: the network inside, or one inside of that
        :param full: a layer outside, with the axis of the loop
        :return: its frame
        """
        name = ":frame:" + full.get_absolute_name()
        found = net.layers.get(name)
        if not isinstance(found, RecFrameLayer):
            what, dim = "layer %r" % full.name, self._subnet.loop_dim_of_inputs
            found = RecFrameLayer(name=name, network=net, full=full, loop_dim=dim, what=what)
            net.layers[name] = found
        return found

    def step_info(self, net: Network) -> LayerBase:
        """
        :param net: the network inside, or one inside of that
        :return: ``:i``
        """
        if ":i" not in net.layers:
            net.layers[":i"] = RecStepInfoLayer(name=":i", network=net)
        return net.layers[":i"]

    def layer_before(self, net: Network, name: str) -> LayerBase:
        """
        :param net: the network inside, or one inside of that
        :param name: of a layer there
        :return: the layer at the frame before
        :raises LayerMissing: its type is not known, so that the layer has to be built first
        """
        if name.startswith("prev:"):
            raise ConfigError("prev:%s: there is only one frame before" % name)
        full_name = "prev:" + name
        if net.only_types:
            return self._type_before(net, name)
        found = net.layers.get(full_name)
        if not isinstance(found, RecPreviousLayer):
            template = self._subnet.types.get(net.name_prefix + name)
            if template is None:
                net.get_layer_or_missing(name)  # an error: there is no such layer
                raise AssertionError("the type of layer %r was not derived" % name)
            found = RecPreviousLayer(name=full_name, network=net, output=template.copy_template(), of_name=name)
            net.layers[full_name] = found
            self.layers_before.append(found)
        return found

    def _joined_sources(self, name: str) -> LayerBase:
        """``from``, of all frames"""
        subnet = self._subnet
        net = subnet.net
        if not subnet.source_names():
            raise ConfigError('"%s" is used in the unit of layer %r, but its "from" is empty' % (name, subnet.name))
        full = net.layers.get(":source")
        if full is None:
            opts: dict[str, Any] = {key: subnet.opts[key] for key in _INPUT_OPTIONS if key in subnet.opts}
            opts.update(name=":source", network=net, sources=subnet.sources())
            with net.building_ctx():
                full = SubnetworkInputLayer(**opts, output=SubnetworkInputLayer.get_out_data_from_opts(**opts))
            net.layers[":source"] = full
        return full

    def _type_before(self, net: Network, name: str) -> LayerBase:
        try:
            layer = net.get_layer_or_missing(name)
        except LayerMissing as missing:
            if missing.name not in missing.network.types_to_guess:
                missing.only_type = True
                raise
            path = net.name_prefix + name
            template = self._subnet.types.get(path) or _initial_type(net, name)
            self._subnet.type_rounds.taken[path] = template
        else:
            template = _initial_type(net, name) if layer.is_unknown else layer.output
        if template is None:
            return UnknownLayer(name="prev:" + name, network=net)
        return RecPreviousLayer(name="prev:" + name, network=net, output=template.copy_template(), of_name=name)


def _initial_type(net: Network, name: str) -> Tensor | None:
    """a layer that is the initial output tells what the output is, and so does the target of a choice"""
    layer = layer_of_initial_output(net, name)
    if layer is not None:
        return None if layer.is_unknown else layer.output
    return _type_of_choice(net, name)


def _type_of_choice(net: Network, name: str) -> Tensor | None:
    """
    :return: labels like those of the target, [batch]; None if the layer is no choice of such labels
    """
    desc = net.desc_of_layer(name) if net.has_layer(name) else {}
    if desc.get("class") != "choice" or desc.get("input_type") == "regression":
        return None
    target = desc.get("target")
    target = target[0] if isinstance(target, (list, tuple)) and target else target
    if not isinstance(target, str) or net.has_layer(target) or target not in net.extern_data.data:
        return None
    dim = net.extern_data.data[target].sparse_dim
    return None if dim is None else Tensor(name, dims=[batch_dim], dtype="int32", sparse_dim=dim)
