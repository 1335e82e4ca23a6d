"""From a layer dict to layers, on any backend."""

from .extern_data import DataNotFound, ExternData
from .loss_holder import LossHolder
from .network import Network

__all__ = ["DataNotFound", "ExternData", "LossHolder", "Network"]
