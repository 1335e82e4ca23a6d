"""Local copies of files, shared by processes."""

from __future__ import annotations

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from returnn.config import Config, global_config_ctx
from returnn.datasets import init_dataset
from returnn.util import file_cache
from returnn.util.errors import ConfigError, UserError
from returnn.util.file_cache import CachedFile, FileCache


class Disk(NamedTuple):
    """As shutil.disk_usage gives it."""

    total: int
    used: int
    free: int


@pytest.fixture
def src(tmp_path: Path) -> Path:
    """The original file."""
    path = tmp_path / "data" / "a.txt"
    path.parent.mkdir()
    path.write_text("some content")
    return path


@pytest.fixture
def cache(tmp_path: Path) -> FileCache:
    return FileCache(cache_directory=str(tmp_path / "cache"))


def _use(cache: FileCache, src: Path) -> Path:
    name = cache.get_file(str(src))
    cache.release_files(name)
    return Path(name)


def _age(path: Path, secs: float) -> None:
    then = time.time() - secs
    os.utime(path, (then, then))


def test_copy_and_its_info(cache: FileCache, src: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    copy = _use(cache, src)
    assert copy == Path(f"{tmp_path}/cache{src}")
    assert copy.read_text() == "some content"
    assert json.loads(Path(f"{copy}.returnn-info").read_text()) == {"mtime_ns": src.stat().st_mtime_ns}
    assert sorted(p.name for p in copy.parent.iterdir()) == ["a.txt", "a.txt.returnn-info"]


def test_copy_is_used_again(cache: FileCache, src: Path) -> None:
    """As long as the source has its size and is not newer."""
    copy = _use(cache, src)
    copy.write_text("THE CONTENT!")  # of the same size
    assert _use(cache, src).read_text() == "THE CONTENT!"
    os.utime(src, ns=(0, src.stat().st_mtime_ns - 10**9))  # older
    assert _use(cache, src).read_text() == "THE CONTENT!"
    os.utime(src, ns=(0, time.time_ns() + 10**9))  # newer
    assert _use(cache, src).read_text() == "some content"
    copy.write_text("shorter")
    assert _use(cache, src).read_text() == "some content"
    Path(f"{copy}.returnn-info").write_text("{")
    copy.write_text("THE CONTENT!")
    assert _use(cache, src).read_text() == "some content"


def test_used_files_are_touched(cache: FileCache, src: Path) -> None:
    name = cache.get_file(str(src))
    _age(Path(name), 1000)
    deadline = time.time() + 10
    while os.stat(name).st_mtime < time.time() - 100 and time.time() < deadline:
        time.sleep(0.1)
    assert os.stat(name).st_mtime > time.time() - 10
    cache.release_files([name])
    time.sleep(0.2)
    _age(Path(name), 1000)
    time.sleep(1.5)
    assert os.stat(name).st_mtime < time.time() - 900


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """Total and free bytes; what is deleted becomes free."""
    state = {"total": 1000, "free": 1000}
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Disk(state["total"], 0, state["free"]))
    yield state


_day = 24 * 3600.0


def _make_copies(cache: FileCache, ages: dict[str, float]) -> Path:
    folder = Path(cache.cache_directory)
    folder.mkdir(parents=True)
    for name, age in ages.items():
        for suffix in ("", ".returnn-info"):
            (folder / (name + suffix)).write_text("x" * 100 if not suffix else "{}")
            _age(folder / (name + suffix), age)
    return folder


def _names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if not p.name.startswith("."))


@pytest.mark.parametrize(
    ["free", "need", "left"],
    [
        (1000, 0, "abc"),  # only what is older than 31 days
        (150, 0, "bc"),  # 200 are wanted: what is older than a day, oldest first, until it is enough
        (50, 0, "c"),  # the same
        (50, 120, "c"),  # 120 are needed, 240 wanted: all that is older than a day
        (50, 260, ""),  # 260 are needed: all that is not in use
    ],
)
def test_cleanup(cache: FileCache, disk: dict[str, int], free: int, need: int, left: str) -> None:
    folder = _make_copies(cache, {"old": 32 * _day, "a": 3 * _day, "b": 2 * _day, "c": 60.0, "used": 1.0})
    disk["free"] = free - (100 if free < 1000 else 0)  # "old" becomes free in any case
    cache.cleanup(need_at_least_free_space_size=need)
    assert _names(folder) == sorted(n + s for n in [*left, "used"] for s in ("", ".returnn-info"))


def test_cleanup_that_is_not_enough(cache: FileCache, disk: dict[str, int]) -> None:
    _make_copies(cache, {"used": 1.0})
    disk["free"] = 10
    with pytest.raises(OSError, match="all other files are in use") as info:
        cache.cleanup(need_at_least_free_space_size=50)
    assert info.value.errno == errno.ENOSPC


def test_full_scan_is_not_repeated_soon(cache: FileCache, disk: dict[str, int]) -> None:
    """Unless space is missing."""
    folder = _make_copies(cache, {"a": 1.0})
    cache.cleanup()
    _age(folder / "a", 40 * _day)
    cache.cleanup()
    assert "a" in _names(folder)
    disk["free"] = 100
    cache.cleanup()
    assert _names(folder) == []


def test_leftovers_are_removed(cache: FileCache, disk: dict[str, int]) -> None:
    """Info without its file, a copy that was not finished, a lock."""
    folder = _make_copies(cache, {})
    for name in ("a.returnn-info", "b.copy", "c.returnn-lock"):
        (folder / name).write_text("")
        _age(folder / name, 40 * _day)
    cache.cleanup()
    assert _names(folder) == []


def test_no_space_is_told(cache: FileCache, src: Path, disk: dict[str, int], monkeypatch: pytest.MonkeyPatch) -> None:
    disk["free"] = 1
    monkeypatch.setattr(time, "sleep", lambda secs: None)
    with pytest.raises(UserError, match=r"FileCache: no space for a copy of .*a.txt .* after 3 tries"):
        cache.get_file(str(src))
    assert not list(Path(cache.cache_directory).rglob("*.copy"))


def test_stale_lock_is_removed(cache: FileCache, src: Path) -> None:
    lock = Path(cache.path_of(str(src)) + ".returnn-lock")
    lock.parent.mkdir(parents=True)
    lock.write_text("")
    _age(lock, 30)
    assert _use(cache, src).read_text() == "some content"
    assert not lock.exists()


def test_lock_of_somebody_else_is_waited_for(cache: FileCache, src: Path) -> None:
    lock = Path(cache.path_of(str(src)) + ".returnn-lock")
    lock.parent.mkdir(parents=True)
    lock.write_text("")
    done: list[Path] = []
    thread = threading.Thread(target=lambda: done.append(_use(cache, src)))
    thread.start()
    time.sleep(0.5)
    assert not done
    lock.unlink()
    thread.join(timeout=10)
    assert done[0].read_text() == "some content"


def test_several_processes_get_whole_files(tmp_path: Path, src: Path) -> None:
    src.write_bytes(os.urandom(20_000_000))
    code = (
        "import sys, zlib; from returnn.util.file_cache import FileCache;"
        f"name = FileCache(cache_directory={str(tmp_path / 'cache')!r}).get_file({str(src)!r});"
        "print(zlib.crc32(open(name, 'rb').read()))"
    )
    root = Path(__file__).parent.parent.parent
    processes = [
        subprocess.Popen([sys.executable, "-c", code], cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(4)
    ]
    results = {process.communicate(timeout=60)[0] for process in processes}
    assert len(results) == 1 and results.pop().strip().isdigit()


def test_missing_file(cache: FileCache, src: Path) -> None:
    with pytest.raises(UserError, match=r'FileCache: file not found: .*a.txd.*Did you mean "a.txt"'):
        cache.get_file(str(src).replace("txt", "txd"))


def test_files_in_options(cache: FileCache, src: Path) -> None:
    opts: dict[str, Any] = {"files": [CachedFile(str(src)), "b"], "more": ({"x": CachedFile(str(src))}, 1)}
    new, files = cache.handle_cached_files_in_config(opts)
    copy = cache.path_of(str(src))
    assert new == {"files": [copy, "b"], "more": ({"x": copy}, 1)} and files == [copy, copy]
    cache.release_files(files)


def test_dataset_reads_the_copy(tmp_path: Path) -> None:
    config = Config({"file_cache_opts": {"cache_directory": str(tmp_path / "cache")}})
    path = tmp_path / "texts.py"
    path.write_text("{'a': 'x y', 'b': 'y'}")
    vocab = {"class": "Vocabulary", "vocab_file": None, "labels": ["x", "y"], "unknown_label": None}
    opts = {"class": "TextDictDataset", "item_format": "single", "filename": CachedFile(str(path)), "vocab": vocab}
    with global_config_ctx(config):
        dataset: Any = init_dataset(opts)
        assert dataset.filename == f"{tmp_path}/cache{path}"
        cache = file_cache.get_instance()
        assert file_cache.get_instance() is cache
        assert cache._toucher._counts[dataset.filename] == 1
        del dataset
        assert not cache._toucher._counts


def test_default_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", "/some/disk")
    monkeypatch.setenv("USER", "me")
    assert FileCache().cache_directory == "/some/disk/me/returnn/file_cache"
    monkeypatch.delenv("TMPDIR")
    assert FileCache().cache_directory == "/tmp/me/returnn/file_cache"


def test_wrong_option() -> None:
    with pytest.raises(ConfigError, match="^file_cache_opts = {'cache_dir': 'x'}: .*unexpected keyword"):
        file_cache.get_instance(Config({"file_cache_opts": {"cache_dir": "x"}}))
