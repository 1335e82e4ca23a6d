"""Local copies of files, by the cache manager of a cluster."""

from __future__ import annotations

import os
import shutil
import subprocess

from returnn.log import log


def cf(filename: str) -> str:
    """
    :param filename: maybe on a network disk
    :return: what the external command ``cf FILENAME`` prints, the path of a local copy. Without that command, if it
        fails, or if the environment has ``DEBUG=1``: ``filename``
    """
    command = shutil.which("cf")
    if command is None or os.environ.get("DEBUG") == "1":
        _tell_not_used(filename)
        return filename
    proc = subprocess.run([command, filename], capture_output=True, text=True)
    local = proc.stdout.strip()
    if proc.returncode or not os.path.exists(local):
        print(f"Cache manager: failed for {filename}: {(proc.stderr or proc.stdout).strip()}", file=log.v2)
        return filename
    return local


def _tell_not_used(filename: str) -> None:
    if not _told_not_used:
        _told_not_used.append(filename)
        print(f"Cache manager: not used, use local file: {filename}", file=log.v4)


_told_not_used: list[str] = []
