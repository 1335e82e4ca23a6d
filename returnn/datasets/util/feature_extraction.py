"""From samples to the features that a network gets.

Order: preemphasis -> peak normalization -> random changes -> ``pre_process`` -> features -> derivatives -> mean and
standard deviation -> frames joined -> ``post_process``.
Elsewhere: the formulas of the features in audio_features.py, random changes in audio_augment.py.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean, file_not_found
from returnn.util.user_functions import failures_in_users_code

from .audio_augment import parse_permute_options, random_permute, resample
from .audio_features import FEATURES, deltas
from .audio_file import read_audio

_default_num_filters = {"raw": 1, "f0": 1}
_min_std_dev_of_seq = 0.01


class ExtractAudioFeatures:
    """Features of one recording after the other, float32 [time, dim]."""

    def __init__(
        self,
        window_len: float = 0.025,
        step_len: float = 0.010,
        num_feature_filters: int | None = None,
        with_delta: bool | int = False,
        norm_mean: Any = None,
        norm_std_dev: Any = None,
        features: str | Callable[..., numpy.ndarray] = "mfcc",
        feature_options: dict[str, Any] | None = None,
        random_permute: Any = None,
        random_state: numpy.random.RandomState | None = None,
        raw_ogg_opts: dict[str, Any] | None = None,
        pre_process: Callable[..., numpy.ndarray] | None = None,
        post_process: Callable[..., numpy.ndarray] | None = None,
        sample_rate: int | None = None,
        num_channels: int | None = None,
        peak_normalization: bool = True,
        preemphasis: float | None = None,
        join_frames: int | None = None,
        resample: bool = False,
    ):
        """
        :param window_len: seconds that a frame looks at
        :param step_len: seconds from one frame to the next
        :param num_feature_filters: features of a frame. None: 40; 1 for raw and f0
        :param with_delta: number of derivatives over time to append; True is 1
        :param norm_mean: is subtracted. A number, an array, a text file with one number a line, or "per_seq". One
            value per feature, with derivatives; with or without those of all joined frames
        :param norm_std_dev: what is left is divided by it. Kinds as ``norm_mean``
        :param features: see :data:`~.audio_features.FEATURES`; or a function that gets by keyword random_state,
            audio [time], sample_rate, window_len, step_len, num_feature_filters, and returns [time, dim]
        :param feature_options: further arguments of the function of the features
        :param random_permute: random changes of the audio: True, or a dict, see
            :data:`~.audio_augment.PERMUTE_OPTIONS`
        :param random_state: for ``random_permute`` and the functions
        :param raw_ogg_opts: for features that are not available
        :param pre_process: ``(audio=, sample_rate=, random_state=) -> [time]``
        :param post_process: ``(features [time, dim], seq_name=) -> [time, dim]``
        :param sample_rate: that all audio must have. None: anything
        :param num_channels: only for raw features, which are then [time, channels, 1]. None: one channel, no axis
        :param peak_normalization: divide by the largest absolute sample
        :param preemphasis: a in y[t] = x[t] - a x[t-1]
        :param join_frames: so many frames become one; the last one is repeated at the end
        :param resample: convert audio of another rate to ``sample_rate``, which otherwise is an error
        """
        self.window_len = window_len
        self.step_len = step_len
        self._extract, kind = self._feature_function(features)
        self.features = features
        if num_feature_filters is None:
            if kind == "raw_ogg":
                raise ConfigError('audio features "raw_ogg" need num_feature_filters')
            num_feature_filters = _default_num_filters.get(kind, 40)
        self.num_feature_filters = num_feature_filters
        self.feature_options = dict(feature_options or {})
        if kind != "function":
            self._check_feature_options(kind)
        self.num_deltas = int(with_delta)
        self.join_frames = join_frames
        self.norm_mean = self._load_norm(norm_mean, "norm_mean")
        self.norm_std_dev = self._load_norm(norm_std_dev, "norm_std_dev")
        self.permute_options = parse_permute_options(random_permute)
        self.random_state = numpy.random.RandomState(1) if random_state is None else random_state
        self.pre_process = pre_process
        self.post_process = post_process
        self.sample_rate = sample_rate
        if resample and sample_rate is None:
            raise ConfigError("audio option resample needs the option sample_rate")
        self.resample = resample
        if num_channels is not None and (kind != "raw" or self.permute_options or self.num_deltas or join_frames):
            raise ConfigError(
                'audio option num_channels is only for features "raw", without random_permute, with_delta, join_frames'
            )
        self.num_channels = num_channels
        self.peak_normalization = peak_normalization
        self.preemphasis = preemphasis

    @staticmethod
    def _feature_function(features: Any) -> tuple[Callable[..., numpy.ndarray], str]:
        if callable(features):
            return features, "function"
        if features not in FEATURES:
            hint = did_you_mean(features, FEATURES) if isinstance(features, str) else ""
            raise ConfigError(
                f"audio features {features!r} are unknown.{hint} There are: {', '.join(FEATURES)}; or give a function"
            )
        return FEATURES[features], features

    def _check_feature_options(self, kind: str) -> None:
        common = ("audio", "sample_rate", "window_len", "step_len", "num_feature_filters")
        valid = [name for name in inspect.signature(self._extract).parameters if name not in common]
        for name in self.feature_options:
            if name not in valid:
                raise ConfigError(
                    f'audio option feature_options: features "{kind}" have no option {name!r}.'
                    f"{did_you_mean(name, valid)} There are: {', '.join(valid) or 'none'}"
                )

    def _load_norm(self, value: Any, option: str) -> Any:
        """:return: None, a number, an array [dim], or "per_seq" """
        if value is None or isinstance(value, (int, float)) or (isinstance(value, str) and value == "per_seq"):
            return value
        what = ""
        if isinstance(value, str):
            what = f" (file {value})"
            try:
                value = numpy.loadtxt(value, ndmin=1)
            except FileNotFoundError:
                raise UserError(file_not_found(f"file of audio option {option}", value)) from None
            except ValueError as exc:
                raise UserError(f"audio option {option}{what}: expected one number a line, but: {exc}") from exc
        value = numpy.asarray(value, dtype="float64")
        dims = sorted({self._dim_of_frame(), self.get_feature_dimension()})
        if value.shape not in [(dim,) for dim in dims]:
            raise ConfigError(
                f"audio option {option}{what}: expected {' or '.join(map(str, dims))} values, as there are features,"
                f" got the shape {value.shape}"
            )
        return self._of_joined(value) if len(value) == self._dim_of_frame() else value

    def _dim_of_frame(self) -> int:
        return (1 + self.num_deltas) * self.num_feature_filters

    def get_feature_dimension(self) -> int:
        """
        :return: features of a frame, with derivatives and joined frames
        """
        return self._dim_of_frame() * (self.join_frames or 1)

    def get_audio_features_from_raw_bytes(self, raw_bytes: Any, seq_name: str | None = None) -> numpy.ndarray:
        """
        :param raw_bytes: content of an audio file, or an open one
        :param seq_name: for messages, and for ``post_process``
        :return: float32 [time, dim]
        """
        content = raw_bytes if isinstance(raw_bytes, bytes) else raw_bytes.read()
        audio, sample_rate = read_audio(content, f"of sequence {seq_name!r}" if seq_name else "(no name)")
        return self.get_audio_features(audio, sample_rate, seq_name=seq_name)

    def get_audio_features(
        self, audio: numpy.ndarray, sample_rate: int, seq_name: str | None = None, *, file_name: str | None = None
    ) -> numpy.ndarray:
        """
        :param audio: [time], or [time, channels]
        :param sample_rate: of ``audio``
        :param seq_name: for ``post_process``, and for messages
        :param file_name: only for messages
        :return: float32 [time, dim], or [time, channels, dim]
        """
        where = file_name or (f"of sequence {seq_name!r}" if seq_name else "(no name)")
        audio = self._checked_channels(audio, where)
        audio, sample_rate = self._at_wanted_rate(audio, sample_rate, where)
        if self.preemphasis:
            audio = numpy.concatenate([audio[:1], audio[1:] - self.preemphasis * audio[:-1]])
        if self.peak_normalization:
            peak = numpy.abs(audio).max(initial=0.0)
            if peak > 0.0:
                audio = audio / peak
        if self.permute_options:
            audio = random_permute(audio, sample_rate, self.permute_options, self.random_state)
        if self.pre_process:
            with failures_in_users_code("audio option pre_process"):
                audio = self.pre_process(audio=audio, sample_rate=sample_rate, random_state=self.random_state)
            if not isinstance(audio, numpy.ndarray) or audio.ndim != 1:
                raise ConfigError(f"audio option pre_process must return an array [time], but returned {_brief(audio)}")
        features = self._normalized(self._with_deltas(self._features(audio, sample_rate)))
        if self.post_process:
            with failures_in_users_code("audio option post_process"):
                features = self.post_process(features, seq_name=seq_name)
            dim = self.get_feature_dimension()
            if not isinstance(features, numpy.ndarray) or features.ndim < 2 or features.shape[-1] != dim:
                raise ConfigError(
                    f"audio option post_process must return an array [time, {dim}], but returned {_brief(features)}"
                )
        return features.astype("float32", copy=False)

    def _checked_channels(self, audio: numpy.ndarray, where: str) -> numpy.ndarray:
        num_channels = 1 if audio.ndim == 1 else audio.shape[1]
        if num_channels != (self.num_channels or 1):
            raise UserError(
                f"The audio file {where} has {num_channels} channel{'s' * (num_channels > 1)},"
                f" expected {self.num_channels or 1}."
                + (
                    f' Convert it, or set the audio options {{"features": "raw", "num_channels": {num_channels}}}.'
                    if self.num_channels is None
                    else f" The audio option num_channels is {self.num_channels}."
                )
            )
        if self.num_channels is None:
            return audio.reshape(-1)
        return audio.reshape(len(audio), num_channels)

    def _at_wanted_rate(self, audio: numpy.ndarray, sample_rate: int, where: str) -> tuple[numpy.ndarray, int]:
        if self.sample_rate is None or sample_rate == self.sample_rate:
            return audio, sample_rate
        if not self.resample:
            raise UserError(
                f"The audio file {where} has {sample_rate} samples a second, but the audio option sample_rate is"
                f' {self.sample_rate}. Convert the file, or set the audio option "resample": True.'
            )
        return resample(audio, round(len(audio) * self.sample_rate / sample_rate)), self.sample_rate

    def _features(self, audio: numpy.ndarray, sample_rate: int) -> numpy.ndarray:
        kwargs: dict[str, Any] = {
            "audio": audio,
            "sample_rate": sample_rate,
            "window_len": self.window_len,
            "step_len": self.step_len,
            "num_feature_filters": self.num_feature_filters,
            **self.feature_options,
        }
        if not callable(self.features):
            return self._extract(**kwargs)
        with failures_in_users_code("the function given as audio features"):
            features = self._extract(random_state=self.random_state, **kwargs)
        dim = self.num_feature_filters
        if not isinstance(features, numpy.ndarray) or features.ndim != 2 or features.shape[1] != dim:
            raise ConfigError(
                f"the function given as audio features must return an array [time, {dim}]"
                f" (num_feature_filters is {dim}), but returned {_brief(features)}"
            )
        return features

    def _with_deltas(self, features: numpy.ndarray) -> numpy.ndarray:
        if not self.num_deltas:
            return features
        orders = range(1, self.num_deltas + 1)
        return numpy.concatenate([features, *(deltas(features, order) for order in orders)], axis=1)

    def _normalized(self, features: numpy.ndarray) -> numpy.ndarray:
        """:return: frames are joined, too"""
        mean, std_dev = self.norm_mean, self.norm_std_dev
        if isinstance(mean, str):
            mean = self._of_joined(features.mean(axis=0)) if len(features) else None
        if isinstance(std_dev, str):
            std_dev = numpy.maximum(features.std(axis=0), _min_std_dev_of_seq) if len(features) else None
            std_dev = self._of_joined(std_dev) if std_dev is not None else None
        if self.join_frames:
            features = _join_frames(features, self.join_frames)
        if mean is not None:
            features = features - mean
        return features / std_dev if std_dev is not None else features

    def _of_joined(self, values: numpy.ndarray) -> numpy.ndarray:
        """
        :param values: [..., dim] of a frame
        :return: the same for each of the joined ones
        """
        return numpy.tile(values, self.join_frames or 1)


def _join_frames(features: numpy.ndarray, num: int) -> numpy.ndarray:
    """
    :param features: [time, dim]
    :return: [ceil(time / num), num * dim], the last frame repeated
    """
    missing = -len(features) % num
    features = numpy.concatenate([features, numpy.repeat(features[-1:], missing, axis=0)])
    return features.reshape(-1, num * features.shape[1])


def _brief(value: Any) -> str:
    return f"one of shape {value.shape}" if isinstance(value, numpy.ndarray) else f"{value!r:.100}"
