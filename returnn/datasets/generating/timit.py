"""TIMIT: recordings with phones. The whole corpus, or the part of it that comes with NLTK."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy

from returnn.log import log
from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import file_not_found

from ..corpus import CorpusDataset
from ..seq import DatasetSeq
from ..util.audio_file import read_audio
from ..util.feature_extraction import ExtractAudioFeatures

_phones_61 = (
    "aa ae ah ao aw ax ax-h axr ay b bcl ch d dcl dh dx eh el em en eng epi er ey f g gcl h# hh hv ih ix iy jh k kcl l"
    " m n ng nx ow oy p pau pcl q r s sh t tcl th uh uw ux v w y z zh"
).split()

_to_48: dict[str, str | None] = {
    **{phone: phone for phone in _phones_61},
    **{"ax-h": "ax", "axr": "er", "em": "m", "eng": "ng", "hv": "hh", "nx": "n", "ux": "uw", "q": None},
    **dict.fromkeys(("bcl", "dcl", "gcl"), "vcl"),
    **dict.fromkeys(("kcl", "pcl", "tcl"), "cl"),
    **dict.fromkeys(("h#", "pau"), "sil"),
}
_48_to_39: dict[str, str] = {
    **{"ao": "aa", "ax": "ah", "ix": "ih", "el": "l", "en": "n", "zh": "sh"},
    **dict.fromkeys(("cl", "vcl", "epi"), "sil"),
}
_phone_maps: dict[int, dict[str, str | None]] = {
    61: {phone: phone for phone in _phones_61},
    48: _to_48,
    39: {phone: None if to is None else _48_to_39.get(to, to) for phone, to in _to_48.items()},
}
"""Number of phones -> phone of 61 -> phone of those; None: it is left out (Lee and Hon 1989)"""

_silence = {61: "pau", 48: "sil", 39: "sil"}


class TimitDataset(CorpusDataset):
    """Keys: "data", features, float32 [time, dim]; "classes", the phones one behind the other, int32 [phones].

    ``<timit_dir>/train/filelist.phn`` (or ``test/filelist.core.phn``) has the name of a ``.phn`` file a line, of lines
    "start end phone"; the audio is beside it (``.wav``). Tags: these names, without ``.phn``.
    """

    sorted_needs_lengths = False

    def __init__(
        self,
        timit_dir: str | None,
        train: bool = True,
        preload: bool = False,
        features: Any = "mfcc",
        num_feature_filters: int = 40,
        feature_window_len: float = 0.025,
        feature_step_len: float = 0.010,
        with_delta: bool | int = False,
        norm_mean: Any = None,
        norm_std_dev: Any = None,
        random_permute_audio: Any = None,
        num_phones: int = 61,
        demo_play_audio: bool = False,
        **kwargs: Any,
    ):
        """
        :param timit_dir: folder with "train" and "test"
        :param train: else test
        :param preload: keep all audio in memory
        :param features: this and the next ones: see
            :class:`~returnn.datasets.util.feature_extraction.ExtractAudioFeatures`
        :param num_feature_filters: features of a frame
        :param feature_window_len: seconds
        :param feature_step_len: seconds
        :param with_delta: number of derivatives over time
        :param norm_mean: is subtracted
        :param norm_std_dev: what is left is divided by it
        :param random_permute_audio: random changes of the audio. None: for training
        :param num_phones: 61, 48 or 39
        :param demo_play_audio: not supported
        """
        super().__init__(**kwargs)
        if demo_play_audio:
            raise ConfigError(f"{self.describe()}: demo_play_audio is not supported")
        self.timit_dir = timit_dir
        self.train = train
        self.preload = preload
        self.features = features
        self.num_feature_filters = num_feature_filters
        self.feature_window_len = feature_window_len
        self.feature_step_len = feature_step_len
        self.with_delta = with_delta
        self.norm_mean = norm_mean
        self.norm_std_dev = norm_std_dev
        self.random_permute_audio = random_permute_audio
        self.num_phones = num_phones
        self.demo_play_audio = demo_play_audio
        self.feature_extractor = ExtractAudioFeatures(
            features=features,
            num_feature_filters=num_feature_filters,
            window_len=feature_window_len,
            step_len=feature_step_len,
            with_delta=with_delta,
            norm_mean=norm_mean,
            norm_std_dev=norm_std_dev,
            random_permute=train if random_permute_audio is None else random_permute_audio,
        )
        self.num_inputs = self.feature_extractor.get_feature_dimension()
        self.labels["classes"] = self.get_labels(num_phones)
        self.num_outputs = {"data": [self.num_inputs, 2], "classes": [num_phones, 1]}
        self._phone_idx = {phone: i for i, phone in enumerate(self.labels["classes"])}
        self._tags: list[str] = []
        self._preloaded: list[tuple[numpy.ndarray, int]] = []

    @classmethod
    def get_labels(cls, num_phones: int = 61) -> list[str]:
        """
        :param num_phones: 61, 48 or 39
        :return: sorted, but silence comes first
        """
        if num_phones not in _phone_maps:
            raise ConfigError(f"{cls.__name__}: num_phones must be 61, 48 or 39, but is {num_phones!r}")
        phones = {phone for phone in _phone_maps[num_phones].values() if phone is not None}
        return sorted(phones, key=lambda phone: (phone != _silence[num_phones], phone))

    @classmethod
    def get_label_map(cls, source_num_phones: int = 61, target_num_phones: int = 39) -> dict[int, int | None]:
        """
        :param source_num_phones: 61, 48 or 39
        :param target_num_phones: not more than that
        :return: index among the source's labels -> index among those of the target; None: there is no such phone
        """
        sources, targets = cls.get_labels(source_num_phones), cls.get_labels(target_num_phones)
        if target_num_phones > source_num_phones:
            raise ConfigError(f"{cls.__name__}: {source_num_phones} phones do not tell {target_num_phones}")
        of_61 = {to: phone for phone, to in _phone_maps[source_num_phones].items()}
        res: dict[int, int | None] = {}
        for i, phone in enumerate(sources):
            target = _phone_maps[target_num_phones][of_61[phone]]
            res[i] = None if target is None else targets.index(target)
        return res

    # The corpus.

    def _folder(self) -> str:
        """:return: below which the names of the tags are"""
        if self.timit_dir is None:
            raise ConfigError(f"{self.describe()}: the option timit_dir is needed")
        return os.path.join(self.timit_dir, "train" if self.train else "test")

    def _find_tags(self) -> list[str]:
        name = os.path.join(self._folder(), "filelist.phn" if self.train else "filelist.core.phn")
        if not os.path.exists(name):
            raise UserError(f"{self.describe()}: {file_not_found('list of files', name)}")
        with open(name, encoding="utf8") as file:
            return [line.strip().removesuffix(".phn") for line in file if line.strip()]

    def _open_corpus(self) -> None:
        self._tags = self._find_tags()
        if not self._tags:
            raise UserError(f"{self.describe()}: there is no sequence in {self._folder()!r}")
        if self.preload:
            self._preloaded = [self._read_audio(tag) for tag in self._tags]

    def _close_corpus(self) -> None:
        self._preloaded = []

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: by corpus seq idx
        """
        self._ensure_open()
        return self._tags

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch."""
        changed = super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self.feature_extractor.random_state.seed(self._get_random_seed_for_epoch(epoch))
        return changed

    def _read_audio(self, tag: str) -> tuple[numpy.ndarray, int]:
        filename = os.path.join(self._folder(), tag + ".wav")
        if not os.path.exists(filename):
            raise UserError(f"{self.describe()}: {file_not_found('audio file', filename)}")
        return read_audio(filename, filename)

    def _read_phones(self, tag: str) -> list[int]:
        filename = os.path.join(self._folder(), tag + ".phn")
        if not os.path.exists(filename):
            raise UserError(f"{self.describe()}: {file_not_found('file of phones', filename)}")
        phones = []
        with open(filename, encoding="utf8") as file:
            for i, line in enumerate(file):
                if not line.strip():
                    continue
                phone = line.split()[-1]
                if phone not in _to_48:
                    raise UserError(f"{self.describe()}: {filename!r}, line {i + 1}: there is no phone {phone!r}")
                phones.append(_phone_maps[self.num_phones][phone])
        return [self._phone_idx[phone] for phone in phones if phone is not None]

    def _read_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        tag = self._tags[corpus_seq_idx]
        audio, sample_rate = self._preloaded[corpus_seq_idx] if self._preloaded else self._read_audio(tag)
        if BehaviorVersion.has(Change.AUDIO_SEED_PER_SEQ):
            self.feature_extractor.random_state.seed((self._get_random_seed_for_epoch(self.epoch), corpus_seq_idx))
        data = self.feature_extractor.get_audio_features(audio, sample_rate, seq_name=tag)
        classes = numpy.array(self._read_phones(tag), dtype="int32")
        return DatasetSeq(corpus_seq_idx, data, targets=classes, seq_tag=tag)

    def get_data_keys(self) -> list[str]:
        """
        :return: known without a sequence
        """
        return ["data", "classes"]

    def get_data_dtype(self, key: str) -> str:
        """
        :return: known without a sequence
        """
        return "float32" if key == "data" else "int32"


class NltkTimitDataset(TimitDataset):
    """The 160 recordings of NLTK's package "timit": the first 90 % are for training, the others not."""

    _getnewargs_exclude_attrs = {"timit_dir"}

    def __init__(self, nltk_download_dir: str | None = None, **kwargs: Any):
        """
        :param nltk_download_dir: where NLTK has its data, or puts it. None: where NLTK finds it
        :param kwargs: those of TimitDataset, without ``timit_dir``
        """
        self.nltk_download_dir = nltk_download_dir
        self._found_folder: str | None = None
        super().__init__(timit_dir=None, **kwargs)

    def _folder(self) -> str:
        if self._found_folder is None:
            self._found_folder = self._find_folder()
        return self._found_folder

    def _find_folder(self) -> str:
        if self.nltk_download_dir is not None:
            folder = os.path.join(self.nltk_download_dir, "corpora", "timit")
            if os.path.isdir(folder):
                return folder
        try:
            import nltk  # noqa: PLC0415  # optional
        except ImportError as exc:
            raise UserError(f"{self.describe()} needs the package nltk: pip install nltk") from exc
        print(f"{self.describe()}: NLTK's data package 'timit' is downloaded if it is not there", file=log.v3)
        if not nltk.download("timit", download_dir=self.nltk_download_dir):
            raise UserError(f"{self.describe()}: NLTK could not download its data package 'timit'")
        paths = [self.nltk_download_dir, *nltk.data.path] if self.nltk_download_dir else nltk.data.path
        return str(nltk.data.find("corpora/timit", paths=paths))

    def _find_tags(self) -> list[str]:
        folder = self._folder()
        names = [
            os.path.relpath(os.path.join(sub, name), folder) for sub, _, found in os.walk(folder) for name in found
        ]
        tags = sorted(name.removesuffix(".phn") for name in names if name.endswith(".phn"))
        num_train = int(len(tags) * 0.9)
        return tags[:num_train] if self.train else tags[num_train:]
