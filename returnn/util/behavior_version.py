"""Behaviour versions: a config says ``behavior_version = N`` and gets the meaning that options had at N.

Real configs set none; they rely on 0 with a layer dict, on 16 with modules. New configs should set the latest.
What each version changes stands in :data:`CHANGES`; the code that depends on one asks :meth:`BehaviorVersion.get` or
:meth:`BehaviorVersion.require`.
"""

from __future__ import annotations

from typing import ClassVar

from returnn.log import log
from returnn.util.errors import UserError

CHANGES: dict[int, str] = {
    1: "layers: `from` must be given (before: `data`)",
    2: "optimizer: no flags such as `adam = True`; use `optimizer`",
    3: "dot: no axes as numbers",
    4: "combine and the like: no broadcast of all inputs without `out_shape`",
    5: "layers: no axes as numbers",
    6: "merge_dims: keeps the order of `axes`",
    7: "layers: no axes that depend on their order",
    8: "conv, pool of 2 and more dims: `in_spatial_dims` must be given",
    9: "conv: picks batch-channel-first by itself where that is faster",
    10: "conv: `with_bias` is True by default",
    11: "combine, gather: size-1 dims match no other dims",
    12: "batch_norm: momentum 0.1 (before: 0.99), sample updates and delay on by default, parameters of version 2,"
    " `masked_time` must be given",
    13: "rec: the time dim of the output is checked",
    14: "dot: automatic variable axes need equal dims",
    15: "global step: the same value everywhere within a step",
    16: "dims: equal only if they are the same, never by size",
    17: "rec: zoneout LSTM returns the output with zoneout applied",
    18: "window: time and window dims come first in the output",
    19: "self attention: dropout is not broadcast over attention weights",
    20: "frontend TransformerDecoder: new defaults",
    21: "pad: handles dynamic dims by default",
    22: "tensors: no truth value",
    23: "conv, pool, stft, window, split_dims: input is masked",
    24: "strided `same` padding: independent of the other sequences of the batch",
    25: "scatter: masks padding",
    26: "files: sharding over workers",
    27: "frontend modules: keep the dtype of their output",
    28: "SpecAugment: number of masks for each sequence",
    29: "Conformer: batch norm is masked",
    30: "CTC: sequences without a path have zero loss and gradient",
}
"""Version -> what changes from it on."""


class RequirementNotSatisfied(UserError):
    """The config uses what its behaviour version does not allow any more."""


class BehaviorVersion:
    """The version in effect. One for the whole process; all members belong to the class."""

    RequirementNotSatisfied = RequirementNotSatisfied

    _latest_behavior_version: ClassVar[int] = max(CHANGES)
    _version: ClassVar[int | None] = None
    _min_version: ClassVar[int] = 0

    @classmethod
    def get(cls) -> int:
        """:return: the version that was set, else the minimum of the backend"""
        return cls._min_version if cls._version is None else cls._version

    @classmethod
    def is_set(cls) -> bool:
        """:return: whether the config set a version"""
        return cls._version is not None

    @classmethod
    def set(cls, version: int | None) -> None:
        """
        :param version: from the config; None changes nothing
        :raises UserError: another version was set before, or it is below the minimum of the backend
        """
        if version is None or version == cls._version:
            return
        if version < 0:
            raise UserError(f"behavior_version = {version!r}: must be 0..{cls._latest_behavior_version}.")
        if cls._version is not None:
            raise UserError(f"behavior_version already set to {cls._version}, cannot reset to {version}")
        cls._check_minimum(version, cls._min_version)
        if version > cls._latest_behavior_version:
            log.print_warning(
                f"behavior_version {version} is newer than this program knows;"
                f" it behaves as the latest, {cls._latest_behavior_version}."
            )
        cls._version = version

    @classmethod
    def set_min_behavior_version(cls, min_version: int) -> None:
        """
        :param min_version: what the backend needs: the version if none is set, the lower bound if one is
        :raises UserError: a lower version is set
        """
        if cls._version is not None:
            cls._check_minimum(cls._version, min_version)
        cls._min_version = max(cls._min_version, min_version)

    @classmethod
    def _check_minimum(cls, version: int, min_version: int) -> None:
        if version < min_version:
            raise UserError(
                f"behavior_version {version} is too old here: this backend needs at least {min_version}."
                f" Set behavior_version = {cls._latest_behavior_version} (the latest), or leave it out."
            )

    @classmethod
    def require(cls, condition: bool, message: str, version: int) -> None:
        """Holds for each config of ``version`` and later; earlier ones get a warning, once.

        :param condition: whether the config is fine
        :param message: what it should do instead
        :param version: the first that does not allow it
        :raises RequirementNotSatisfied: ``condition`` is false and the version in effect is at least ``version``
        """
        if condition:
            return
        if cls.get() >= version:
            raise RequirementNotSatisfied(f"{message} (required since behavior_version >= {version})")
        log.print_deprecation_warning(message, behavior_version=version)

    @classmethod
    def _reset(cls, version: int | None = None, min_version: int = 0) -> None:
        """For tests: forgets what was set."""
        cls._version = version
        cls._min_version = min_version
