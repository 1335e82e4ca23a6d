"""Copies of files on a local disk, shared by all processes of a machine.

Beside the copy ``F`` of a file stand ``F.returnn-info`` (JSON, the time stamp of the source when it was copied) and,
while somebody works on it, the lock ``F.returnn-lock``. A copy is made as ``F.copy`` and then renamed, so ``F`` is
complete. It is valid if it is as large as the source, and the source is not newer than the time stamp tells.
Files that are in use are touched each second, as are locks that are held; what was not touched for long is not in use
any more, whatever happened to its user.
"""

from __future__ import annotations

import collections
import contextlib
import dataclasses
import errno
import getpass
import json
import os
import shutil
import threading
import time
from collections.abc import Collection, Iterator
from typing import Any

from returnn.config import Config, get_global_config
from returnn.log import log
from returnn.util.errors import ConfigError, UserError
from returnn.util.files import atomic_write, remove_file
from returnn.util.format import human_size
from returnn.util.suggest import file_not_found

INFO_SUFFIX = ".returnn-info"
LOCK_SUFFIX = ".returnn-lock"
COPY_SUFFIX = ".copy"
_own_suffixes = (INFO_SUFFIX, LOCK_SUFFIX)

STALE_LOCK_SECS = 20.0
"""A lock that was not touched for so long belongs to nobody any more."""

IN_USE_SECS = 10.0
"""A file that was touched within this time is in use."""

_touch_interval_secs = 1.0
_full_scan_interval_secs = 10 * 60.0
_seconds_per_day = 24 * 60 * 60.0
_copy_chunk_bytes = 16 << 20
_stamp_file = ".returnn-last-cleanup"


@dataclasses.dataclass(frozen=True)
class CachedFile:
    """In the options of a dataset: stands for the local copy of a file."""

    filename: str
    """the original one"""


class FileCache:
    """See the module."""

    def __init__(
        self,
        *,
        cache_directory: str = "$TMPDIR/$USER/returnn/file_cache",
        cleanup_files_always_older_than_days: float = 31.0,
        cleanup_files_wanted_older_than_days: float = 1.0,
        cleanup_disk_usage_wanted_free_ratio: float = 0.2,
        cleanup_disk_usage_wanted_multiplier: float = 2.0,
        num_tries: int = 3,
    ):
        """
        :param cache_directory: may have environment variables; ``$TMPDIR`` is ``/tmp`` and ``$USER`` the login name if
            they are not set
        :param cleanup_files_always_older_than_days: a cleanup removes what was not used for so long
        :param cleanup_files_wanted_older_than_days: this too, if there is less free space than wanted
        :param cleanup_disk_usage_wanted_free_ratio: of the disk, should be free
        :param cleanup_disk_usage_wanted_multiplier: times what is needed, should be free
        :param num_tries: to copy a file when the disk is full
        """
        self.cache_directory = _expand(cache_directory)
        self._always_secs = cleanup_files_always_older_than_days * _seconds_per_day
        self._wanted_secs = cleanup_files_wanted_older_than_days * _seconds_per_day
        self._wanted_free_ratio = cleanup_disk_usage_wanted_free_ratio
        self._wanted_multiplier = cleanup_disk_usage_wanted_multiplier
        self._num_tries = num_tries
        self._toucher = _Toucher()

    # Files.

    def get_file(self, src_filename: str) -> str:
        """
        :param src_filename: the original file
        :return: of the copy, which is kept until :meth:`release_files`
        :raises UserError: there is no such file, or no space for its copy
        """
        src = os.path.abspath(src_filename)
        if not os.path.exists(src):
            raise UserError(f"FileCache: {file_not_found('file', src_filename)}")
        dst = self.path_of(src)
        self._toucher.add(dst)  # before the check, so that nobody removes it afterwards
        try:
            if not self._use_existing(src, dst):
                self._copy_with_lock(src, dst)
        except BaseException:
            self._toucher.remove(dst)
            raise
        return dst

    def release_files(self, filenames: str | Collection[str]) -> None:
        """
        :param filenames: copies that are not used any more
        """
        for filename in [filenames] if isinstance(filenames, str) else filenames:
            self._toucher.remove(filename)

    def handle_cached_files_in_config(self, config: Any) -> tuple[Any, list[str]]:
        """
        :param config: dicts, lists and tuples with anything
        :return: the same with the names of local copies in place of each :class:`CachedFile`; these names
        """
        files: list[str] = []
        try:
            return self._replace(config, files), files
        except BaseException:
            self.release_files(files)
            raise

    def _replace(self, value: Any, files: list[str]) -> Any:
        if isinstance(value, CachedFile):
            files.append(self.get_file(value.filename))
            return files[-1]
        if not have_cached_files(value):
            return value
        if isinstance(value, dict):
            return {key: self._replace(x, files) for key, x in value.items()}
        items = [self._replace(x, files) for x in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)

    def path_of(self, src_filename: str) -> str:
        """
        :param src_filename: the original file, or folder
        :return: where its copy is, or would be
        """
        return self.cache_directory + os.path.abspath(src_filename)

    def _use_existing(self, src: str, dst: str) -> bool:
        if not self._is_valid(src, dst):
            return False
        print(f"FileCache: using existing file {dst}", file=log.v4)
        return True

    def _is_valid(self, src: str, dst: str) -> bool:
        try:
            with open(dst + INFO_SUFFIX, encoding="utf8") as f:
                mtime_ns = json.load(f)["mtime_ns"]
            src_stat, dst_stat = os.stat(src), os.stat(dst)
        except (FileNotFoundError, ValueError, KeyError, TypeError):
            return False
        return src_stat.st_size == dst_stat.st_size and src_stat.st_mtime_ns <= mtime_ns

    def _copy_with_lock(self, src: str, dst: str) -> None:
        try:
            os.makedirs(os.path.dirname(dst), exist_ok=True)
        except OSError as exc:
            raise UserError(
                f"FileCache: cannot make the folder {os.path.dirname(dst)!r}: {exc.strerror or exc}."
                ' Set file_cache_opts = {"cache_directory": ...} to a place that can be written.'
            ) from exc
        with _lock(dst + LOCK_SUFFIX, self._toucher):
            if self._use_existing(src, dst):  # somebody else made it while we waited
                return
            for attempt in range(1, self._num_tries + 1):
                size = os.stat(src).st_size
                try:
                    self.cleanup(need_at_least_free_space_size=size)
                    self._copy(src, dst)
                    return
                except OSError as exc:
                    remove_file(dst + COPY_SUFFIX)
                    if exc.errno not in (errno.ENOSPC, errno.EDQUOT):
                        raise UserError(f"FileCache: cannot copy {src} to {dst}: {exc.strerror or exc}") from exc
                    if attempt == self._num_tries:
                        raise UserError(
                            f"FileCache: no space for a copy of {src} ({human_size(size)}) in {self.cache_directory}"
                            f" after {attempt} tries: {exc.strerror}. Free space there, or set file_cache_opts ="
                            ' {"cache_directory": ...} to another disk.'
                        ) from exc
                    print(f"FileCache: {exc.strerror} while copying {src}, trying again", file=log.v3)
                    time.sleep(1.0)

    def _copy(self, src: str, dst: str) -> None:
        print(f"FileCache: Copy file {src} to cache", file=log.v4)
        mtime_ns = os.stat(src).st_mtime_ns
        temp = dst + COPY_SUFFIX
        with open(src, "rb") as f_src, open(temp, "wb") as f_dst, self._toucher.touching(temp):
            size = os.fstat(f_src.fileno()).st_size
            _preallocate(f_dst.fileno(), size)
            shutil.copyfileobj(f_src, f_dst, _copy_chunk_bytes)
            num_copied = f_dst.tell()
            f_dst.flush()
            os.fsync(f_dst.fileno())
        if num_copied != size or os.stat(src).st_size != size:
            raise UserError(f"FileCache: {src} changed while it was copied ({num_copied} of {size} bytes)")
        remove_file(dst + INFO_SUFFIX)  # so that it never tells of another copy, whatever happens now
        os.replace(temp, dst)
        with atomic_write(dst + INFO_SUFFIX) as f:
            json.dump({"mtime_ns": mtime_ns}, f)

    # Cleanup.

    def cleanup(self, *, need_at_least_free_space_size: int = 0) -> None:
        """Removes copies, oldest first: those that were not used for long; more if space is needed.

        :param need_at_least_free_space_size: bytes
        :raises OSError: ENOSPC, all that can be removed is not enough
        """
        os.makedirs(self.cache_directory, exist_ok=True)
        disk = shutil.disk_usage(self.cache_directory)
        wanted = max(self._wanted_multiplier * need_at_least_free_space_size, self._wanted_free_ratio * disk.total)
        if disk.free >= max(wanted, need_at_least_free_space_size) and self._was_scanned_recently():
            return
        with contextlib.suppress(OSError), open(os.path.join(self.cache_directory, _stamp_file), "w"):
            pass
        free = disk.free
        now = time.time()
        for last_use, path in sorted(self._scan()):
            age = now - last_use
            needed = free < need_at_least_free_space_size and age > IN_USE_SECS
            if age > self._always_secs or needed or (free < wanted and age > self._wanted_secs):
                free += self._delete(path, age)
        free = max(free, shutil.disk_usage(self.cache_directory).free)
        if free < need_at_least_free_space_size:
            raise OSError(
                errno.ENOSPC,
                f"{human_size(need_at_least_free_space_size)} are needed, {human_size(free)} are free, and all other"
                " files are in use",
            )

    def _was_scanned_recently(self) -> bool:
        with contextlib.suppress(OSError):
            age = time.time() - os.stat(os.path.join(self.cache_directory, _stamp_file)).st_mtime
            return age < _full_scan_interval_secs
        return False

    def _scan(self) -> Iterator[tuple[float, str]]:
        """:return: time of last use, path; for each copy, finished or not, and for what lost its copy"""
        for folder, _, names in os.walk(self.cache_directory):
            for name in names:
                path = os.path.join(folder, name)
                owner = next((path[: -len(s)] for s in _own_suffixes if name.endswith(s)), None)
                if name == _stamp_file or (owner is not None and os.path.exists(owner)):
                    continue
                with contextlib.suppress(FileNotFoundError):
                    yield os.stat(path).st_mtime, path

    def _delete(self, path: str, age: float) -> int:
        """:return: bytes freed"""
        print(f"FileCache: Delete file {path}, not used for {age / 3600:.1f} hours", file=log.v4)
        num_bytes = 0
        with contextlib.suppress(OSError):  # of somebody else, or gone
            num_bytes = remove_file(path)
            if not path.endswith(_own_suffixes):
                remove_file(path + INFO_SUFFIX)
        return num_bytes  # empty folders stay: somebody may be about to write there


def _preallocate(fd: int, size: int) -> None:
    """Finds out now, and not in the end, that the disk is too small."""
    try:
        if size:
            os.posix_fallocate(fd, 0, size)
    except OSError as exc:
        if exc.errno not in (errno.EOPNOTSUPP, errno.EINVAL):  # some file systems cannot
            raise


def have_cached_files(value: Any) -> bool:
    """
    :param value: dicts, lists and tuples with anything
    :return: whether a :class:`CachedFile` is in there
    """
    if isinstance(value, CachedFile):
        return True
    if isinstance(value, dict):
        return any(map(have_cached_files, value.values()))
    return isinstance(value, (list, tuple)) and any(map(have_cached_files, value))


def get_instance(config: Config | None = None) -> FileCache:
    """
    :param config: None: the global one; its ``file_cache_opts`` are arguments of :class:`FileCache`
    :return: the same for the same options
    """
    config = config or get_global_config(return_empty_if_none=True)
    assert config is not None
    opts = config.typed_value("file_cache_opts") or {}
    key = repr(sorted(opts.items()))
    with _instances_lock:
        if key not in _instances:
            try:
                _instances[key] = FileCache(**opts)
            except TypeError as exc:
                raise ConfigError(f"file_cache_opts = {opts!r}: {exc}") from exc
        return _instances[key]


_instances: dict[str, FileCache] = {}
_instances_lock = threading.Lock()


def _expand(path: str) -> str:
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may not know its users
        user = str(os.getuid())
    defaults = {"TMPDIR": "/tmp", "USER": user}
    for name, value in defaults.items():
        for form in (f"${name}", f"${{{name}}}"):
            path = path.replace(form, os.environ.get(name) or value)
    return os.path.abspath(os.path.expanduser(os.path.expandvars(path)))


@contextlib.contextmanager
def _lock(path: str, toucher: _Toucher) -> Iterator[None]:
    """Held within this context. It ends at the latest when its holder does not touch it any more."""
    told = False
    while True:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            break
        except FileExistsError:
            pass
        with contextlib.suppress(FileNotFoundError):
            if time.time() - os.stat(path).st_mtime > STALE_LOCK_SECS:
                print(f"FileCache: removing the stale lock {path}", file=log.v3)
                os.unlink(path)
                continue
        if not told:
            told = True
            print(f"FileCache: waiting for {path}, another process copies this file", file=log.v4)
        time.sleep(0.1)
    try:
        with toucher.touching(path):
            yield
    finally:
        remove_file(path)


class _Toucher:
    """Touches files each second, in a thread that lives as long as there are any."""

    def __init__(self) -> None:
        self._counts: collections.Counter[str] = collections.Counter()
        self._condition = threading.Condition()
        self._thread: threading.Thread | None = None
        self._pid = 0

    def add(self, path: str) -> None:
        """From now on; the file need not exist yet."""
        self._touch(path)
        with self._condition:
            self._counts[path] += 1
            if self._thread is None or self._pid != os.getpid():  # a forked child has no threads
                self._pid = os.getpid()
                self._thread = threading.Thread(target=self._run, name="file cache", daemon=True)
                self._thread.start()

    def remove(self, path: str) -> None:
        """Undoes one :meth:`add`."""
        with self._condition:
            self._counts[path] -= 1
            if self._counts[path] <= 0:
                del self._counts[path]
            self._condition.notify_all()

    @contextlib.contextmanager
    def touching(self, path: str) -> Iterator[None]:
        """Within this context."""
        self.add(path)
        try:
            yield
        finally:
            self.remove(path)

    def _run(self) -> None:
        while True:
            with self._condition:
                if not self._counts:
                    self._thread = None
                    return
                self._condition.wait(timeout=_touch_interval_secs)
                paths = list(self._counts)
            for path in paths:
                self._touch(path)

    @staticmethod
    def _touch(path: str) -> None:
        with contextlib.suppress(OSError):
            os.utime(path)
