"""What a network inside of a loop over frames knows of the loop."""

from __future__ import annotations

from typing import Any

from returnn.util.errors import ConfigError


class RecContext:
    """Part of :class:`~returnn.network.Network`: no network is inside of a loop yet."""

    def is_inside_rec_layer(self, inside_loop: bool = True) -> bool:
        """
        :param inside_loop: layers that were moved out of the loop do not count
        :return: whether this network is computed frame by frame
        """
        return False

    def have_rec_step_info(self) -> bool:
        """
        :return: whether :func:`get_rec_step_info` and :func:`get_rec_step_index` can be asked
        """
        return False

    def get_rec_step_info(self) -> Any:
        """
        :return: of the frame that is computed
        :raises ConfigError: there is no loop
        """
        raise ConfigError("%r: we expect to be the subnet of a rec layer, but we are not." % self)

    def get_rec_step_index(self) -> Any:
        """
        :return: raw int32 scalar: number of the frame, from 0
        :raises ConfigError: there is no loop
        """
        return self.get_rec_step_info()

    def get_rec_parent_layer(self, inside_loop: bool = True) -> Any:
        """
        :param inside_loop: layers that were moved out of the loop do not count
        :return: layer with the loop; None: there is none
        """
        return None

    def get_inside_rec_time_dim(self, inside_loop: bool = True) -> Any:
        """
        :param inside_loop: layers that were moved out of the loop do not count
        :return: dim that the loop runs over; None: there is no loop
        """
        return None
