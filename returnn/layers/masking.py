"""Whether layers that look at neighbouring frames see what stands behind a sequence's end."""

from __future__ import annotations

from returnn.util.behavior_version import BehaviorVersion


def masks_input() -> bool:
    """
    :return: whether pool, window, split_dims and the like put zeros there first, if the config does not say. Models
        trained with old configs rely on their not doing so.
    """
    return BehaviorVersion.get() >= 23
