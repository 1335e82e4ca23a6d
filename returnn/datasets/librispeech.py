"""The LibriSpeech corpus as it is published: zip files or folders, with transcriptions and FLAC files."""

from __future__ import annotations

import array
import glob
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy

from returnn.log import log
from returnn.util.cache_manager import cf
from returnn.util.errors import ConfigError, UserError

from .audio.archive import Archive
from .audio.base import UtteranceDataset, Utterances
from .lm.post_process import get_post_processor_function
from .meta.epoch_wise_filter import EpochWiseFilter

_trans_suffix = ".trans.txt"


class LibriSpeechFilter(EpochWiseFilter):
    """With two further options of a range of epochs:

    - ``subdirs``: list of the parts of the corpus to keep
    - ``use_new_filter`` (False): the way of :class:`EpochWiseFilter`; else an older one, which loses up to half of the
      sequences even where ``max_mean_len`` does not bind, and sorts what is left by length
    """

    valid_options = (*EpochWiseFilter.valid_options, "subdirs", "use_new_filter")

    def filter_parts(
        self,
        epoch: int,
        seq_order: Sequence[int],
        get_seq_len: Callable[[int], float],
        get_part: Callable[[int], str],
        parts: Sequence[str],
    ) -> Sequence[int]:
        """
        :param epoch: starts at 1
        :param seq_order: corpus indices
        :param get_seq_len: corpus index -> length
        :param get_part: corpus index -> part
        :param parts: all of them
        :return: those that are kept
        """
        opts = self.get_opts(epoch)
        if opts.get("subdirs") is not None:
            for part in opts["subdirs"]:
                if part not in parts:
                    raise ConfigError(
                        f"{self.debug_msg_prefix}: subdirs has {part!r}, which is not there, only {', '.join(parts)}"
                    )
            seq_order = [i for i in seq_order if get_part(i) in opts["subdirs"]]
            if not seq_order:
                raise ConfigError(
                    f"{self.debug_msg_prefix}: subdirs {opts['subdirs']} leave no sequence of epoch {epoch}"
                )
        if opts.get("max_mean_len") is None or opts.get("use_new_filter"):
            return self.filter(epoch, seq_order, get_seq_len)
        log.print_warning(
            f"{self.debug_msg_prefix}: without use_new_filter, max_mean_len loses sequences and the order of the epoch."
            " Set use_new_filter=True.",
            once=True,
        )
        return _shortest_the_old_way(seq_order, get_seq_len, opts["max_mean_len"])


def _shortest_the_old_way(
    seq_order: Sequence[int], get_seq_len: Callable[[int], float], max_mean_len: float
) -> list[int]:
    """:return: sorted by length. Their number: the first try of a search by halves whose mean is not above the limit"""
    by_len = sorted((get_seq_len(i), int(i)) for i in seq_order)
    means = numpy.cumsum([length for length, _ in by_len]) / numpy.arange(1, len(by_len) + 1)
    low, high = 1, len(by_len) + 1
    while low + 1 < high:
        num = (low + high) // 2
        if means[num - 1] > max_mean_len:
            high = num
        else:
            low = num
            break
    return [i for _, i in by_len[:low]]


class LibriSpeechCorpus(UtteranceDataset):
    """All parts of the corpus whose names start with ``prefix``: ``PART/SPEAKER/CHAPTER/SPEAKER-CHAPTER.trans.txt``
    with lines ``SPEAKER-CHAPTER-SEQ TEXT``, and beside it ``SPEAKER-CHAPTER-SEQ.flac``. Zip files ``PART.zip`` hold
    that in a folder ``LibriSpeech``.

    Keys: "data" float32 [time, dim]; "classes" int32 [time], targets; "raw", the text. Length for orders: characters.
    Corpus order: by part, and the numbers of speaker, chapter, sequence. Memory: as OggZipDataset.
    """

    _data_keys = ("data", "classes", "raw")

    def __init__(
        self,
        path: str,
        prefix: str,
        audio: dict[str, Any] | None,
        orth_post_process: Any = None,
        targets: Any = None,
        chars: dict[str, Any] | None = None,
        bpe: dict[str, Any] | None = None,
        use_zip: bool = False,
        use_ogg: bool = False,
        use_cache_manager: bool = False,
        fixed_random_subset: float | None = None,
        epoch_wise_filter: Any = None,
        name: str | None = None,
        seq_tag_format: str = "%(subdir)s-%(speaker)i-%(chapter)i-%(seq)04i",
        **kwargs: Any,
    ):
        """
        :param path: folder of the parts
        :param prefix: "train", "dev", "test", or more of the name of a part
        :param audio: options of :class:`~returnn.datasets.util.feature_extraction.ExtractAudioFeatures`, {} for the
            defaults; None: no audio
        :param orth_post_process: see :func:`~returnn.datasets.lm.post_process.get_post_processor_function`
        :param targets: options of a :class:`~returnn.datasets.util.vocabulary.Vocabulary`, or such one; or "bpe" or
            "chars", whose options follow. None: that of them which is given, else no "classes"
        :param chars: options of CharacterTargets
        :param bpe: options of BytePairEncoding
        :param use_zip: parts are zip files
        :param use_ogg: audio is in files ``.flac.ogg``
        :param use_cache_manager: get each zip file by the external command ``cf``, if there is one
        :param fixed_random_subset: only so many utterances, or, below 1, such a part of them
        :param epoch_wise_filter: (first epoch, last epoch) -> options, see :class:`LibriSpeechFilter`
        :param name: None: ``prefix:`` and the prefix
        :param seq_tag_format: of subdir (part), speaker, chapter, seq
        """
        super().__init__(name=name or f"prefix:{prefix}", **kwargs)
        if not prefix.startswith(("train", "dev", "test")):
            raise ConfigError(f"{self.describe()}: prefix must start with train, dev or test, but is {prefix!r}")
        self.path = path
        self.prefix = prefix
        self._audio = audio
        self.orth_post_process = orth_post_process
        self._targets = targets
        self.chars = chars
        self.bpe = bpe
        self.use_zip = use_zip
        self.use_ogg = use_ogg
        self.use_cache_manager = use_cache_manager
        self.fixed_random_subset = fixed_random_subset
        self.epoch_wise_filter = epoch_wise_filter
        self.seq_tag_format = seq_tag_format
        self._filter = None
        if epoch_wise_filter is not None:
            self._filter = LibriSpeechFilter(
                epoch_wise_filter, debug_msg_prefix=f"{self.describe()}, epoch_wise_filter"
            )
        self._parts = self._find_parts()
        post_process = None if orth_post_process is None else get_post_processor_function(orth_post_process)
        self._set_kinds(audio, self._vocab_options(targets), post_process)

    def _vocab_options(self, targets: Any) -> Any:
        classes = {"bpe": "BytePairEncoding", "chars": "CharacterTargets"}
        given = {key: opts for key, opts in (("bpe", self.bpe), ("chars", self.chars)) if opts is not None}
        if targets is None:
            targets = next(iter(given), None)
        if not isinstance(targets, str):
            return targets
        if targets not in given:
            raise ConfigError(
                f'{self.describe()}: targets must be a dict of options, "bpe" or "chars", but is {targets!r}'
                + (f", and the option {targets} is missing" if targets in classes else "")
            )
        return {"class": classes[targets], **given[targets]}

    def _find_parts(self) -> list[tuple[str, str]]:
        """:return: (name, path), sorted"""
        suffix = ".zip" if self.use_zip else ""
        paths = glob.glob(glob.escape(os.path.join(self.path, self.prefix)) + "*" + suffix)
        parts = sorted((os.path.basename(p).removesuffix(suffix), p) for p in paths if self.use_zip or os.path.isdir(p))
        if not parts:
            there = sorted(os.listdir(self.path))[:8] if os.path.isdir(self.path) else "no such folder"
            raise ConfigError(
                f"{self.describe()}: there is no {'zip file' if self.use_zip else 'folder'}"
                f" {self.prefix}*{suffix} in {self.path!r}, only {there}"
            )
        return parts

    def _open_archive(self, idx: int) -> Archive:
        path = self._parts[idx][1]
        return Archive(cf(path) if self.use_cache_manager and self.use_zip else path)

    def _load_utterances(self) -> Utterances:
        print(f"{self.describe()}: loading {', '.join(path for _, path in self._parts)}", file=log.v4)
        table, archives, lens = Utterances(), array.array("i"), array.array("q")
        for i, (subdir, _) in enumerate(self._parts):
            for (speaker, chapter, seq), file, text in sorted(self._utterances_of_part(i)):
                numbers = {"speaker": speaker, "chapter": chapter, "seq": seq}
                table.tags.append(self.seq_tag_format % {"subdir": subdir, **numbers})
                table.texts.append(text)
                table.files.append(file)
                archives.append(i)
                lens.append(len(text))
        table.archives = numpy.array(archives, dtype="int32")
        table.lens = numpy.array(lens, dtype="int64")
        return self._fixed_subset(table, self.fixed_random_subset, seed=42)

    def _utterances_of_part(self, idx: int) -> Iterator[tuple[tuple[int, ...], str, str]]:
        """:return: (speaker, chapter, seq), audio file, text"""
        archive = self._archive(idx)
        ending = ".flac.ogg" if self.use_ogg else ".flac"
        for name in [name for name in archive.names() if name.endswith(_trans_suffix)]:
            folder = os.path.dirname(name)
            for line in archive.read(name).decode("utf8").splitlines():
                seq_name, _, text = line.partition(" ")
                try:
                    speaker, chapter, seq = map(int, seq_name.split("-"))
                except ValueError:
                    raise UserError(
                        f"{self.describe()}: {name} in {archive.path}: expected SPEAKER-CHAPTER-SEQ TEXT,"
                        f" but there is {line!r:.80}"
                    ) from None
                yield (speaker, chapter, seq), f"{folder}/{seq_name}{ending}", text

    def _filter_epoch(self, epoch: int, order: Sequence[int]) -> Sequence[int]:
        if self._filter is None:
            return order
        table, parts = self._utterances, [name for name, _ in self._parts]
        return self._filter.filter_parts(
            epoch,
            order,
            get_seq_len=self._get_len_for_order,
            get_part=lambda i: parts[table.archives[i]],
            parts=parts,
        )

    def _raw_text(self, text: str) -> numpy.ndarray:
        return super()._raw_text(text if self._post_process is None else self._post_process(text))

    def _why_none(self) -> str:
        return f": no file *{_trans_suffix} in {', '.join(path for _, path in self._parts)}"
