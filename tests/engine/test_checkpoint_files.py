"""returnn.engine.checkpoint_files: names, and what goes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from returnn.engine.checkpoint_files import (
    delete_checkpoint,
    delete_old_crash_checkpoints,
    delete_old_optimizer_states,
    epoch_of_checkpoint,
    strip_checkpoint_suffix,
)
from tests.engine.common import make_models, models_here, tf_parts


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    "name, epoch",
    [
        ("x/network.pretrain.012", 12),
        ("foo", None),
        ("foo.012", 12),
        ("foo.1234", 1234),
        ("foo.012.crash_3", 12),
        ("a.0012.broken", 12),
        ("foo.003.012", 12),
        ("foo012", None),
        ("foo.012.index", 12),
        ("foo.012.meta", 12),
        ("foo.012.data-00000-of-00001", 12),
        ("foo.012.pt", 12),
        ("v.3/foo", None),
    ],
)
def test_epoch_of_checkpoint(name: str, epoch: int | None) -> None:
    assert epoch_of_checkpoint(name) == epoch


@pytest.mark.parametrize("parts", [tf_parts, (".pt",)])
def test_epoch_of_checkpoint_follows_symlinks(parts: tuple[str, ...]) -> None:
    os.mkdir("d")
    for part in parts:
        Path("d/net.007" + part).write_text("")
        os.symlink("d/net.007" + part, "best" + part)
    assert epoch_of_checkpoint("best") == 7
    assert epoch_of_checkpoint("best" + parts[0]) == 7


@pytest.mark.parametrize("suffix", ["", ".index", ".meta", ".pt", ".opt.pt", ".data-00000-of-00001"])
def test_strip_checkpoint_suffix(suffix: str) -> None:
    assert strip_checkpoint_suffix("a.index/net.003" + suffix) == "a.index/net.003"


def test_delete_checkpoint_takes_its_files_only_and_the_index_first(monkeypatch: pytest.MonkeyPatch) -> None:
    make_models("net.001", "net.0012", "net.001.optim", "net.001x")
    Path("net.001.data-00001-of-00002").write_text("12345")
    removed: list[str] = []
    real_remove = os.remove
    monkeypatch.setattr(os, "remove", lambda path: (removed.append(path), real_remove(path)))
    assert delete_checkpoint("./net.001") == 305
    assert removed == [
        "./net.001.index",
        "./net.001.data-00000-of-00001",
        "./net.001.data-00001-of-00002",
        "./net.001.meta",
    ]
    assert models_here() == ["net.001.optim", "net.0012", "net.001x"]
    assert delete_checkpoint("./net.001") == 0 and delete_checkpoint("not-there/net") == 0


def test_newest_two_optimizer_states_are_kept() -> None:
    make_models("net.001", "net.001.optim", "net.pretrain.002.optim", "net.004.optim", "net.010.optim", "x.001.optim")
    assert delete_old_optimizer_states("net", epoch=10) == 600
    assert models_here() == ["net.001", "net.004.optim", "net.010.optim", "x.001.optim"]
    assert delete_old_optimizer_states("net", epoch=10) == 0


def test_optimizer_states_of_later_epochs_of_a_former_run_do_not_push_out_the_current_ones() -> None:
    """Started again at epoch 2, while models of epochs 8 and 9 are there."""
    make_models("net.001.optim", "net.002.optim", "net.003.optim", "net.008.optim", "net.009.optim")
    delete_old_optimizer_states("net", epoch=3)
    assert models_here() == ["net.002.optim", "net.003.optim", "net.008.optim", "net.009.optim"]


def test_optimizer_state_that_was_half_deleted_goes_too() -> None:
    make_models("net.001.optim", "net.002.optim", "net.003.optim")
    os.remove("net.001.optim.index")
    assert delete_old_optimizer_states("net", epoch=3) == 200
    assert models_here() == ["net.002.optim", "net.003.optim"]


def test_newest_crash_checkpoint_is_kept() -> None:
    """By time, not by name."""
    names = ["net.003.broken", "net.010.crash_5", "net.002.crash_17"]
    make_models(*names, "net.001", "other.001.crash_1")
    for time, name in enumerate(names):
        for part in tf_parts:
            os.utime(name + part, (1000 + time, 1000 + time))
    assert delete_old_crash_checkpoints("net") == 600
    assert models_here() == ["net.001", "net.002.crash_17", "other.001.crash_1"]
