"""Parallel text for translation."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from returnn.log import log
from returnn.util.cache_manager import cf
from returnn.util.errors import ConfigError, UserError
from returnn.util.label_file import LabelFile, load_labels, read_text
from returnn.util.suggest import file_not_found

from ..cached2 import CachedDataset2
from ..dataset import Dataset, OptionalNotImplementedError
from ..seq import DatasetSeq
from .tags import NumberedTags
from .text_corpus import TextCorpus, compact_ints


class TranslationDataset(CachedDataset2):
    """A line of ``source.<postfix>`` and the same line of ``target.<postfix>`` are a sequence.

    "data", "classes": [time] int32, words by number. Tags ``line-<n>``, empty lines count. Memory: see
    :mod:`.text_corpus`.
    """

    main_keys: Mapping[str, str] = {"source": "data", "target": "classes"}
    """Begin of a file name -> data key."""

    def __init__(
        self,
        path: str,
        file_postfix: str,
        source_postfix: str = "",
        target_postfix: str = "",
        source_only: bool = False,
        search_without_reference: bool = False,
        unknown_label: str | dict[str, str | None] | None = None,
        seq_list_file: str | None = None,
        use_cache_manager: bool = False,
        **kwargs: Any,
    ):
        """
        :param path: folder with ``source.<file_postfix>``, ``target.<file_postfix>``, which may be packed (``.gz``),
            and ``source.vocab.pkl``, ``target.vocab.pkl``: pickled dicts, word -> number
        :param file_postfix: end of file names
        :param source_postfix: put behind each line, as ``" </S>"``
        :param target_postfix: put behind each line
        :param source_only: there is no target
        :param search_without_reference: there is no target, but its vocabulary
        :param unknown_label: word for those that are not in the vocabulary; or a dict of them, data key -> word. None:
            they are an error
        :param seq_list_file: numbers of lines, or tags, one a line: instead of all lines, in this order
        :param use_cache_manager: read a local copy
        """
        super().__init__(**kwargs)
        self.path = path
        self.file_postfix = file_postfix
        self.source_postfix = source_postfix
        self.target_postfix = target_postfix
        self.source_only = source_only
        self.search_without_reference = search_without_reference
        self.unknown_label = unknown_label
        self.seq_list_file = seq_list_file
        self.use_cache_manager = use_cache_manager
        if not os.path.isdir(path):
            raise ConfigError(f"{self.describe()}: path: {file_not_found('folder', path)}")
        self._files = {"source": self._find_file("source")}
        if not source_only and not search_without_reference:
            self._files["target"] = self._find_file("target")
        self._vocabs = self._load_vocabs()
        self._unknown_ids = {key: self._unknown_id(key) for key in self._vocabs}
        self.labels = {key: vocab.labels for key, vocab in self._vocabs.items()}
        self.num_outputs = {key: [len(vocab.labels), 1] for key, vocab in self._vocabs.items()}
        self.num_inputs = len(self._vocabs[self.main_keys["source"]].labels)
        self._texts: dict[str, TextCorpus] | None = None
        self._lens: Sequence[int] | None = None
        self._all_lines: Sequence[int] = ()  # corpus seq idx -> line
        self._order: Sequence[int] = ()

    # Files.

    def _find_file(self, prefix: str) -> str:
        filename = os.path.join(self.path, f"{prefix}.{self.file_postfix}")
        for name in (filename, filename + ".gz"):
            if os.path.exists(name):
                return cf(name) if self.use_cache_manager else name
        raise ConfigError(f"{self.describe()}: {file_not_found('text file', filename)}")

    def _keys(self, prefix: str) -> list[str]:
        """:return: data keys of the source or target"""
        return [self.main_keys[prefix]]

    def _prefixes(self) -> list[str]:
        """:return: for which there are vocabularies"""
        return ["source"] if self.source_only else ["source", "target"]

    def _load_vocabs(self) -> dict[str, LabelFile]:
        """:return: by data key"""
        vocabs = {}
        for prefix in self._prefixes():
            for key in self._keys(prefix):
                name = prefix if key == self.main_keys[prefix] else key
                filename = os.path.join(self.path, f"{name}.vocab.pkl")
                vocabs[key] = load_labels(cf(filename) if self.use_cache_manager else filename)
        return vocabs

    def _unknown_id(self, key: str) -> int | None:
        label = self.unknown_label.get(key) if isinstance(self.unknown_label, dict) else self.unknown_label
        if label is None:
            return None
        if label not in self._vocabs[key].ids:
            raise ConfigError(
                f"{self.describe()}: unknown_label {label!r} is not in the vocabulary of {key!r}, which begins"
                f" {self._vocabs[key].labels[:5]}. It can be a dict, data key -> label."
            )
        return self._vocabs[key].ids[label]

    def _postfix(self, prefix: str) -> str:
        return self.source_postfix if prefix == "source" else self.target_postfix

    def _load(self) -> dict[str, TextCorpus]:
        if self._texts is None:
            texts = {prefix: TextCorpus([name], skip_empty_lines=False) for prefix, name in self._files.items()}
            sizes = {self._files[prefix]: len(text) for prefix, text in texts.items()}
            if len(set(sizes.values())) > 1:
                raise UserError(
                    f"{self.describe()}: the files must have as many lines, but there are"
                    f" {' and '.join(f'{n} in {name!r}' for name, n in sizes.items())}"
                )
            num_lines = len(texts["source"])
            if not num_lines:
                raise UserError(f"{self.describe()}: {self._files['source']!r} is empty")
            print("%s: %i lines" % (self.describe(), num_lines), file=log.v4)
            self._texts = texts
            self._all_lines = self._load_seq_list(num_lines) if self.seq_list_file else range(num_lines)
        return self._texts

    def _load_seq_list(self, num_lines: int) -> list[int]:
        assert self.seq_list_file is not None
        lines = []
        for i, entry in enumerate(read_text(self.seq_list_file, "seq_list_file").split(), 1):
            number = entry.removeprefix("line-")
            if not number.isdecimal() or int(number) >= num_lines:
                raise UserError(
                    f"{self.describe()}: seq_list_file {self.seq_list_file!r}, line {i}: {entry!r} is none of line-0"
                    f" .. line-{num_lines - 1}"
                )
            lines.append(int(number))
        return lines

    def _lens_for_order(self) -> Sequence[int]:
        """:return: by corpus seq idx: words of the source, with its postfix"""
        if self._lens is None:
            lens = self._load()["source"].lens_in_words()
            postfix = self.source_postfix
            if postfix.strip():
                # a postfix without a blank in front goes on the last word
                glued = lens > 0 if not postfix[0].isspace() else False
                lens = lens + len(postfix.split()) - glued
            self._lens = compact_ints(lens[numpy.asarray(self._all_lines)])
        return self._lens

    # Order.

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch. The text is opened in the first one."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        if epoch is None and seq_list is None and seq_order is None:
            self._order, self._num_seqs = (), 0
            return True
        self._load()
        self._order = self._corpus_order(
            epoch,
            seq_list,
            seq_order,
            num_seqs=len(self._all_lines),
            get_seq_len=lambda i: self._lens_for_order()[i],
        )
        self._num_seqs = len(self._order)
        return True

    def finish_epoch(self, *, free_resources: bool = False) -> None:
        """Ends the epoch."""
        super().finish_epoch(free_resources=free_resources)
        if free_resources:
            self._texts = self._lens = None

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: corpus seq indices
        """
        return self._order

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: number of the line, or in ``seq_list_file``
        """
        return int(self._order[seq_idx])

    def have_get_corpus_seq(self) -> bool:
        """
        :return: True
        """
        return True

    def get_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        """
        :return: the sequence
        """
        self._load()
        return self._make_seq(corpus_seq_idx, corpus_seq_idx)

    def get_estimated_seq_length(self, seq_idx: int) -> int:
        """
        :return: words of the source
        """
        return self._lens_for_order()[int(self._order[seq_idx])]

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: number of lines
        """
        if fast and self._texts is None:
            raise OptionalNotImplementedError(f"{self.describe()} is not loaded yet")
        self._load()
        return len(self._all_lines)

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: by corpus seq idx
        """
        self._load()
        if self.seq_list_file:
            return [f"line-{line}" for line in self._all_lines]
        return NumberedTags("line-", len(self._all_lines))

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: ``line-<n>``
        """
        return f"line-{self._all_lines[int(self._order[seq_idx])]}"

    def supports_seq_order_sorting(self) -> bool:
        """
        :return: True
        """
        return True

    def supports_sharding(self) -> bool:
        """
        :return: True
        """
        return True

    # Data.

    def get_data_keys(self) -> list[str]:
        """
        :return: those for which there is text, the source first
        """
        return [key for prefix in self._files for key in self._keys(prefix)]

    def get_target_list(self) -> list[str]:
        """
        :return: those of the target, if there is text
        """
        return self._keys("target") if "target" in self._files else []

    def get_data_dtype(self, key: str) -> str:
        """
        :return: int32, and float32 of weights; known without a sequence
        """
        return Dataset.get_data_dtype(self, key)

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if seq_idx >= self.num_seqs:
            return None
        return self._make_seq(seq_idx, int(self._order[seq_idx]))

    def _make_seq(self, seq_idx: int, corpus_seq_idx: int) -> DatasetSeq:
        assert self._texts is not None
        line = self._all_lines[corpus_seq_idx]
        features: dict[str, numpy.ndarray] = {}
        for prefix, text in self._texts.items():
            try:
                features.update(self._parse(prefix, text.text(line)))
            except UserError as exc:
                raise type(exc)(f"{self.describe()}, line-{line} ({text.place(line)}): {exc}") from exc
        return DatasetSeq(seq_idx, features, seq_tag=f"line-{line}")

    def _parse(self, prefix: str, line: str) -> dict[str, numpy.ndarray]:
        """:return: data key -> [time, ...]"""
        key = self.main_keys[prefix]
        return {key: self._numbers(key, (line.strip() + self._postfix(prefix)).split())}

    def _numbers(self, key: str, words: Sequence[str]) -> numpy.ndarray:
        ids, unknown = self._vocabs[key].ids, self._unknown_ids[key]
        try:
            numbers = [ids[word] for word in words] if unknown is None else [ids.get(word, unknown) for word in words]
        except KeyError as exc:
            raise UserError(
                f"Can not handle unknown token without unknown_label: {exc.args[0]!r} is not in the vocabulary of"
                f" {key!r}"
            ) from None
        return numpy.array(numbers, dtype="int32")


class TranslationFactorsDataset(TranslationDataset):
    """Words have several parts, as ``house|noun|singular``: each is a data key with a vocabulary of its own."""

    def __init__(
        self,
        source_factors: Sequence[str] | None = None,
        target_factors: Sequence[str] | None = None,
        factor_separator: str = "|",
        **kwargs: Any,
    ):
        """
        :param source_factors: data keys of the further parts of source words; vocabularies ``<key>.vocab.pkl``
        :param target_factors: the same of target words
        :param factor_separator: between the parts
        :param kwargs: see :class:`TranslationDataset`; a postfix is put behind each part
        """
        self.source_factors = source_factors
        self.target_factors = target_factors
        self.factor_separator = factor_separator
        super().__init__(**kwargs)

    def _keys(self, prefix: str) -> list[str]:
        factors = self.source_factors if prefix == "source" else self.target_factors
        return [self.main_keys[prefix], *(factors or ())]

    def _parse(self, prefix: str, line: str) -> dict[str, numpy.ndarray]:
        keys = self._keys(prefix)
        if len(keys) == 1:
            return super()._parse(prefix, line)
        words = [word.split(self.factor_separator) for word in line.split()]
        wrong = next((word for word in words if len(word) != len(keys)), None)
        if wrong is not None:
            raise ConfigError(
                f"All words must have all factors. Expected: {self.factor_separator.join(keys)}, but there is"
                f" {self.factor_separator.join(wrong)!r}"
            )
        postfix = self._postfix(prefix).split()
        return {key: self._numbers(key, [word[i] for word in words] + postfix) for i, key in enumerate(keys)}


class ConfusionNetworkDataset(TranslationDataset):
    """The source has several words with weights at each position: ``__ALT__ a|0.7__b|0.3 c|1.0``. Other lines are text.

    "sparse_inputs": [time, max_density] int32; "sparse_weights": the same, float32, 0 where there is no word;
    "classes": see :class:`TranslationDataset`.
    """

    main_keys = {"source": "sparse_inputs", "target": "classes"}

    def __init__(self, max_density: int = 20, **kwargs: Any):
        """
        :param max_density: words at a position; the first ones are taken
        :param kwargs: see :class:`TranslationDataset`
        """
        self.max_density = max_density
        super().__init__(**kwargs)
        assert self.num_outputs is not None
        shape = (None, max_density)
        dim = self.num_outputs["sparse_inputs"][0]
        self.num_outputs["sparse_inputs"] = {"dim": dim, "shape": shape, "sparse": True, "dtype": "int32"}
        self.num_outputs["sparse_weights"] = {"dim": max_density, "shape": shape, "dtype": "float32"}

    def get_data_keys(self) -> list[str]:
        """
        :return: those for which there is text
        """
        return ["sparse_inputs", "sparse_weights", *self.get_target_list()]

    def _parse(self, prefix: str, line: str) -> dict[str, numpy.ndarray]:
        if prefix != "source":
            return super()._parse(prefix, line)
        tokens = line.split()
        if tokens[:1] == ["__ALT__"]:
            positions = [self._alternatives(token) for token in tokens[1:]]
        else:
            positions = [[(word, 1.0)] for word in tokens]
        positions += [[(word, 1.0)] for word in self.source_postfix.split()]
        words = numpy.zeros((len(positions), self.max_density), dtype="int32")
        weights = numpy.zeros((len(positions), self.max_density), dtype="float32")
        for i, position in enumerate(positions):
            words[i, : len(position)] = self._numbers("sparse_inputs", [word for word, _ in position])
            weights[i, : len(position)] = [weight for _, weight in position]
        return {"sparse_inputs": words, "sparse_weights": weights}

    def _alternatives(self, position: str) -> list[tuple[str, float]]:
        res = []
        for alternative in position.split("__")[: self.max_density]:
            word, _, weight = alternative.rpartition("|")
            try:
                res.append((word, float(weight)))
            except ValueError:
                raise UserError(f"expected word|weight, but there is {alternative!r}") from None
        return res
