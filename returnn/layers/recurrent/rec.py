"""The recurrent layer, with a unit over the time axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

from returnn.layers.base import LayerBase
from returnn.layers.registry import layer_class
from returnn.layers.search_choices import SearchChoices
from returnn.log import log
from returnn.tensor import Dim, Tensor, batch_dim, single_step_dim
from returnn.util.errors import ConfigError
from returnn.util.suggest import did_you_mean

from .base import RecurrentLayer
from .construction import layers_read_outside
from .initial import with_all_dims
from .loop import Loop
from .max_len import names_in_max_len, raw_max_seq_len
from .single_step import SingleStep
from .subnet import RecSubnet
from .units import USER_CELLS, Unit, unit_of_name

if TYPE_CHECKING:
    from returnn.network.network import Network


@layer_class("rec")
class RecLayer(RecurrentLayer):
    """A recurrent unit over the time axis. Output [time, batch, other.., F], zero behind a sequence's end.

    Axes of the input besides time, batch and feature are independent sequences. An input without time axis is a single
    step, from ``initial_state``; output [batch, F].
    Parameters: those of the unit, see :mod:`.units`, in the scope ``LAYER/rec``.
    """

    direction: int | None = None
    """1 or None: forwards; -1: backwards, from each sequence's own end"""
    axis: Any = None
    """axis description of the axis to iterate over; default: time. ``single_step_dim``: one step"""
    input_projection: bool = True
    """False: the input is added to the gates as it is (4 n_out features), without W and b. Native LSTMs only"""
    back_prop: bool | None = None
    """False: no gradient through the layer"""
    forward_weights_init: Any = None
    """initial values of W"""
    recurrent_weights_init: Any = None
    """initial values of W_re, or of a unit's joint matrix; if only one of the two is given, it is that of both"""
    bias_init: Any = None
    """initial values of b, where the unit has W, W_re, b; 0 by default"""
    max_seq_len: Any = None
    """bounds loops of unknown length; a loop over an axis of the input has a known one, and is not bounded"""
    max_seq_len_via: LayerBase | str | None = None
    """the same, as a layer with a scalar"""
    include_eos: bool = False
    """concerns loops that end by themselves; a loop over an axis of the input does not"""
    unroll: bool = False
    """had the loop written out, ``max_seq_len`` (int) times; the results are the same, and here it is a loop anyway"""
    optimize_move_layers_out: bool | None = None
    """concerns units that are networks; the results are the same either way"""
    zero_padding: bool = False
    """concerns units that are networks: frames behind a sequence's end are zero, as those of other units are; by
    default they are what the loop computed there. For layers outside; in the loop they are as ever"""
    use_global_rec_step_offset: bool = False
    """concerns units that are networks: where they count their frames from"""
    debug: bool | None = None
    """concerns units that are networks"""
    cheating: bool = False
    """never had an effect: it is an option of layers that choose labels"""

    _layer_options = ("max_seq_len_via",)
    _subnet: RecSubnet | None = None
    _step_output: LayerBase | None = None
    """of a network that does one step of the loop around: its output"""
    _max_len_layers: dict[str, LayerBase] | None = None
    _rnn_cells_dict: ClassVar[dict[str, type]] = USER_CELLS
    """name, in lower case -> class: units of users, which configs may add"""

    @classmethod
    def get_rnn_cell_class(cls, name: str | type, cell_only: bool = False) -> type | Unit:
        """
        :param name: of a unit, letter case does not matter; or a class
        :param cell_only: units that work on whole sequences do not count
        :return: class of a user's unit; else what the unit is made of
        :raises ConfigError: unknown
        """
        return name if isinstance(name, type) else unit_of_name(name, for_single_frames=cell_only)

    @classmethod
    def _create_rnn_cells_dict(cls) -> None:
        """The dict is always there; configs call this before they add to it."""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Network, get_layer: Callable[[str], LayerBase]) -> None:
        if isinstance(d.get("unit"), dict):
            if d.get("unit_opts") is not None:
                raise ConfigError("unit_opts: the unit is a network, which has no options")
            inside = RecSubnet(network, d["_name"], dict(d))
            if network.loop is not None and inside.is_single_step:
                d["_step_output"] = SingleStep(network, d["_name"], dict(d)).get_layer("output")
                super().transform_config_dict(d, network, get_layer)
                return
            d["_subnet"] = subnet = network.network_inside(inside).inside
            assert isinstance(subnet, RecSubnet)
            subnet.build()
            d["_max_len_layers"] = {
                name: _layer_for_max_len(network, name) for name in names_in_max_len(d.get("max_seq_len"))
            }
        super().transform_config_dict(d, network, get_layer)

    def _set_opts(self, **kwargs: Any) -> None:
        super()._set_opts(**kwargs)
        if self._subnet is not None and not self._is_template:
            self._subnet.rec_layer = self
            if self.direction not in (None, 1) and not self.network.only_types:
                text = "layer %r: direction %r has no effect here: the unit is a network, which runs forwards"
                print(text % (self.get_absolute_name(), self.direction), file=log.v2)
            beams = self._subnet.groups.beams
            if beams is not None:
                self.search_choices = beams.choices[-1].search_choices

    def _read_sources(self) -> None:
        if not isinstance(self.unit, dict):  # else the network inside reads them
            super()._read_sources()

    def _inputs(self) -> list[Tensor]:
        return [] if isinstance(self.unit, dict) else super()._inputs()

    def compute(self, x: Tensor | None = None) -> Tensor:
        self._check_loop_options()
        if self._step_output is not None:
            if not self._is_template:
                self.output_before_activation = self._step_output.output_before_activation
            return self._output_of(self._step_output)
        if x is None:
            return self._compute_network()
        return self._run_unit(x, self._spatial_dim(x))

    def _compute_network(self) -> Tensor:
        subnet = self._subnet
        assert subnet is not None
        inner = subnet.net.layers["output"]
        if not self.has_values:
            x = subnet.template_of(inner) if subnet.is_built else inner.output
            dim = subnet.dim_of_output() if subnet.is_built else subnet.loop_dim
            res = x if subnet.is_single_step else x.like(None, dims=[dim, *x.dims], time_dim=dim)
            if not self._is_template:
                subnet.make_templates_of_all_frames()
            return res
        loop = Loop(
            subnet,
            max_seq_len=self._raw_max_seq_len(),
            include_eos=self.include_eos,
            back_prop=self.back_prop is not False,
            zero_padding=self.zero_padding,
        )
        loop.compute()
        if loop.final_scores is not None and loop.beams is not None:
            last = loop.beams.choices[-1]
            choices = SearchChoices(owner=last, beam_size=loop.beams.last.require_static())
            choices.scores = loop.final_scores
            choices.set_beam_scores(choices.scores.copy_transpose([batch_dim, loop.beams.last]).raw_tensor)
            for layer in (self, *loop.beams.choices):  # all outputs are of these hypotheses now
                layer.search_choices = choices
            for layer in loop.groups.in_loop:  # values of one frame
                if layer.search_choices is not None and layer.search_choices.is_decided:
                    layer.search_choices.forget()
        self.output_before_activation = inner.output_before_activation
        x = inner.output.unmerged or inner.output
        if subnet.is_single_step:
            return x
        dim = subnet.dim_of_output()
        if dim not in x.dims:
            x = with_all_dims(x, [dim, *x.dims], loop)
        x.time_dim_axis = x.get_axis_from_dim(dim)
        return x

    def _raw_max_seq_len(self) -> Any:
        if isinstance(self.max_seq_len_via, LayerBase):
            return self.max_seq_len_via.output.raw_tensor
        return raw_max_seq_len(self.max_seq_len, self._max_len_layers, self.network.backend)

    @property
    def _net_inside(self) -> Network | None:
        if self._step_output is not None:
            return self._step_output.network
        return None if self._subnet is None else self._subnet.net

    @property
    def params(self) -> dict[str, Any]:
        """also the variables of all layers inside, by their names in the scope of this layer"""
        net = self._net_inside
        if net is None or (self._subnet is not None and not hasattr(self._subnet, "groups")):
            return self._params
        inner = [(path, layer) for path, layer in sorted(net.layers.items()) if "/" not in path]
        return self._params | {
            "%s/%s" % (path, name): var for path, layer in inner for name, var in layer.params.items()
        }

    def drop_values(self) -> None:
        if not isinstance(self.unit, dict):
            super().drop_values()
            return
        LayerBase.drop_values(self)
        if self._subnet is not None:
            self._subnet.last_frames.clear()
            self._subnet.last_states.clear()

    def get_dep_layers(self) -> list[LayerBase]:
        """also those outside that layers inside compute with"""
        inside = [] if self._step_output is None else [self._step_output]
        if self._subnet is not None and self._subnet.is_built:
            inside = layers_read_outside(self._subnet)
        return list(dict.fromkeys([*super().get_dep_layers(), *inside]))

    def get_sub_networks(self) -> list[Network]:
        return [] if self._net_inside is None else [self._net_inside]

    def get_sub_layer(self, layer_name: str) -> LayerBase | None:
        net = self._net_inside
        if net is None:
            return None
        if layer_name not in net.layers and net.has_layer(layer_name):
            raise ConfigError(
                "layer %r of the unit of layer %r is not built, as nothing needs it. Add 'is_output_layer': True to "
                "its options." % (layer_name, self.name)
            )
        return net.layers.get(layer_name)

    def get_last_hidden_state(self, key: Any) -> Tensor | None:
        """
        See :meth:`RecurrentLayer.get_last_hidden_state`. Of a network inside, that of its output.
        """
        if self._net_inside is not None:
            return self._net_inside.layers["output"].get_last_hidden_state(key)
        return super().get_last_hidden_state(key)

    @property
    def layer_of_state(self) -> LayerBase:
        return self if self._step_output is None else self._step_output.layer_of_state

    def get_state_of_frame_before(self, key: Any) -> Tensor | None:
        if self._step_output is not None:
            return self._step_output.get_state_of_frame_before(key)
        return super().get_state_of_frame_before(key)

    def last_frame(self, name: str) -> Tensor:
        """
        :param name: of a layer of the unit, with ``need_last``
        :return: its output at the last frame of each sequence, and with the initial output where there is no frame;
            without value where this layer has none
        :raises ConfigError: there is no such layer
        """
        if self._subnet is None:
            raise ConfigError("layer %r has no layers inside: its unit is no network" % self.name)
        layer = self._subnet.net.layers.get(name)
        if layer is None or layer.network.loop is not self._subnet:
            layers = self._subnet.net.layers_desc
            raise ConfigError("the unit of layer %r has no layer %r.%s" % (self.name, name, did_you_mean(name, layers)))
        if not layer.need_last:
            raise ConfigError(
                "the last frame of layer %r of the unit of layer %r is not kept: give it need_last: True"
                % (name, self.name)
            )
        return self._subnet.last_frames[layer] if self.has_values else self._subnet.template_of_last_frame(layer)

    def _check_loop_options(self) -> None:
        if self.unroll and not isinstance(self.max_seq_len, int):
            raise ConfigError("unroll needs max_seq_len as a number, but that is %r" % (self.max_seq_len,))
        if isinstance(self.max_seq_len_via, LayerBase) and self.max_seq_len_via.output.dims:
            raise ConfigError(
                "max_seq_len_via must be a layer with a scalar, but is %s" % self.max_seq_len_via.output.short_repr()
            )
        if self._subnet is not None and not self._subnet.length_is_known:
            if self.max_seq_len is None and self.max_seq_len_via is None:
                raise ConfigError(
                    'the loop may run forever, as only the layer "end" of the unit ends it: specify max_seq_len'
                )
        if self.cheating and not self._is_template:
            print("layer %r: cheating has no effect here; it is an option of class choice" % self.name, file=log.v2)

    def _spatial_dim(self, x: Tensor) -> Dim | None:
        """
        :return: of x, to iterate over; None: one step
        """
        if self.state is not None:
            return None
        if self.axis is single_step_dim or (self.axis is None and not x.have_time_axis()):
            return self.loop_dim_of(x)
        dim = x.dims[x.get_axis_from_description("T" if self.axis is None else self.axis)]
        if dim.is_batch_dim or dim == x.feature_dim:
            raise ConfigError("axis %r: cannot iterate over %s of the input %s" % (self.axis, dim, x.short_repr()))
        return dim

    def _inits_given(self) -> list[Any]:
        return [self.forward_weights_init, self.recurrent_weights_init, self.bias_init]


def _layer_for_max_len(network: Network, name: str) -> LayerBase:
    """``base:NAME`` is looked up from here first; configs also say it for a layer beside this one"""
    if name.startswith("base:") and network.parent_net is None:
        name = name[len("base:") :]
    return network.get_layer_or_missing(name)
