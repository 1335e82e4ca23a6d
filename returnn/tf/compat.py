"""TensorFlow in graph mode: the one place that imports it and fixes how it behaves.

Graphs and sessions are those of ``tf.compat.v1``, loops and conditionals are control flow v1 (faster steps than v2
where measured), variables are resource variables.
"""

from __future__ import annotations

import gc
import os

# Otherwise each process starts with half a screen about instruction sets and CUDA libraries. Users can still set it.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

from . import tf1_names

v1 = tf.compat.v1

v1.disable_eager_execution()
v1.disable_control_flow_v2()
v1.enable_resource_variables()
tf1_names.install()

# Modules stay. Without them a full garbage collection, one in each large graph, takes 0.02 s in place of 0.2 s.
gc.freeze()

__all__ = ["tf", "v1"]
