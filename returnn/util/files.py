"""Files that matter are written whole: to a temporary name beside the final one, synced, then renamed.

Law: whatever moment the process or the machine dies, a final name holds the old content or the new one, complete.
What a killed run leaves behind carries :data:`TEMP_SUFFIX`, and :func:`remove_stale_temp_files` removes it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import time
from collections.abc import Callable, Iterator
from typing import IO, Any, TypeVar

from returnn.log import log
from returnn.util.errors import UserError

T = TypeVar("T")

TEMP_SUFFIX = ".new_tmp"
"""Part of the name of every temporary file. Writers of several files may put their own suffixes behind it."""

RETRY_INTERVAL_SECONDS = 10
RETRY_MAX_SECONDS = 600.0

_retry_needs = {
    errno.EBUSY: "the file or its device to be free of other users",
    errno.EDQUOT: "more quota on this file system, or files removed",
    errno.EIO: "a disk (or network file system) without input/output errors",
    errno.ENOSPC: "free space on this file system",
}
"""Errors of a disk that may pass -> what would end them."""

_temp_name_rest = re.compile(r"(\..*)?" + re.escape(TEMP_SUFFIX) + r"(\..*)?", re.DOTALL)


def temp_path(path: str) -> str:
    """
    :param path: the final name
    :return: a new, unused name in the same folder: ``path``, a random part, :data:`TEMP_SUFFIX`.
        The folder stays the same because a rename is atomic only within one file system,
        and the random part keeps two writers of one file from mixing their content.
    """
    return f"{path}.{os.urandom(4).hex()}{TEMP_SUFFIX}"


@contextlib.contextmanager
def atomic_write(path: str, mode: str = "w", **open_kwargs: Any) -> Iterator[IO[Any]]:
    """Gives a file object; its content appears under ``path`` when the block ends, whole, or never.

    If the block raises, ``path`` is as before and nothing else is left. A symlink stays one: its target is replaced.

    :param path: the final name; its folder must exist
    :param mode: ``"w"``, ``"wt"`` or ``"wb"``
    :param open_kwargs: for :func:`open`, as ``encoding`` (UTF-8 if not given) or ``newline``
    """
    if mode not in ("w", "wt", "wb"):
        raise ValueError(f"atomic_write({path!r}): mode must be 'w', 'wt' or 'wb', not {mode!r}")
    if mode != "wb":
        open_kwargs.setdefault("encoding", "utf8")
    final_path = os.path.realpath(path)
    temp = temp_path(final_path)
    try:
        with open(temp, mode.replace("w", "x"), **open_kwargs) as f:
            yield f
            f.flush()
            os.fsync(f.fileno())
        os.replace(temp, final_path)
    except BaseException:
        remove_file(temp)
        raise
    fsync_dir(os.path.dirname(final_path))


def rename_durable(src: str, dst: str) -> None:
    """Moves the finished file ``src`` over ``dst``; on return the new content survives a power cut.

    :param src: on the same file system as ``dst``
    :param dst: may exist
    """
    fsync_file(src)
    os.replace(src, dst)
    fsync_dir(os.path.dirname(dst))


def fsync_file(path: str) -> None:
    """Waits until the content of ``path``, written by whomever, is on the disk."""
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def fsync_dir(path: str) -> None:
    """Waits until the names in the folder ``path`` ("" = current one) are on the disk."""
    fd = os.open(path or ".", os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    except OSError as exc:
        if exc.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems do not sync folders
            raise
    finally:
        os.close(fd)


def remove_file(path: str) -> int:
    """
    :return: bytes freed; 0 if there was no such file
    """
    try:
        size = os.lstat(path).st_size
        os.remove(path)
    except FileNotFoundError:
        return 0
    return size


def remove_stale_temp_files(prefix: str) -> list[str]:
    """Removes what a killed run left when it was writing ``prefix`` or ``prefix.<anything>``.

    To be called before the first write, by the only process that writes there.

    :param prefix: of file names, for example the ``model`` option or a learning-rate file
    :return: the paths that were removed, sorted
    """
    folder, start = os.path.split(prefix)
    try:
        names = os.listdir(folder or ".")
    except FileNotFoundError:
        return []
    stale = [n for n in names if n.startswith(start) and _temp_name_rest.fullmatch(n[len(start) :])]
    paths = [os.path.join(folder, name) for name in sorted(stale)]
    for path in paths:
        remove_file(path)
    return paths


def retry_on_disk_full(
    func: Callable[[], T],
    *,
    what: str,
    max_seconds: float = RETRY_MAX_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
    clock: Callable[[], float] = time.monotonic,
) -> T:
    """Calls ``func`` again while the disk is full, over quota, busy or failing (ENOSPC, EDQUOT, EBUSY, EIO).

    :param func: writes something; has to start from the beginning at each call
    :param what: what is written, with its path, for messages: ``model file '/x/net.003'``
    :param max_seconds: after this time give up
    :param sleep: takes seconds
    :param clock: gives seconds, never goes back
    :return: what ``func`` returned
    :raises UserError: the disk did not recover in time
    """
    start = clock()
    while True:
        try:
            return func()
        except OSError as exc:
            if exc.errno not in _retry_needs:
                raise
            waited = clock() - start
            if waited >= max_seconds:
                raise UserError(
                    f"Cannot save {what}: {exc}.\n"
                    f"Tried for {waited / 60:.1f} minutes. This needs {_retry_needs[exc.errno]}.\n"
                    "Nothing that was saved before is lost: mend that and run the same command again."
                ) from exc
            print("Exception while saving:", exc, file=log.v3)
        print("Trying again in %s secs." % RETRY_INTERVAL_SECONDS, file=log.v3)
        sleep(RETRY_INTERVAL_SECONDS)
