"""Utterances in zip files."""

from __future__ import annotations

import array
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy

from returnn.log import log
from returnn.util.cache_manager import cf
from returnn.util.errors import ConfigError, UserError
from returnn.util.packed import read_unpacked
from returnn.util.suggest import file_not_found

from ..lm.post_process import get_post_processor_function
from ..meta.epoch_wise_filter import EpochWiseFilter
from ..seq_lists import load_seq_tags
from ..util.strings import str_to_numpy_array
from .archive import Archive
from .base import UtteranceDataset, Utterances
from .index import iter_entries


@dataclass
class _Source:
    name: str
    """internal, of the text file and of the folder with the audio"""
    path: str
    """of the zip file or folder; "": there is none"""
    text_path: str = ""
    """of a text file outside"""


def _parse_paths(path: Any, content_name: str | None, resolve_symlink: bool) -> list[_Source]:
    paths = list(path) if isinstance(path, (list, tuple)) else [path]
    if not paths or not all(isinstance(p, str) and p for p in paths):
        raise ConfigError(f"OggZipDataset: path must be a file name or a list of them, but is {path!r}")
    sources = []
    for p in paths:
        if not p.endswith(_text_suffix):
            real = os.path.realpath(p) if resolve_symlink else p
            base = os.path.basename(real.rstrip("/"))
            sources.append(_Source(content_name or (base if os.path.isdir(p) else os.path.splitext(base)[0]), p))
    for p in paths:
        if p.endswith(_text_suffix):
            name = os.path.basename(p).removesuffix(_text_suffix)
            matching = [source for source in sources if source.path and source.name == name]
            for source in matching:
                source.text_path = p
            if not matching:
                sources.append(_Source(name, "", p))
    return sources


_text_suffix = ".txt.gz"


class OggZipDataset(UtteranceDataset):
    """Utterances of one or several zip files, one behind the other.

    A zip file ``NAME.zip`` has a text file ``NAME.txt``, see :mod:`.index`, with a dict an utterance: "text",
    "duration" (seconds), "file" (audio: Ogg, FLAC, wav, ...), and maybe "seq_name", the tag, else "file" is. Audio is
    in ``NAME/``. Instead of a zip file there can be a folder ``NAME`` and beside it ``NAME.txt``.

    Keys: "data" float32 [time, dim]; "classes" int32 [time], targets; "orth" uint8 [time], the text in UTF-8;
    "raw", the text. Length for orders: hundredths of a second. Memory: text, tag and file name of each utterance, and
    what zip files say about their content.
    """

    def __init__(
        self,
        path: str | Sequence[str],
        *,
        audio: dict[str, Any] | None,
        targets: Any,
        name: str | None = None,
        content_name: str | None = None,
        resolve_symlink_for_name: bool = False,
        targets_post_process: Any = None,
        segment_file: str | None = None,
        zip_audio_files_have_name_as_prefix: bool = True,
        fixed_random_subset: float | None = None,
        fixed_random_subset_seed: int = 42,
        epoch_wise_filter: Any = None,
        use_cache_manager: bool = False,
        **kwargs: Any,
    ):
        """
        :param path: of a zip file or a folder, or of several; ``NAME.txt.gz`` stands for the text file inside of NAME
        :param audio: options of :class:`~returnn.datasets.util.feature_extraction.ExtractAudioFeatures`, {} for the
            defaults; None: no audio
        :param targets: options of a :class:`~returnn.datasets.util.vocabulary.Vocabulary`, or such one; None: no
            "classes"
        :param name: None: the internal name
        :param content_name: internal name; None: that of the file, without its last extension
        :param resolve_symlink_for_name: if the file is a link, its name is that of its target
        :param targets_post_process: see :func:`~returnn.datasets.lm.post_process.get_post_processor_function`; changes
            the text for the vocabulary
        :param segment_file: only these tags, one a line, may be packed (.gz)
        :param zip_audio_files_have_name_as_prefix: else "file" is the whole name in the zip file
        :param fixed_random_subset: only so many utterances, or, below 1, such a part of them
        :param fixed_random_subset_seed: decides which ones
        :param epoch_wise_filter: see :class:`~returnn.datasets.meta.EpochWiseFilter`; lengths are durations * 100
        :param use_cache_manager: get each file by the external command ``cf``, if there is one
        """
        self.path = path
        self.content_name = content_name
        self.resolve_symlink_for_name = resolve_symlink_for_name
        self._sources = _parse_paths(path, content_name, resolve_symlink_for_name)
        super().__init__(name=name or self._sources[0].name, **kwargs)
        for source in self._sources:
            if not source.path and audio is not None:
                raise ConfigError(
                    f"{self.describe()}: {source.text_path} has no zip file {source.name}.zip beside it in path, so"
                    " audio must be None"
                )
        self._audio = audio
        self._targets = targets
        self.targets_post_process = targets_post_process
        self.segment_file = segment_file
        self.zip_audio_files_have_name_as_prefix = zip_audio_files_have_name_as_prefix
        self.fixed_random_subset = fixed_random_subset
        self.fixed_random_subset_seed = fixed_random_subset_seed
        self.epoch_wise_filter = epoch_wise_filter
        self._filter = EpochWiseFilter.from_option(epoch_wise_filter, f"{self.describe()}, epoch_wise_filter")
        self.use_cache_manager = use_cache_manager
        post_process = None if targets_post_process is None else get_post_processor_function(targets_post_process)
        self._set_kinds(audio, targets, post_process)

    def _load_utterances(self) -> Utterances:
        print(f"{self.describe()}: loading", file=log.v4)
        wanted = load_seq_tags(self.segment_file) if self.segment_file else None
        table, archives, lens = Utterances(), array.array("i"), array.array("q")
        for i, source in enumerate(self._sources):
            for entry in self._entries(i, source):
                tag, file = entry.get("seq_name"), entry.get("file") or ""
                tag = file if tag is None else tag
                if wanted is not None and tag not in wanted:
                    continue
                table.tags.append(tag)
                table.texts.append(entry["text"])
                table.files.append(file)
                archives.append(i)
                lens.append(int(entry["duration"] * 100))
        table.archives = numpy.array(archives, dtype="int32")
        table.lens = numpy.array(lens, dtype="int64")
        return self._fixed_subset(table, self.fixed_random_subset, self.fixed_random_subset_seed)

    def _why_none(self) -> str:
        return f" of those in segment_file {self.segment_file!r}" if self.segment_file else ""

    def _entries(self, idx: int, source: _Source) -> Iterator[dict[str, Any]]:
        text, where = self._index_text(idx, source)
        where = f"{self.describe()}: {where}"
        with_audio = self.feature_extractor is not None
        for i, entry in enumerate(iter_entries(text, where)):
            keys = ("text", "duration", "seq_name" if "seq_name" in entry else "file")
            for key in (*keys, "file") if with_audio else keys:
                if not isinstance(entry.get(key), (int, float) if key == "duration" else str):
                    raise UserError(
                        f"{where}, entry {i}: {key!r} must be a {'number' if key == 'duration' else 'str'}, but"
                        f" {'is ' + repr(entry[key]) if key in entry else 'is missing'}: {entry!r:.150}"
                    )
            yield entry

    def _index_text(self, idx: int, source: _Source) -> tuple[str, str]:
        """:return: content of the text file, its name for people"""
        inner = source.name + ".txt"
        if source.text_path:
            where, content = source.text_path, read_unpacked(self._cached(source.text_path), "text file")
        elif os.path.isdir(source.path):
            where = source.path.rstrip("/") + ".txt"
            if not os.path.exists(where):
                raise UserError(f"{self.describe()}: {file_not_found('text file of the folder', where)}")
            with open(where, "rb") as file:
                content = file.read()
        else:
            where = f"{inner} in {source.path}"
            archive = self._archive(idx)
            if not archive.has(inner):
                texts = [name for name in archive.names() if name.endswith(".txt")]
                hint = f" Set content_name={texts[0][: -len('.txt')]!r}?" if texts else ""
                raise UserError(f"{self.describe()}: there is no {inner!r} in {source.path}.{hint}")
            content = archive.read(inner)
        try:
            return content.decode("utf8"), where
        except UnicodeDecodeError as exc:
            raise UserError(f"{self.describe()}: {where} is not in UTF-8: {exc}") from exc

    def _cached(self, path: str) -> str:
        return cf(path) if self.use_cache_manager else path

    def _open_archive(self, idx: int) -> Archive:
        path = self._sources[idx].path
        if os.path.isdir(path):  # what is in it counts as in a zip file, so with the name of the folder
            return Archive(os.path.dirname(path.rstrip("/")) or ".")
        return Archive(self._cached(path))

    def _full_name(self, archive_idx: int, name: str) -> str:
        return f"{self._sources[archive_idx].name}/{name}" if self.zip_audio_files_have_name_as_prefix else name

    def _filter_epoch(self, epoch: int, order: Sequence[int]) -> Sequence[int]:
        if self._filter is None:
            return order
        return self._filter.filter(epoch, order, self._get_len_for_order)

    def _raw_text(self, text: str) -> numpy.ndarray:
        return str_to_numpy_array(text)
