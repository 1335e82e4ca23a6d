"""Which backend a config wants."""

from __future__ import annotations

from typing import Any

import pytest

from returnn.backends import select_backend
from returnn.config import Config
from returnn.util.errors import UserError


@pytest.mark.parametrize(
    "options",
    [
        {"backend": "tensorflow-net-dict"},
        {"backend": "tensorflow"},
        {"use_tensorflow": True},
        {"network": {"output": {}}},
        {"get_network": lambda epoch, **_: {}},
        {"backend": None, "use_tensorflow": True},
    ],
)
def test_layer_dict(options: dict[str, Any]) -> None:
    assert select_backend(Config(options)).name == "tensorflow-net-dict"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "No backend defined. Please set the config option 'backend'."),
        ({"use_tensorflow": False}, "No backend defined."),
        ({"backend": "torch"}, "backend 'torch' is not there yet in this version"),
        ({"get_model": lambda: None}, "backend 'torch' is not there yet in this version"),
        ({"backend": "touch", "use_tensorflow": True}, "backend 'touch' is unknown."),
    ],
)
def test_other(options: dict[str, Any], message: str) -> None:
    with pytest.raises(UserError) as info:
        select_backend(Config(options))
    assert str(info.value).startswith(message)
