"""Vocabularies whose work other packages do."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError
from returnn.util.label_file import LabelFile
from returnn.util.suggest import file_not_found

from .vocab_base import Vocabulary


def _import(package: str, what: str, *, extra: str | None = None) -> Any:
    try:
        return importlib.import_module(package)
    except ImportError as exc:
        hint = f", or returnn[{extra}]" if extra else ""
        raise ConfigError(f"{what} needs the package {package!r}: pip install {package}{hint} ({exc})") from exc


class SentencePieces(Vocabulary):
    """Units of a SentencePiece model (Kudo and Richardson, 2018)."""

    takes_any_option = True

    def __init__(self, **opts: Any):
        """
        :param opts: of ``sentencepiece.SentencePieceProcessor``: ``model_file`` or ``model_proto``, ``add_bos``,
            ``add_eos``, ``reverse``, ``enable_sampling``, ``nbest_size``, ``alpha``; and ``control_symbols``,
            ``user_defined_symbols``: name -> label, or labels
        """
        package = _import("sentencepiece", "SentencePieces", extra="text")
        control_symbols = _as_mapping(opts.pop("control_symbols", None))
        user_defined_symbols = _as_mapping(opts.pop("user_defined_symbols", None))
        model_file = opts.get("model_file")
        try:
            self._processor = package.SentencePieceProcessor(**opts)
        except (OSError, RuntimeError) as exc:
            if model_file and os.path.exists(str(model_file)):
                raise ConfigError(f"SentencePieces: model_file {model_file!r} is no model: {exc}") from exc
            raise ConfigError(f"SentencePieces: {file_not_found('model_file', str(model_file))} ({exc})") from exc
        except TypeError as exc:
            raise ConfigError(f"SentencePieces: {exc}; options: {', '.join(opts)}") from exc
        self._opts = opts
        sp = self._processor
        super().__init__(
            vocab_file=None,
            labels=[sp.id_to_piece(i) for i in range(sp.get_piece_size())],
            unknown_label=sp.unk_id(),
            bos_label=sp.bos_id(),
            eos_label=sp.eos_id(),
            pad_label=sp.pad_id(),
            control_symbols=control_symbols,
            user_defined_symbols=user_defined_symbols,
        )

    def describe(self) -> str:
        """
        :return: class and model, for messages
        """
        return f"SentencePieces {self._opts.get('model_file', 'model_proto')!r}"

    def set_random_seed(self, seed: int) -> None:
        """
        :param seed: of an epoch; it is one for the whole process
        """
        if self._opts.get("enable_sampling"):
            _import("sentencepiece", "SentencePieces", extra="text").set_random_generator_seed(seed)

    def get_seq(self, sentence: str) -> list[int]:
        """
        :param sentence: text
        :return: numbers
        """
        return self._processor.encode(sentence, out_type=int)

    def get_seq_labels(self, seq: Sequence[int] | numpy.ndarray) -> str:
        """
        :param seq: [time]
        :return: text
        """
        return self._processor.decode(numpy.asarray(seq).reshape(-1).tolist())


def _as_mapping(symbols: Mapping[str, str | int] | Sequence[str] | None) -> dict[str, str | int]:
    """:return: name -> label"""
    if symbols is None:
        return {}
    if isinstance(symbols, str):
        symbols = symbols.split(",")
    return dict(symbols) if isinstance(symbols, Mapping) else {label: label for label in symbols}


class HuggingFaceTokenizer(Vocabulary):
    """A tokenizer of the package ``transformers``."""

    def __init__(
        self,
        *,
        huggingface_repo_dir: str | None = None,
        tokenizer: Any = None,
        map_bos_to_eos: bool = False,
        text_preprocessing: Callable[[str], str] | None = None,
        bpe_dropout: float = 0.0,
    ):
        """
        :param huggingface_repo_dir: folder with the files of the tokenizer
        :param tokenizer: or the tokenizer itself
        :param map_bos_to_eos: the begin of a sequence is the label of the end
        :param text_preprocessing: applied to each text first
        :param bpe_dropout: leave out merges of a BPE model by this probability
        """
        if (huggingface_repo_dir is None) == (tokenizer is None):
            raise ConfigError("HuggingFaceTokenizer: give either huggingface_repo_dir or tokenizer")
        if tokenizer is None:
            package = _import("transformers", "HuggingFaceTokenizer")
            try:
                tokenizer = package.AutoTokenizer.from_pretrained(huggingface_repo_dir)
            except (OSError, ValueError) as exc:
                raise ConfigError(f"HuggingFaceTokenizer: no tokenizer in {huggingface_repo_dir!r}: {exc}") from exc
        self.huggingface_repo_dir = huggingface_repo_dir
        self.tokenizer = tokenizer
        self.text_preprocessing = text_preprocessing
        if bpe_dropout:
            self.tokenizer.backend_tokenizer.model.dropout = bpe_dropout
        eos = tokenizer.eos_token_id
        ids = {label: i for label, i in tokenizer.get_vocab().items()}
        self._file = LabelFile([label for label, _ in sorted(ids.items(), key=lambda item: item[1])], ids)
        super().__init__(
            vocab_file=None,
            labels=(),
            unknown_label=tokenizer.unk_token_id,
            bos_label=eos if map_bos_to_eos else tokenizer.bos_token_id,
            eos_label=eos,
            pad_label=tokenizer.pad_token_id,
        )

    def _load_labels(self, vocab_file: str | None, labels: Any) -> LabelFile:
        return self._file

    def get_seq(self, sentence: str) -> list[int]:
        """
        :param sentence: text
        :return: numbers
        """
        if self.text_preprocessing:
            sentence = self.text_preprocessing(sentence)
        return self.tokenizer(sentence)["input_ids"]

    def get_seq_labels(self, seq: Sequence[int] | numpy.ndarray) -> str:
        """
        :param seq: [time]
        :return: text
        """
        return self.tokenizer.decode(numpy.asarray(seq).reshape(-1).tolist())
