"""What a network inside of a loop over frames knows of the loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.layers.masking import Masking
    from returnn.layers.recurrent.subnet import RecSubnet
    from returnn.layers.subnetwork import Subnetwork

    from .network import Network


class RecContext:
    """Part of :class:`~returnn.network.Network`."""

    inside: Subnetwork | None
    parent_net: Network | None

    @property
    def loop(self) -> RecSubnet | None:
        """the innermost loop that this network is in; None: there is none"""
        net: Any = self
        while net is not None:
            if net.inside is not None and net.inside.loop is not None:
                return net.inside.loop
            net = net.parent_net
        return None

    @property
    def masking(self) -> Masking | None:
        """of the innermost loop, the frames in which something changes in this network; None: in all of them"""
        net: Any = self
        while net is not None and net.inside is not None and net.inside.loop is None:
            if net.inside.masking is not None:
                return net.inside.masking
            net = net.parent_net
        return None

    def require_loop(self) -> RecSubnet:
        """
        :return: the innermost loop that this network is in
        :raises ConfigError: there is none
        """
        loop = self.loop
        if loop is None:
            raise ConfigError("%r: we expect to be the subnet of a rec layer, but we are not." % self)
        return loop

    def is_inside_rec_layer(self, inside_loop: bool = True) -> bool:
        """
        :param inside_loop: layers that were moved out of the loop do not count
        :return: whether this network is computed frame by frame
        """
        loop = self.loop
        return loop is not None and (not inside_loop or loop.is_frame_by_frame())

    def have_rec_step_info(self) -> bool:
        """
        :return: whether :func:`get_rec_step_info` and :func:`get_rec_step_index` can be asked
        """
        loop = self.loop
        return loop is not None and loop.run is not None and loop.run.index is not None

    def get_rec_step_info(self) -> Any:
        """
        :return: of the frame that is computed: its attribute ``index`` is a Tensor
        :raises ConfigError: there is no loop
        """
        run = self.require_loop().run
        if run is None:
            raise ConfigError("%r: no frame is computed now" % self)
        return run

    def get_rec_step_index(self) -> Any:
        """
        :return: raw int32 scalar: number of the frame, from 0; of layers moved out of the loop [frames]
        :raises ConfigError: there is no loop
        """
        return self.get_rec_step_info().index.raw_tensor

    def get_rec_parent_layer(self, inside_loop: bool = True) -> Any:
        """
        :param inside_loop: layers that were moved out of the loop do not count
        :return: layer with the loop; None: there is none
        """
        return self.require_loop().rec_layer if self.is_inside_rec_layer(inside_loop) else None

    def get_inside_rec_time_dim(self, inside_loop: bool = True) -> Any:
        """
        :param inside_loop: layers that were moved out of the loop do not count
        :return: dim that the loop runs over; None: there is no loop
        """
        return self.require_loop().loop_dim if self.is_inside_rec_layer(inside_loop) else None
