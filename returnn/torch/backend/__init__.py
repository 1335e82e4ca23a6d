"""rf on PyTorch. Importing this registers the backend."""

from .backend import TorchBackend, backend
from .values import on_device

__all__ = ["TorchBackend", "backend", "on_device"]
