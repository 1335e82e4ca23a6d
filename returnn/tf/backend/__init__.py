"""rf on TensorFlow graphs. Importing this registers the backend."""

from . import graph_table as _graph_table  # noqa: F401 - registers the lookup of lengths and masks
from .backend import TFBackend, backend

__all__ = ["TFBackend", "backend"]
