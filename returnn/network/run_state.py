"""What a network knows of the pass over a dataset that it is used for, and who wants to hear of its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any


class RunState:
    """Part of :class:`~returnn.network.Network`: options of a run, and callbacks. Those of a root network count."""

    if TYPE_CHECKING:  # what the network has

        def get_root_network(self) -> Any: ...

    def __init__(self) -> None:
        self._run_opts: dict[str, Any] = {}
        self._seq_tags: Sequence[str] | None = None
        self._graph_reset_callbacks: list[Callable[[], None]] = []
        self._run_finished_callbacks: list[Callable[[], None]] = []

    def set_run_opts(self, **opts: Any) -> None:
        """
        :param opts: epoch, dataset_name: for layers that write files
        """
        self.get_root_network()._run_opts = opts

    def get_run_opts(self) -> dict[str, Any]:
        """
        :return: of :func:`set_run_opts`
        """
        return self.get_root_network()._run_opts

    def set_seq_tags_of_step(self, tags: Sequence[str] | None) -> None:
        """
        :param tags: of the sequences of the step that comes now; None: not known
        """
        self.get_root_network()._seq_tags = tags

    def get_seq_tags_of_step(self) -> Sequence[str] | None:
        """
        :return: for messages, while the step is computed
        """
        return self.get_root_network()._seq_tags

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
