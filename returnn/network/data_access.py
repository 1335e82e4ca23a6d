"""How layers and the engine get at the data of a network."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.tensor import Tensor

from .extern_data import ExternData

_SEQ_INFO = ("seq_tag", "seq_idx")


class DataAccess:
    """Part of :class:`~returnn.network.Network`. Data belong to the root network."""

    extern_data: ExternData

    if TYPE_CHECKING:  # what the network has

        def get_root_network(self) -> Any: ...

    def __init__(self) -> None:
        self.used_data_keys: set[str] = set()

    def get_extern_data(self, key: str | None, mark_data_key_as_used: bool = True) -> Tensor:
        """
        :param key: None: default input; ``seq_tag`` and ``seq_idx`` are always there
        :param mark_data_key_as_used: it has to be fed then
        :raises DataNotFound: listing the keys there are
        """
        root = self.get_root_network()
        if key is None:
            key = root.extern_data.default_input
        if key not in root.extern_data.data and key in _SEQ_INFO:
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

    def get_seq_tags(self, mark_data_key_as_used: bool = True) -> Any:
        """
        :param mark_data_key_as_used: they have to be fed then
        :return: raw: string [batch]
        """
        return self.get_extern_data("seq_tag", mark_data_key_as_used).raw_tensor

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
        return key in extern_data.extra_added_keys and key not in _SEQ_INFO

    def get_data_batch_dim(self) -> Any:
        """
        :return: raw scalar: number of sequences
        """
        items = [data for _, data in self.get_root_network().extern_data.get_sorted_data_items()]
        there = [data for data in items if data.raw_tensor is not None]  # a step may lack what nothing uses
        return (there or items)[0].get_batch_dim()

    def get_default_target(self) -> str:
        """
        :return: data key
        """
        return self.extern_data.default_target
