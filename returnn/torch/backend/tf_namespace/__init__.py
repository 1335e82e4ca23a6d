"""``tf`` for TensorFlow code in configs, on torch tensors: the functions that real configs use, and no others.

Arguments are those of TensorFlow (names of version 1 too), numbers and lists are fine where tensors are. Integers of
Python become int32, shapes are int32 tensors on the host. What changes state or needs a graph is not there; functions
that order operations (``tf.control_dependencies``) do nothing, as here all is computed in the order in which it stands.

Random functions draw anew in each step, and the same if a run is resumed.
"""

from . import control, elementwise, nn, random, reductions, shapes, v1
from .namespace import Namespace

_types = control.TYPES
_everywhere = {**elementwise.FUNCTIONS, **reductions.FUNCTIONS}
_linalg = Namespace("tf.linalg", shapes.LINALG)
_random = Namespace("tf.random", random.FUNCTIONS)
_math = Namespace("tf.math", {**_everywhere, **elementwise.MATH, **nn.MATH})
_nn = Namespace("tf.nn", nn.FUNCTIONS)
_debugging = Namespace("tf.debugging", control.DEBUGGING)
_names = {
    **_types,
    **_everywhere,
    **shapes.FUNCTIONS,
    **control.FUNCTIONS,
    **random.OLD_NAMES,
    "nn": _nn,
    "math": _math,
    "linalg": _linalg,
    "random": _random,
    "debugging": _debugging,
}
tf_v1 = Namespace(
    "tf",
    {
        **_names,
        **v1.FUNCTIONS,
        "nn": Namespace("tf.nn", {**nn.FUNCTIONS, **v1.NN}),
    },
)
"""``tf.compat.v1``, where functions differ from those of the same name in version 2"""
tf = Namespace("tf", {**v1.DROPPED, **_names, "compat": Namespace("tf.compat", {"v1": tf_v1})})

__all__ = ["Namespace", "tf", "tf_v1"]
