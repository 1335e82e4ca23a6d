"""returnn.util.files: a final name holds the old content or the new one, complete, whenever the process dies."""

from __future__ import annotations

import errno
import io
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from returnn.util import files
from returnn.util.errors import UserError


@pytest.fixture
def log_v3(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the module logs at level 3."""
    stream = io.StringIO()
    monkeypatch.setattr(files, "log", SimpleNamespace(v3=stream))
    return stream


class FakeTime:
    """A clock that moves only by sleeping; seconds."""

    def __init__(self) -> None:
        self.now = 100.0

    def clock(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def _start(code: str, *args: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", code, *args], stdout=subprocess.PIPE, text=True)


def _read_line(proc: subprocess.Popen[str]) -> str:
    assert proc.stdout
    return proc.stdout.readline().strip()


def _kill(proc: subprocess.Popen[str]) -> None:
    os.kill(proc.pid, signal.SIGKILL)
    proc.communicate(timeout=60)
    assert proc.returncode == -signal.SIGKILL


def test_atomic_write_replaces_content_and_leaves_only_the_file(tmp_path: Path) -> None:
    path = tmp_path / "f"
    for content in ("old ä\n", "new\n"):
        with files.atomic_write(str(path)) as f:
            f.write(content)
        assert path.read_text("utf8") == content
    assert os.listdir(tmp_path) == ["f"]


def test_atomic_write_binary(tmp_path: Path) -> None:
    with files.atomic_write(str(tmp_path / "f"), "wb") as f:
        f.write(b"\0\xff")
    assert (tmp_path / "f").read_bytes() == b"\0\xff"


def test_atomic_write_accepts_a_bare_file_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with files.atomic_write("f") as f:
        f.write("x")
    assert (tmp_path / "f").read_text() == "x"


def test_atomic_write_final_name_is_untouched_until_the_end(tmp_path: Path) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    with files.atomic_write(str(path)) as f:
        f.write("new")
        f.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, OSError])
def test_atomic_write_error_inside_leaves_old_content_and_nothing_else(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "f"
    path.write_text("old")
    with pytest.raises(error):
        with files.atomic_write(str(path)) as f:
            f.write("half")
            raise error
    assert os.listdir(tmp_path) == ["f"] and path.read_text() == "old"


def test_atomic_write_failing_rename_leaves_nothing(tmp_path: Path) -> None:
    """A folder cannot be replaced by a file."""
    (tmp_path / "d").mkdir()
    with pytest.raises(IsADirectoryError):
        with files.atomic_write(str(tmp_path / "d")) as f:
            f.write("x")
    assert os.listdir(tmp_path) == ["d"]


def test_atomic_write_keeps_a_symlink(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "f").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "store" / "f")
    with files.atomic_write(str(tmp_path / "link")) as f:
        f.write("new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "store" / "f").read_text() == "new"


def test_atomic_write_permissions_follow_the_umask(tmp_path: Path) -> None:
    """0666 without 0027 is 0640, as with open()."""
    old = os.umask(0o027)
    try:
        with files.atomic_write(str(tmp_path / "f")) as f:
            f.write("x")
    finally:
        os.umask(old)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("mode", ["a", "r", "x", "w+"])
def test_atomic_write_refuses_other_modes(tmp_path: Path, mode: str) -> None:
    with pytest.raises(ValueError, match="mode must be"):
        with files.atomic_write(str(tmp_path / "f"), mode):
            pass


def test_two_writers_of_one_file_do_not_mix(tmp_path: Path) -> None:
    """Last rename wins; each content stays whole."""
    path = str(tmp_path / "f")
    with files.atomic_write(path) as a, files.atomic_write(path) as b:
        a.write("a" * 10)
        b.write("b" * 20)
        a.flush()
    assert (tmp_path / "f").read_text() == "a" * 10  # the outer block ends last
    assert os.listdir(tmp_path) == ["f"]


def test_killed_in_the_middle_of_writing_old_content_stays_and_the_rest_is_recognised(tmp_path: Path) -> None:
    path = tmp_path / "net.003"
    path.write_text("old")
    proc = _start(
        "import sys, time\n"
        "from returnn.util.files import atomic_write\n"
        "with atomic_write(sys.argv[1]) as f:\n"
        "    f.write('half'); f.flush(); print('ready', flush=True); time.sleep(100)\n",
        str(path),
    )
    assert _read_line(proc) == "ready"
    _kill(proc)
    assert path.read_text() == "old"
    (left,) = set(os.listdir(tmp_path)) - {"net.003"}
    assert files.TEMP_SUFFIX in left
    assert files.remove_stale_temp_files(str(tmp_path / "net")) == [str(tmp_path / left)]
    assert os.listdir(tmp_path) == ["net.003"]


def test_killed_at_random_moments_content_is_always_whole(tmp_path: Path) -> None:
    """The child writes 2 MB of one letter again and again; a torn file would have another size or two letters."""
    path, size = tmp_path / "f", 2_000_000
    rnd = random.Random(1)
    for _ in range(5):
        proc = _start(
            "import sys\n"
            "from returnn.util.files import atomic_write\n"
            "for i in range(10**6):\n"
            "    with atomic_write(sys.argv[1]) as f:\n"
            "        for _ in range(20):\n"
            "            f.write('ab'[i % 2] * (int(sys.argv[2]) // 20))\n"
            "    if i == 2: print('ready', flush=True)\n",
            str(path),
            str(size),
        )
        assert _read_line(proc) == "ready"
        time.sleep(rnd.uniform(0, 0.05))
        _kill(proc)
        content = path.read_text()
        assert len(content) == size and len(set(content)) == 1


def test_rename_durable_replaces(tmp_path: Path) -> None:
    src, dst = tmp_path / "src", tmp_path / "dst"
    src.write_text("new")
    dst.write_text("old")
    files.rename_durable(str(src), str(dst))
    assert os.listdir(tmp_path) == ["dst"] and dst.read_text() == "new"


def test_atomic_write_and_rename_sync_content_before_and_folder_after_the_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    real_fsync, real_replace = os.fsync, os.replace

    def fsync(fd: int) -> None:
        events.append("sync folder" if os.path.isdir(f"/proc/self/fd/{fd}") else "sync file")
        real_fsync(fd)

    def replace(src: str, dst: str) -> None:
        events.append("rename")
        real_replace(src, dst)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(os, "replace", replace)
    with files.atomic_write(str(tmp_path / "f")) as f:
        f.write("x")
    assert events == ["sync file", "rename", "sync folder"]
    events.clear()
    files.rename_durable(str(tmp_path / "f"), str(tmp_path / "g"))
    assert events == ["sync file", "rename", "sync folder"]


def test_remove_stale_temp_files_takes_only_temporary_names_of_the_prefix(tmp_path: Path) -> None:
    """A temporary prefix may get suffixes from its writer, as checkpoints do."""
    stale = [
        os.path.basename(files.temp_path("net.003")),
        os.path.basename(files.temp_path("net.003")) + ".index",
        os.path.basename(files.temp_path("net.pretrain.004")) + ".data-00000-of-00001.tempstate12",
        "net.new_tmp",
    ]
    keep = ["net.003.index", "net.003.data-00000-of-00001", "network2.003.new_tmp", "net.new_tmpx", "other.new_tmp"]
    for name in stale + keep:
        (tmp_path / name).write_text("")
    assert files.remove_stale_temp_files(str(tmp_path / "net")) == sorted(str(tmp_path / n) for n in stale)
    assert sorted(os.listdir(tmp_path)) == sorted(keep)


def test_remove_stale_temp_files_without_folder(tmp_path: Path) -> None:
    assert files.remove_stale_temp_files(str(tmp_path / "not-there" / "net")) == []


def test_remove_file_gives_the_bytes_freed(tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"12345")
    assert files.remove_file(str(tmp_path / "f")) == 5
    assert files.remove_file(str(tmp_path / "f")) == 0


@pytest.mark.parametrize("code", [errno.EBUSY, errno.EDQUOT, errno.EIO, errno.ENOSPC])
def test_retry_on_disk_full_tries_until_it_works(log_v3: io.StringIO, code: int) -> None:
    """Two failures: two pauses of 10 s."""
    fake, calls = FakeTime(), []

    def save() -> str:
        calls.append(fake.now)
        if len(calls) < 3:
            raise OSError(code, "the reason", "/x/net.003")
        return "saved"

    assert files.retry_on_disk_full(save, what="model", sleep=fake.sleep, clock=fake.clock) == "saved"
    assert calls == [100.0, 110.0, 120.0]
    lines = f"Exception while saving: [Errno {code}] the reason: '/x/net.003'\nTrying again in 10 secs.\n"
    assert log_v3.getvalue() == lines * 2


def test_retry_on_disk_full_gives_up_after_the_bound(log_v3: io.StringIO) -> None:
    """At 0, 10, 20, 30 s; the try at 30 s is the last one, since 30 >= 25."""
    fake, calls = FakeTime(), []

    def save() -> None:
        calls.append(fake.now)
        raise OSError(errno.ENOSPC, "No space left on device", "/x/net.003")

    with pytest.raises(UserError) as info:
        files.retry_on_disk_full(
            save, what="model file '/x/net.003'", max_seconds=25, sleep=fake.sleep, clock=fake.clock
        )
    assert len(calls) == 4
    assert str(info.value) == (
        "Cannot save model file '/x/net.003': [Errno 28] No space left on device: '/x/net.003'.\n"
        "Tried for 0.5 minutes. This needs free space on this file system.\n"
        "Nothing that was saved before is lost: mend that and run the same command again."
    )


def test_retry_on_disk_full_waits_ten_minutes_by_default(log_v3: io.StringIO) -> None:
    fake = FakeTime()

    def save() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(UserError):
        files.retry_on_disk_full(save, what="model", sleep=fake.sleep, clock=fake.clock)
    assert fake.now == 100 + 600


@pytest.mark.parametrize("error", [PermissionError(errno.EACCES, "no"), ValueError("bug")])
def test_retry_on_disk_full_passes_other_errors_on_at_once(error: Exception) -> None:
    fake = FakeTime()

    def save() -> None:
        raise error

    with pytest.raises(type(error)):
        files.retry_on_disk_full(save, what="model", sleep=fake.sleep, clock=fake.clock)
    assert fake.now == 100
