"""Gradients and optimizers: what turns the objective of a network into new parameters.

:class:`Updater` is what the engine uses. Users write optimizers as subclasses of :class:`BaseCustomOptimizer`; layers
may replace the gradient update of a variable by a :class:`CustomUpdate`.
"""

from __future__ import annotations

from returnn.tf.updater.base import BaseCustomOptimizer
from returnn.tf.updater.custom_update import CustomUpdate
from returnn.tf.updater.registry import get_optimizer_class, register_optimizer_class
from returnn.tf.updater.updater import Updater

__all__ = ["BaseCustomOptimizer", "CustomUpdate", "Updater", "get_optimizer_class", "register_optimizer_class"]
