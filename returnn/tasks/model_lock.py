"""Only one run at a time writes the checkpoints of a model."""

from __future__ import annotations

import contextlib

from returnn.config import Config
from returnn.util.lock_file import lock_file


def model_lock(config: Config) -> contextlib.AbstractContextManager[None]:
    """
    :param config: its key ``model``; nothing is locked if that is unset, or with ``dry_run``
    :return: holds ``<model>.lock`` while it is open
    """
    model = config.value("model", None)
    if not model or config.bool("dry_run", False):
        return contextlib.nullcontext()
    return lock_file(
        f"{model}.lock",
        what=f"model {model!r}",
        how_to_mend="Wait for that run or stop it, or set another `model` in the config.",
    )
