"""What datasets of utterances share: audio or none, the text as labels, the order, seeds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy

from returnn.util.behavior_version import BehaviorVersion, Change
from returnn.util.errors import ConfigError, UserError

from ..corpus import CorpusDataset
from ..seq import DatasetSeq
from ..util.audio_file import read_audio
from ..util.feature_extraction import ExtractAudioFeatures
from ..util.string_list import StringList
from ..util.vocabulary import Vocabulary
from .archive import Archive


@dataclass
class Utterances:
    """A table, a row an utterance, by corpus seq idx."""

    tags: StringList = field(default_factory=StringList)
    texts: StringList = field(default_factory=StringList)
    files: StringList = field(default_factory=StringList)
    """name of the audio file in its archive; "" if there is none"""
    archives: Any = field(default_factory=lambda: numpy.zeros(0, dtype="int32"))
    """[rows], which archive that is"""
    lens: Any = field(default_factory=lambda: numpy.zeros(0))
    """[rows], lengths for the order"""

    def rows(self, indices: Sequence[int]) -> Utterances:
        """
        :param indices: of rows
        :return: a table of these, in that order
        """
        return Utterances(
            tags=StringList(self.tags[i] for i in indices),
            texts=StringList(self.texts[i] for i in indices),
            files=StringList(self.files[i] for i in indices),
            archives=self.archives[list(indices)],
            lens=self.lens[list(indices)],
        )


class UtteranceDataset(CorpusDataset):
    """Base class. Override ``_load_utterances``, ``_open_archive``, and ``_data_keys``.

    The table of utterances is loaded when it is needed first, audio when its sequence is loaded.
    """

    _data_keys: Sequence[str] = ("data", "classes", "orth", "raw")
    """of those the dataset has: "data" only with audio, "classes" only with targets"""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.feature_extractor: ExtractAudioFeatures | None = None
        self.targets: Vocabulary | None = None
        self._post_process: Callable[[str], str] | None = None
        self._utterances = Utterances()
        self._archives: dict[int, Archive] = {}

    def _set_kinds(
        self, audio: dict[str, Any] | None, targets: Any, post_process: Callable[[str], str] | None = None
    ) -> None:
        """
        :param audio: options of ExtractAudioFeatures; None: no audio
        :param targets: options of a vocabulary, or a vocabulary; None: no "classes"
        :param post_process: changes the text before the vocabulary gets it
        """
        self.num_outputs = {}
        if audio is not None:
            self.feature_extractor = self._make_feature_extractor(audio)
            dim, num_channels = self.feature_extractor.get_feature_dimension(), self.feature_extractor.num_channels
            self.num_inputs = dim
            self.num_outputs["data"] = (
                [dim, 2] if num_channels is None else {"dim": dim, "shape": (None, num_channels, dim)}
            )
        if targets is not None:
            self.targets = Vocabulary.create_vocab(**targets) if isinstance(targets, dict) else targets
            if not isinstance(self.targets, Vocabulary):
                raise ConfigError(f"{self.describe()}: targets must be a dict or a Vocabulary, but is {targets!r}")
            self.num_outputs["classes"] = [self.targets.num_labels, 1]
            self.labels["classes"] = self.targets.labels
        if "orth" in self._data_keys:
            self.num_outputs["orth"] = [256, 1]
            self.labels["orth"] = [chr(i) for i in range(256)]
        self.num_outputs["raw"] = {"dtype": "string", "shape": ()}
        self._post_process = post_process

    def _make_feature_extractor(self, options: Any) -> ExtractAudioFeatures:
        if not isinstance(options, dict):
            raise ConfigError(f"{self.describe()}: audio must be a dict or None, but is {options!r}")
        try:
            return ExtractAudioFeatures(**options)
        except TypeError as exc:
            if "unexpected keyword" not in str(exc):
                raise
            name = str(exc).rsplit(" ", 1)[-1]
            raise ConfigError(f"{self.describe()}: audio has no option {name}") from exc
        except UserError as exc:
            raise ConfigError(f"{self.describe()}: {exc}") from exc

    # What a class adds.

    def _load_utterances(self) -> Utterances:
        """:return: the whole corpus"""
        raise NotImplementedError

    def _open_archive(self, idx: int) -> Archive:
        """:return: where audio comes from, by the number in the table"""
        raise NotImplementedError

    def _full_name(self, archive_idx: int, file: str) -> str:
        """:return: of an audio file in its archive"""
        return file

    # Order.

    def _open_corpus(self) -> None:
        self._utterances = self._load_utterances()
        if not len(self._utterances.tags):
            raise UserError(f"{self.describe()}: there is no utterance{self._why_none()}")

    def _close_corpus(self) -> None:
        self._utterances = Utterances()
        for archive in self._archives.values():
            archive.close()
        self._archives = {}

    def _archive(self, idx: int) -> Archive:
        if idx not in self._archives:
            self._archives[idx] = self._open_archive(idx)
        return self._archives[idx]

    def _why_none(self) -> str:
        """:return: what to look at, with a leading blank"""
        return ""

    def _fixed_subset(self, table: Utterances, size: float | None, seed: int) -> Utterances:
        """
        :param size: number of utterances, or, below 1, a part of all. None: all
        :return: so many, shuffled
        """
        if size is None:
            return table
        num = len(table.tags)
        wanted = int(num * size) if 0 < size < 1 else size
        if wanted != int(wanted) or not 0 < wanted <= num:
            raise ConfigError(
                f"{self.describe()}: fixed_random_subset must be a fraction below 1, or a number of utterances up to"
                f" {num}, with at least one left, but is {size!r}"
            )
        indices = list(range(num))
        numpy.random.RandomState(seed).shuffle(indices)
        return table.rows(indices[: int(wanted)])

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch."""
        changed = super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        seed = self._get_random_seed_for_epoch(epoch)
        self._set_seed(seed, seed)
        return changed

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: by corpus seq idx
        """
        self._ensure_open()
        return self._utterances.tags

    def _get_len_for_order(self, corpus_seq_idx: int) -> int:
        return int(self._utterances.lens[corpus_seq_idx])

    # Data.

    def get_data_keys(self) -> list[str]:
        """
        :return: known without a sequence
        """
        return [key for key in self._data_keys if key in (self.num_outputs or ())]

    def get_data_dtype(self, key: str) -> str:
        """
        :return: known without a sequence
        """
        return {"data": "float32", "classes": "int32", "orth": "uint8", "raw": "string"}[key]

    def _set_seed(self, audio_seed: Any, vocab_seed: int) -> None:
        if self.feature_extractor is not None:
            self.feature_extractor.random_state.seed(audio_seed)
        if self.targets is not None:
            self.targets.set_random_seed(vocab_seed)

    def _read_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        table = self._utterances
        tag, text = table.tags[corpus_seq_idx], table.texts[corpus_seq_idx]
        if BehaviorVersion.has(Change.AUDIO_SEED_PER_SEQ):
            seed = (self._get_random_seed_for_epoch(self.epoch), corpus_seq_idx)
            self._set_seed(seed, int(numpy.random.SeedSequence(seed).generate_state(1)[0]))
        features: dict[str, numpy.ndarray] = {}
        if self.feature_extractor is not None:
            features["data"] = self._audio_features(self.feature_extractor, corpus_seq_idx, tag)
        if self.targets is not None:
            features["classes"] = self._labels_of(self.targets, text, tag)
        if "orth" in self._data_keys:
            features["orth"] = numpy.frombuffer(table.texts.get_bytes(corpus_seq_idx), dtype="uint8").copy()
        features["raw"] = self._raw_text(text)
        return DatasetSeq(corpus_seq_idx, features, seq_tag=tag)

    def _audio_features(self, extractor: ExtractAudioFeatures, corpus_seq_idx: int, tag: str) -> numpy.ndarray:
        table = self._utterances
        archive_idx, file = int(table.archives[corpus_seq_idx]), table.files[corpus_seq_idx]
        archive, name = self._archive(archive_idx), self._full_name(archive_idx, file)
        where = f"{name} in {archive.path} (sequence {tag!r} of {self.describe()})"
        audio, sample_rate = read_audio(archive.read(name), where)
        return extractor.get_audio_features(audio, sample_rate, seq_name=tag, file_name=where)

    def _labels_of(self, vocab: Vocabulary, text: str, tag: str) -> numpy.ndarray:
        try:
            if self._post_process is not None:
                text = self._post_process(text)
            return numpy.array(vocab.get_seq(text), dtype="int32")
        except UserError as exc:
            raise UserError(f"{self.describe()}, sequence {tag!r}: {exc}") from exc

    def _raw_text(self, text: str) -> numpy.ndarray:
        return numpy.array(text, dtype=object)
