"""Vocabularies: labels of classes by number, and text as numbers."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.label_file import LabelFile, load_labels, read_dict
from returnn.util.lazy import import_name
from returnn.util.suggest import did_you_mean

from ..labels import are_bytes, are_characters
from ..pickling import constructor_parameters

VOCABULARY_CLASSES: dict[str, str] = {
    "Vocabulary": "returnn.datasets.util.vocab_base:Vocabulary",
    "BytePairEncoding": "returnn.datasets.util.vocab_subwords:BytePairEncoding",
    "SamplingBytePairEncoding": "returnn.datasets.util.vocab_subwords:SamplingBytePairEncoding",
    "SentencePieces": "returnn.datasets.util.vocab_external:SentencePieces",
    "HuggingFaceTokenizer": "returnn.datasets.util.vocab_external:HuggingFaceTokenizer",
    "CharacterTargets": "returnn.datasets.util.vocab_characters:CharacterTargets",
    "Utf8ByteTargets": "returnn.datasets.util.vocab_characters:Utf8ByteTargets",
}
"""Name in a config -> module:class."""

_not_given: Any = object()

Label = str | int | None
"""Text or number; None and -1: none."""


class LabelError(UserError, KeyError):
    """A label that is not in the vocabulary."""

    def __str__(self) -> str:
        return str(self.args[0])


class Vocabulary:
    """Labels of a file or a list; a text is words of them with white space between."""

    def __init__(
        self,
        vocab_file: str | None,
        *,
        special_symbols_via_file: str | None = None,
        unknown_label: Label = _not_given,
        bos_label: Label = None,
        eos_label: Label = None,
        pad_label: Label = None,
        control_symbols: Mapping[str, str | int] | None = None,
        user_defined_symbols: Mapping[str, str | int] | None = None,
        num_labels: int | None = None,
        seq_postfix: Sequence[int | str] | None = None,
        labels: Sequence[str] | Callable[[], Sequence[str]] | None = None,
        single_whitespace_split: bool = False,
    ):
        """
        :param vocab_file: see :func:`~returnn.util.label_file.load_labels`
        :param special_symbols_via_file: a Python dict of the label options that follow; what is given here wins
        :param unknown_label: for words that are not there, "UNK" by default. None: they are an error
        :param bos_label: begin of a sequence
        :param eos_label: end of a sequence
        :param pad_label: behind the end
        :param control_symbols: name -> label, of further special ones
        :param user_defined_symbols: name -> label, of further special ones
        :param num_labels: is checked
        :param seq_postfix: labels which :meth:`get_seq` appends; numbers, or texts
        :param labels: instead of ``vocab_file``; or a function that returns them
        :param single_whitespace_split: exactly one blank stands between labels, which can hold blanks themselves
        """
        self.vocab_file = vocab_file
        self.single_whitespace_split = single_whitespace_split
        self._label_or_word: re.Pattern[str] | None = None
        file = self._load_labels(vocab_file, labels)
        self._labels: Sequence[str] = file.labels
        self._vocab: dict[str, int] = file.ids
        if num_labels is not None and num_labels != len(self._labels):
            raise ConfigError(
                f"{self.describe()}: num_labels is {num_labels}, but there are {len(self._labels)} labels"
            )
        self.num_labels = len(self._labels)
        from_file = self._special_symbols(special_symbols_via_file)
        if unknown_label is _not_given:
            unknown_label = from_file.get("unknown_label", "UNK")
        given = {"bos_label": bos_label, "eos_label": eos_label, "pad_label": pad_label}
        ids = {name: self._special_id(name, from_file.get(name) if x is None else x) for name, x in given.items()}
        self.unknown_label_id = self._special_id("unknown_label", unknown_label)
        self.unknown_label = None if self.unknown_label_id is None else self._labels[self.unknown_label_id]
        self.bos_label_id = ids["bos_label"]
        self.eos_label_id = ids["eos_label"]
        self.pad_label_id = ids["pad_label"]
        self.control_symbol_ids = self._special_ids("control_symbols", from_file, control_symbols)
        self.user_defined_symbol_ids = self._special_ids("user_defined_symbols", from_file, user_defined_symbols)
        self.seq_postfix: list[int] = [
            self._special_id("seq_postfix", label) or 0 if isinstance(label, str) else label
            for label in seq_postfix or ()
        ]

    def __repr__(self) -> str:
        return f"<{self.describe()} num_labels={self.num_labels}>"

    def describe(self) -> str:
        """
        :return: class and file, for messages
        """
        return type(self).__name__ + (f" {self.vocab_file!r}" if self.vocab_file else "")

    # Making one.

    @classmethod
    def create_vocab(cls, **opts: Any) -> Vocabulary:
        """
        :param opts: ``class``: a name of :data:`VOCABULARY_CLASSES`, or a class; without it, BytePairEncoding if there
            is a ``bpe_file``, else Vocabulary. And the options of that class
        """
        name = opts.pop("class", "BytePairEncoding" if "bpe_file" in opts else "Vocabulary")
        if isinstance(name, str) and name not in VOCABULARY_CLASSES:
            raise ConfigError(
                f"There is no vocabulary class {name!r}.{did_you_mean(name, VOCABULARY_CLASSES)}"
                f" There are: {', '.join(sorted(VOCABULARY_CLASSES))}."
            )
        vocab_cls = import_name(VOCABULARY_CLASSES[name]) if isinstance(name, str) else name
        _check_options(vocab_cls, opts)
        return vocab_cls(**opts)

    @classmethod
    def create_vocab_from_labels(cls, labels: Sequence[str], **kwargs: Any) -> Vocabulary:
        """
        :param labels: the byte values in order: UTF-8 text; less than 1000 single characters: text by characters; else
            words
        :param kwargs: options of the class that is chosen; ``unknown_label`` is None by default
        """
        kwargs.setdefault("unknown_label", None)
        if are_bytes(labels):
            return cls.create_vocab(**{"class": "Utf8ByteTargets", **kwargs})
        name = "CharacterTargets" if are_characters(labels) else "Vocabulary"
        return cls.create_vocab(**{"class": name, "vocab_file": None, "labels": labels, **kwargs})

    @staticmethod
    def create_vocab_dict_from_labels(labels: Sequence[str]) -> dict[str, int]:
        """
        :param labels: each only once
        :return: label -> number
        """
        res = {label: i for i, label in enumerate(labels)}
        if len(res) != len(labels):
            twice = next(label for i, label in enumerate(labels) if res[label] != i)
            raise ConfigError(f"some labels are provided multiple times, for example {twice!r}")
        return res

    def _load_labels(
        self, vocab_file: str | None, labels: Sequence[str] | Callable[[], Sequence[str]] | None
    ) -> LabelFile:
        if labels is None:
            if not vocab_file:
                raise ConfigError(f"{type(self).__name__}: needs vocab_file or labels")
            return load_labels(vocab_file)
        if vocab_file:
            raise ConfigError(f"{self.describe()}: vocab_file and labels exclude each other")
        texts = list(labels() if callable(labels) else labels)
        wrong = next((label for label in texts if not isinstance(label, str)), None)
        if wrong is not None or not texts:
            raise ConfigError(f"{type(self).__name__}: labels must be texts, got {wrong if texts else labels!r:.100}")
        return LabelFile(texts, {label: i for i, label in enumerate(texts)})

    def _special_symbols(self, filename: str | None) -> dict[str, Any]:
        if filename is None:
            return {}
        known = ["unknown_label", "bos_label", "eos_label", "pad_label", "control_symbols", "user_defined_symbols"]
        res = read_dict(filename, "special_symbols_via_file")
        for name in res:
            if name not in known:
                raise ConfigError(
                    f"special_symbols_via_file {filename!r}: unknown key {name!r}.{did_you_mean(str(name), known)}"
                    f" There are: {', '.join(known)}."
                )
        return res

    def _special_id(self, option: str, label: Label) -> int | None:
        if label is None or label == -1:
            return None
        if isinstance(label, int):
            if not self.is_id_valid(label):
                raise LabelError(
                    f"{self.describe()}: {option}={label!r}: invalid label id, the last one is {self.num_labels - 1}"
                )
            return int(label)
        if label not in self._vocab:
            default = " (the default)" if option == "unknown_label" and label in ("UNK", "@") else ""
            none = f" {option}=None: there is none." if option == "unknown_label" else ""
            raise LabelError(
                f"{self.describe()}: {option}={label!r}{default} is none of the {self.num_labels} labels."
                f"{did_you_mean(label, self._vocab) or f' They begin {list(self._labels[:5])}.'}{none}"
            )
        return self._vocab[label]

    def _special_ids(
        self, option: str, from_file: dict[str, Any], given: Mapping[str, str | int] | None
    ) -> dict[str, int]:
        merged = {**from_file.get(option, {}), **(given or {})}
        ids = {name: self._special_id(f"{option}[{name!r}]", label) for name, label in merged.items()}
        return {name: label for name, label in ids.items() if label is not None}

    # Labels.

    @property
    def labels(self) -> list[str]:
        """
        :return: by number
        """
        return self._labels if isinstance(self._labels, list) else list(self._labels)

    def is_id_valid(self, idx: int) -> bool:
        """
        :return: whether there is such a number
        """
        return 0 <= idx < self.num_labels

    def label_to_id(self, label: str, default: Any = KeyError) -> Any:
        """
        :param default: result for a label that is not there; by default, that is an error
        """
        idx = self._vocab.get(label)
        if idx is not None:
            return idx
        if default is KeyError:
            raise LabelError(f"{self.describe()}: there is no label {label!r}")
        return default

    def id_to_label(self, idx: int, default: Any = KeyError) -> Any:
        """
        :param default: result for a number that is not there; by default, that is an error
        """
        if self.is_id_valid(idx):
            return self._labels[idx]
        if default is KeyError:
            raise LabelError(f"{self.describe()}: idx {idx} out of range, there are {self.num_labels} labels")
        return default

    def to_id(self, label: Label, default: Any = KeyError, allow_none: bool = False) -> Any:
        """
        :param label: text, or number, which is checked
        :param default: result for what is not there; by default, that is an error
        :param allow_none: None and -1 give None
        """
        if allow_none and (label is None or label == -1):
            return None
        if isinstance(label, str):
            return self.label_to_id(label, default)
        if not isinstance(label, (int, numpy.integer)):
            raise TypeError(f"{self.describe()}: a label is a text or a number, got {label!r}")
        return int(label) if self.is_id_valid(int(label)) else self.id_to_label(int(label), default)

    # Texts.

    def set_random_seed(self, seed: int) -> None:
        """
        :param seed: of an epoch; only for those vocabularies where one text has several forms
        """

    def get_seq(self, sentence: str) -> list[int]:
        """
        :param sentence: text
        :return: numbers, with those of ``seq_postfix``
        :raises LabelError: a word is not there, nor an unknown label
        """
        return self.get_seq_indices(self._split(sentence)) + self.seq_postfix

    def _split(self, sentence: str) -> list[str]:
        if not self.single_whitespace_split:
            return sentence.split()
        if self._label_or_word is None:
            # the first label that fits; they can hold blanks
            labels = "|".join(re.escape(label) for label in self._labels if label)
            self._label_or_word = re.compile(f"({labels}|[^ ]+)(?: |$)")
        return self._label_or_word.findall(sentence)

    def get_seq_indices(self, seq: Sequence[str]) -> list[int]:
        """
        :param seq: labels
        :return: their numbers
        :raises LabelError: one is not there, nor an unknown label
        """
        ids, unknown = self._vocab, self.unknown_label_id
        if unknown is not None:
            return [ids.get(label, unknown) for label in seq]
        try:
            return [ids[label] for label in seq]
        except KeyError as exc:
            raise self._unknown(exc.args[0], "label") from None

    def _unknown(self, text: str, what: str) -> LabelError:
        return LabelError(f"{self.describe()}: {what} {text!r} is unknown, and there is no unknown_label")

    def get_seq_labels(self, seq: Sequence[int] | numpy.ndarray) -> str:
        """
        :param seq: [time]
        :return: text
        """
        return " ".join(self._texts(seq))

    def _texts(self, seq: Sequence[int] | numpy.ndarray) -> list[str]:
        try:
            return [self._labels[i] for i in numpy.asarray(seq).reshape(-1).tolist()]
        except IndexError:
            raise IndexError(
                f"{self.describe()}: label {max(seq)} does not exist, there are {self.num_labels}"
            ) from None

    def serialize_labels(self, data: numpy.ndarray) -> str:
        """
        :param data: [time], or [time, ...]
        :return: text; of more axes ``[a,b],[b,b]``
        """
        data = numpy.asarray(data)
        if data.ndim == 0:
            return self._labels[int(data)]
        if data.ndim == 1:
            return self.get_seq_labels(data)
        return ",".join(f"[{self._serialize_inner(part)}]" for part in data)

    def _serialize_inner(self, data: numpy.ndarray) -> str:
        return ",".join(self._texts(data)) if data.ndim == 1 else self.serialize_labels(data)


def _check_options(cls: Any, opts: Collection[str]) -> None:
    """:raises ConfigError: an option is unknown or missing"""
    params = constructor_parameters(cls)
    unknown = next((name for name in opts if name not in params), None)
    if unknown is not None and not getattr(cls, "takes_any_option", False):
        raise ConfigError(
            f'vocabulary class "{cls.__name__}" has no option "{unknown}".{did_you_mean(unknown, params)}'
            f"\n  Its options: {', '.join(params)}"
        )
    own = inspect.signature(cls).parameters.values()
    required = [param.name for param in own if param.default is param.empty and param.kind != param.VAR_KEYWORD]
    missing = [name for name in required if name not in opts]
    if missing:
        raise ConfigError(f'vocabulary class "{cls.__name__}" needs the option "{missing[0]}"')
