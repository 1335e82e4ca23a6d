"""Environment variables."""

from __future__ import annotations

import os


def cleanup_env_var_path(env_var: str, path_prefix: str) -> None:
    """Takes folders out of a variable such as ``LD_LIBRARY_PATH``.

    :param env_var: its name; nothing happens if it is not set
    :param path_prefix: a folder; it and those below go
    """
    if env_var not in os.environ:
        return
    keep = []
    for path in os.environ[env_var].split(os.pathsep):
        if path == path_prefix or path.startswith(path_prefix.rstrip("/") + "/"):
            print(f"Removing {path} from {env_var}.")
        else:
            keep.append(path)
    os.environ[env_var] = os.pathsep.join(keep)
