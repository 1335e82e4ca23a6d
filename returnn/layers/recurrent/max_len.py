"""The longest a loop may become: option ``max_seq_len``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from returnn.layers.base import LayerBase
    from returnn.tensor.backend import Backend


def names_in_max_len(option: Any) -> list[str]:
    """
    :param option: ``max_seq_len``
    :return: of the layers whose lengths the expression uses
    """
    if not isinstance(option, str):
        return []
    return re.findall(r"""max_len_from\(\s*["']([^"']*)["']\s*\)""", option)


def raw_max_seq_len(option: Any, layers: Mapping[str, LayerBase] | None, backend: Backend) -> Any:
    """
    :param option: ``max_seq_len``: int, raw scalar, or an expression with ``max_len_from(NAME)`` and ``tf``
    :param layers: those that :func:`names_in_max_len` names
    :param backend: that computes
    :return: int32 raw scalar or int; None: no option
    """
    if not isinstance(option, str):
        return option

    def max_len_from(name: str) -> Any:
        layer = (layers or {}).get(name)
        if layer is None:
            raise ConfigError("max_len_from: the name of the layer must stand there as a text, not %r" % (name,))
        dim = layer.output.time_dim
        if dim is None:
            raise ConfigError("max_len_from(%r): %s has no time axis" % (name, layer.output.short_repr()))
        return backend.convert(dim.get_dim_value(), "int32")

    names = {**backend.user_code_globals(), "max_len_from": max_len_from}
    try:
        value = eval(option, names)
    except ConfigError:
        raise
    except Exception as exc:
        raise ConfigError("max_seq_len = %r: %s: %s" % (option, type(exc).__name__, exc)) from exc
    return value if isinstance(value, int) else backend.cast(value, "int32")
