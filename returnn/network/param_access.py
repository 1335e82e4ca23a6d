"""How layers and the engine get at the parameters of a network."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from returnn.tensor import Tensor
from returnn.tensor.backend import Backend
from returnn.util.errors import ConfigError

from .params import ParamStore

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase
    from returnn.layers.subnetwork import Subnetwork

    from .network import Network


class ParamAccess:
    """Part of :class:`~returnn.network.Network`. Parameters belong to the root network."""

    backend: Backend
    all_trainable: bool
    """False: the layer dict says that no parameter changes"""

    if TYPE_CHECKING:  # what the network has
        outer_net: Network | None
        inside: Subnetwork | None

        def get_root_network(self) -> Network: ...

    def __init__(self) -> None:
        self._param_store = ParamStore()
        self.all_trainable = True

    def create_param(
        self, name: str, shape: Sequence[int], dtype: str, *, init: Any, trainable: bool, device: str | None = None
    ) -> tuple[Any, Any]:
        """
        :param name: full
        :param shape: sizes of its axes
        :param dtype: for instance "float32"
        :param init: :class:`returnn.frontend.init.ParamInit`
        :param trainable: that of the enclosing layers counts too
        :param device: where it is; only for backends that compute on several ones at once
        :return: variable, raw value
        :raises ConfigError: the name is taken by a parameter of another shape
        """
        store = self.param_store
        if name not in store:
            trainable = trainable and self.enclosing_trainable()
            var, raw = self.backend.create_parameter(name, shape, dtype, init=init, trainable=trainable)
            store.add(name, var, raw, shape, dtype, trainable=trainable)
        return store.get(name, shape)

    def use_random_state(self) -> None:
        """
        Called where parameters get noise. Noise needs no state, see :mod:`returnn.frontend.run_ctx`; but a checkpoint
        may have to hold one.
        """

    def load_params_on_init(self, layer: LayerBase, opts: dict[str, Any]) -> None:
        """
        The option ``load_on_init`` of a layer.

        :param layer: built; its ``params`` start with values of a checkpoint
        :param opts: of :class:`returnn.tf.network.CustomCheckpointLoader`: ``filename``, ..
        """
        raise ConfigError("load_on_init is not supported on backend %r" % self.backend.name)

    def var_creation_scope(self, layer: LayerBase) -> contextlib.AbstractContextManager[None]:
        """
        See :func:`LayerBase.var_creation_scope`.
        """
        raise self._only_in_graphs("var_creation_scope")

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
        """
        See :func:`LayerBase.add_param`.

        :param layer: a user's
        :param param: variable that it made
        :param trainable: None: as the variable says
        :param saveable: it is part of checkpoints
        :param axes_split_info: per axis the sizes of its blocks
        :param critical: a checkpoint must have it
        :return: what to compute with
        """
        raise self._only_in_graphs("add_param")

    def _only_in_graphs(self, what: str) -> Exception:
        return ConfigError(
            "%s() is for layers in TensorFlow graphs only: on backend %r, a layer has self.param() and compute()"
            % (what, self.backend.name)
        )

    def enclosing_trainable(self) -> bool:
        """
        :return: whether all layers around this network are trainable
        """
        if self.outer_net is None:
            return True
        own = self.inside is None or bool(self.inside.opts.get("trainable", True))
        return own and self.outer_net.enclosing_trainable()

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
        return self.param_store.variables(trainable=True) if self.get_root_network().all_trainable else []

    def get_num_params(self) -> int:
        """
        :return: number of numbers
        """
        return self.param_store.count()
