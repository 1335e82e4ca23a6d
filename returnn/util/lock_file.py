"""One process at a time: a lock that ends with the process, however that ends."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import socket
import time
from collections.abc import Iterator

from returnn.log import log
from returnn.util.errors import UserError

_held_here: set[str] = set()  # the system's locks keep out other processes only


@contextlib.contextmanager
def lock_file(path: str, *, what: str, how_to_mend: str) -> Iterator[None]:
    """Holds the lock within this context.

    It is a POSIX record lock: the system releases it when the process ends, also by ``kill -9``, and forked children
    do not hold it. The file itself tells who holds it; one left behind by a killed process has no meaning.

    :param path: of the file; its folder is made
    :param what: what is locked, for the message
    :param how_to_mend: what the user can do if somebody else has it, for the message
    :raises UserError: somebody else has it; names host, process and time
    """
    path = os.path.abspath(path)
    if path in _held_here:
        raise UserError(f"{what} is in use already by this process ({_holder_text()}). {how_to_mend}")
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        fd = _open_and_lock(path)
    except OSError as exc:
        if exc.errno in (errno.EACCES, errno.EAGAIN):
            raise UserError(_in_use_message(path, what, how_to_mend)) from None
        if exc.errno not in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL):
            raise UserError(f"cannot write {path}: {exc.strerror or exc}") from exc
        log.print_warning(f"this file system has no locks ({exc.strerror}): nothing keeps a second run off {what}.")
        yield
        return
    owner = os.getpid()
    _held_here.add(path)
    try:
        os.ftruncate(fd, 0)
        os.write(fd, (_holder_text() + "\n").encode("utf8"))
        yield
    finally:
        _held_here.discard(path)
        if os.getpid() == owner:  # not in a forked child
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
        os.close(fd)


def _open_and_lock(path: str) -> int:
    while True:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_still_at(fd, path):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)  # the holder before us removed this file between our open and our lock


def _is_still_at(fd: int, path: str) -> bool:
    try:
        return os.path.samestat(os.fstat(fd), os.stat(path))
    except FileNotFoundError:
        return False


def _holder_text() -> str:
    started = time.strftime("%Y-%m-%d %H:%M:%S %z", time.localtime())
    return f"host {socket.gethostname()}, pid {os.getpid()}, since {started}"


def _in_use_message(path: str, what: str, how_to_mend: str) -> str:
    try:
        with open(path, encoding="utf8") as f:
            holder = f.read().strip()
    except OSError:
        holder = ""
    return f"{what} is in use by another run: {holder or 'it just started'}.\n  {how_to_mend}\n  (lock file: {path})"
