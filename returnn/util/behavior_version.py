"""Behaviour versions: a config says ``behavior_version = N`` and gets the meaning that options had at N.

Real configs set none; they rely on 0 with a layer dict, on 16 with modules. New configs should set the latest.
What each version changes stands in :class:`Change`, and nowhere else is a version a number: the code that depends on a
change names it, in :meth:`BehaviorVersion.has` or :meth:`BehaviorVersion.require`.
"""

from __future__ import annotations

import enum
from typing import ClassVar

from returnn.log import log
from returnn.util.errors import UserError


class Change(enum.Enum):
    """What changes from which version on. The code that depends on it asks :meth:`BehaviorVersion.has`."""

    FROM_IS_REQUIRED = (1, "layers: `from` must be given (before: `data`)")
    NO_OPTIMIZER_FLAGS = (2, "optimizer: no flags such as `adam = True`; use `optimizer`")
    DOT_WITHOUT_INT_AXES = (3, "dot: no axes as numbers")
    NO_BROADCAST_OF_ALL_SOURCES = (4, "combine and the like: no broadcast of all inputs without `out_shape`")
    NO_INT_AXES = (5, "layers: no axes as numbers")
    MERGE_DIMS_KEEPS_ORDER = (6, "merge_dims: keeps the order of `axes`")
    NO_ORDERED_AXES = (7, "layers: no axes that depend on their order")
    SPATIAL_DIMS_ARE_REQUIRED = (8, "conv, pool of 2 and more dims: `in_spatial_dims` must be given")
    CONV_CHANNEL_FIRST = (9, "conv: picks batch-channel-first by itself where that is faster")
    CONV_WITH_BIAS = (10, "conv: `with_bias` is True by default")
    SIZE_1_MATCHES_NOTHING = (11, "combine, gather: size-1 dims match no other dims")
    BATCH_NORM_DEFAULTS = (
        12,
        "batch_norm: momentum 0.1 (before: 0.99), sample updates and delay on by default, parameters of version 2,"
        " `masked_time` must be given",
    )
    REC_TIME_IS_CHECKED = (13, "rec: the time dim of the output is checked")
    DOT_STRICT_DIMS = (14, "dot: automatic variable axes need equal dims")
    STEP_IS_FIXED = (15, "global step: the same value everywhere within a step")
    STRICT_DIMS = (16, "dims: equal only if they are the same, never by size")
    ZONEOUT_OUTPUT = (17, "rec: zoneout LSTM returns the output with zoneout applied")
    WINDOW_TIME_FIRST = (18, "window: time and window dims come first in the output")
    ATT_DROPOUT_UNBROADCAST = (19, "self attention: dropout is not broadcast over attention weights")
    TRANSFORMER_DECODER_DEFAULTS = (20, "frontend TransformerDecoder: new defaults")
    PAD_DYNAMIC_DIMS = (21, "pad: handles dynamic dims by default")
    NO_TENSOR_TRUTH_VALUE = (22, "tensors: no truth value")
    CONV_AND_POOL_MASK = (23, "conv, pool, stft: input is masked")
    STRIDED_SAME_PER_SEQ = (24, "strided `same` padding: independent of the other sequences of the batch")
    SCATTER_MASKS = (25, "scatter: masks padding")
    FILES_ARE_SHARDED = (26, "files: sharding over workers")
    MODULES_KEEP_DTYPE = (27, "frontend modules: keep the dtype of their output")
    SPEC_AUGMENT_PER_SEQ = (28, "SpecAugment: number of masks for each sequence")
    CONFORMER_NORM_MASKS = (29, "Conformer: batch norm is masked")
    NATIVE_CTC_WITHOUT_PATH_IS_ZERO = (30, "CTC, native: sequences without a path have zero loss and gradient")
    CONV_LAYERS_MASK = (
        31,
        "layers conv, transposed_conv, pool, stft and the like: input is masked; strided `same` padding is independent"
        " of the other sequences of the batch",
    )
    MAX_POOL_PADS_NOTHING = (31, "pool: `same_static` pads with nothing for max (before: zeros)")
    WINDOW_AND_SPLIT_MASK = (31, "window, split_dims: input is masked")
    SEQUENCE_LAYERS_MASK = (
        31,
        "cumsum, slice_nd, resize, shift_axis, boolean_mask: frames behind a sequence's end do not count",
    )
    SLICE_KEEPS_LENGTHS = (
        31,
        "slice: up to a fixed frame, lengths are kept (before: a static axis); backwards from the end of each sequence",
    )
    SYNTHETIC_GRADIENT_MASKS = (31, "synthetic_gradient: the predicted gradient is masked")
    CONCAT_OF_SEQUENCES = (31, "concat: joins sequences; before, their padding stayed in between")
    LENGTH_HAS_DTYPE = (31, "length: `dtype` and `sparse` count for lengths of sequences too")
    EMPTY_SOFTMAX_IS_ZERO = (31, "softmax over no frames: zeros (before: nan)")
    NORM_MASKS = (31, "norm, weighted_sum: frames behind a sequence's end do not count")
    KEPT_FRAMES_MASK = (
        31,
        "self_attention, `initial_state` keep_over_epoch: the padding of earlier steps does not count",
    )
    CTC_WITHOUT_PATH_IS_ZERO = (31, "CTC: sequences without a path have zero loss and gradient")
    LAST_FRAME_COUNTS = (
        31,
        "rec, `need_last` with `include_eos`, over a known length: the last frame (before: the one before the last)",
    )
    REGRESSION_WITHOUT_FRAME_ERROR = (31, "losses mse, mean_l1, l1: report no error (before: of the highest feature)")
    FORGET_BIAS_OF_GATE = (
        31,
        "rec, unit layernormvariantslstm with global norms: `forget_bias` starts the forget gate alone (before: all)",
    )
    SEARCH_ENDS_EXACTLY = (
        31,
        "choice: over given frames, those behind a sequence's end do not count (before: without `include_eos` the first"
        " one did)",
    )
    SEARCH_BEHIND_TARGET = (
        31,
        "choice: behind one with `search: False` in the same frame, hypotheses differ (before: all the same)",
    )
    SEARCH_OWN_LENGTHS = (
        31,
        "choice: final scores are divided by the length of each hypothesis, to the power of the exponent (before: by"
        " the longest length of the batch)",
    )

    WORKERS_CHANGE_NOTHING = (
        31,
        "datasets with worker processes: random numbers of `map_seq` come from epoch and sequence (before: from the"
        " order in which a worker gets them); the fraction of the epoch does not depend on workers",
    )

    LENGTH_LIMITS_OF_USED_KEYS = (
        31,
        "batch_size, max_seq_length, min_seq_length and the like as one number: for the data keys that the network"
        " uses (before: for all that the dataset has)",
    )
    AUDIO_SEED_PER_SEQ = (
        31,
        "OggZipDataset, LibriSpeechCorpus, TimitDataset: random changes of audio and random splits of targets depend on"
        " epoch and sequence (before: also on what was loaded before)",
    )
    LM_LENGTHS_IN_SYMBOLS = (
        31,
        "LmDataset: orders by length count words or characters, where those are the symbols (before: bytes)",
    )
    LM_RANDOM_PER_SEQ = (
        31,
        "LmDataset: random phones and splits of words depend on epoch and sequence (before: on what was loaded before)",
    )

    def __init__(self, version: int, text: str):
        self.version = version
        self.text = text


class RequirementNotSatisfied(UserError):
    """The config uses what its behaviour version does not allow any more."""


class BehaviorVersion:
    """The version in effect. One for the whole process; all members belong to the class."""

    RequirementNotSatisfied = RequirementNotSatisfied

    _latest_behavior_version: ClassVar[int] = max(change.version for change in Change)
    _version: ClassVar[int | None] = None
    _min_version: ClassVar[int] = 0

    @classmethod
    def get(cls) -> int:
        """:return: the version that was set, else the minimum of the backend"""
        return cls._min_version if cls._version is None else cls._version

    @classmethod
    def has(cls, change: Change) -> bool:
        """:return: whether the version in effect is one that has it"""
        return cls.get() >= change.version

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
    def require(cls, condition: bool, message: str, version: Change | int) -> None:
        """Holds for each config of ``version`` and later; earlier ones get a warning, once.

        :param condition: whether the config is fine
        :param message: what it should do instead
        :param version: the first that does not allow it; a number only in code of users
        :raises RequirementNotSatisfied: ``condition`` is false and the version in effect is at least ``version``
        """
        if condition:
            return
        if isinstance(version, Change):
            version = version.version
        if cls.get() >= version:
            raise RequirementNotSatisfied(f"{message} (required since behavior_version >= {version})")
        log.print_deprecation_warning(message, behavior_version=version)

    @classmethod
    def _reset(cls, version: int | None = None, min_version: int = 0) -> None:
        """For tests: forgets what was set."""
        cls._version = version
        cls._min_version = min_version
