"""Model files for the tests of this folder."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

tf_parts = (".index", ".meta", ".data-00000-of-00001")

Scores = Mapping[int, Mapping[str, float]]


def make_models(*prefixes: str, size: int = 100) -> None:
    """TensorFlow checkpoints of three files of ``size`` bytes each."""
    for prefix in prefixes:
        os.makedirs(os.path.dirname(prefix) or ".", exist_ok=True)
        for part in tf_parts:
            Path(prefix + part).write_bytes(b"x" * size)


def models_here() -> list[str]:
    """Prefixes in the current folder."""
    return sorted(name.removesuffix(".index") for name in os.listdir() if name.endswith(".index"))


def falling(epochs: Iterable[int]) -> Scores:
    """The last epoch is the best one."""
    return {epoch: {"dev_score": 1 / epoch} for epoch in epochs}


def capture_log(monkeypatch: pytest.MonkeyPatch, *modules: ModuleType) -> io.StringIO:
    """
    :return: gets what the modules log, each line with its level: ``"3 text"``
    """
    stream = io.StringIO()

    class Level:
        def __init__(self, level: int) -> None:
            self.level = level

        def write(self, text: str) -> None:
            at_line_start = stream.getvalue()[-1:] in ("", "\n")
            stream.write(f"{self.level} {text}" if at_line_start else text)

    for module in modules:
        monkeypatch.setattr(module, "log", SimpleNamespace(**{f"v{i}": Level(i) for i in range(1, 6)}))
    return stream
