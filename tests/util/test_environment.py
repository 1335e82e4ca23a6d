"""Environment variables."""

from __future__ import annotations

import os

import pytest

from returnn.util.basic import cleanup_env_var_path


@pytest.mark.parametrize(
    ("before", "after", "num_removed"),
    [("/a/b:/c:/a/b/d:/ab:/a/bc", "/c:/ab:/a/bc", 2), ("/a/b", "", 1), (":/c:", ":/c:", 0)],
)
def test_a_folder_and_those_below_go(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], before: str, after: str, num_removed: int
) -> None:
    monkeypatch.setenv("X_PATH", before)
    cleanup_env_var_path("X_PATH", "/a/b")
    assert os.environ["X_PATH"] == after
    assert capsys.readouterr().out.count("Removing /a/b") == num_removed


def test_unset_variable_stays_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("X_PATH", raising=False)
    cleanup_env_var_path("X_PATH", "/a")
    assert "X_PATH" not in os.environ
