"""The backends: which one a config wants, and the classes that work for it. They are imported when one is used."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from returnn._version import __version__
from returnn.log import log
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import UserError
from returnn.util.lazy import import_name
from returnn.util.suggest import did_you_mean

if TYPE_CHECKING:
    from returnn.config import Config


@dataclass(frozen=True)
class Backend:
    """Names of the form ``"module:attribute"``."""

    name: str
    key_prefix: str
    """Of the config keys that only this backend reads."""
    setup: str
    """``f(config)``: selects the device, and says which."""
    engine: str
    """A class, ``Engine(config)``."""
    min_behavior_version: int


_tensorflow = Backend(
    name="tensorflow-net-dict",
    key_prefix="tf_",
    setup="returnn.tf.session:setup_backend",
    engine="returnn.tf.engine:Engine",
    min_behavior_version=0,
)

BACKENDS: dict[str, Backend] = {"tensorflow-net-dict": _tensorflow, "tensorflow": _tensorflow}
"""Value of the config key ``backend`` -> backend."""

_not_yet = ("torch", "jax")
_prefixes = ("tf_", "torch_", "jax_")


def select_backend(config: Config) -> Backend:
    """
    :param config: keys ``backend``, ``use_tensorflow``; without them what the config declares tells it:
        ``network`` or ``get_network`` is a layer dict, ``get_model`` a PyTorch module
    :raises UserError: there is no such backend, or nothing tells which one
    """
    name = _backend_name(config)
    if name in _not_yet:
        raise UserError(
            f"backend {name!r} is not there yet in this version ({__version__}). There is: 'tensorflow-net-dict',"
            " for configs with a layer dict `network`."
        )
    if name not in BACKENDS:
        raise UserError(f"backend {name!r} is unknown.{did_you_mean(name, BACKENDS)} There are: {sorted(BACKENDS)}")
    return BACKENDS[name]


def _backend_name(config: Config) -> str:
    name = config.value("backend", None)
    if name:
        return name
    if config.bool("use_tensorflow", False):
        return "tensorflow-net-dict"
    if config.typed_value("network") or config.typed_value("get_network"):
        return "tensorflow-net-dict"
    if config.typed_value("get_model"):
        return "torch"
    raise UserError(
        "No backend defined. Please set the config option 'backend'."
        ' For a layer dict `network`: backend = "tensorflow-net-dict"'
    )


def setup_backend(backend: Backend, config: Config) -> None:
    """Selects the device. From here on the backend is imported, and its behaviour version is in effect."""
    BehaviorVersion.set_min_behavior_version(backend.min_behavior_version)
    _warn_about_keys_of_others(backend, config)
    import_name(backend.setup)(config)


def make_engine(backend: Backend, config: Config) -> Any:
    """:return: the engine of the backend"""
    return import_name(backend.engine)(config)


def _warn_about_keys_of_others(backend: Backend, config: Config) -> None:
    others = tuple(prefix for prefix in _prefixes if prefix != backend.key_prefix)
    for key in sorted({*config.typed_dict, *config.dict}):
        if key.startswith(others):
            log.print_warning(f"config key {key!r} belongs to another backend than {backend.name!r}.")
