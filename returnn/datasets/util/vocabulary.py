"""Vocabularies, all classes. Imports and nothing else."""

from .vocab_base import VOCABULARY_CLASSES, LabelError, Vocabulary
from .vocab_characters import CharacterTargets, Utf8ByteTargets
from .vocab_external import HuggingFaceTokenizer, SentencePieces
from .vocab_subwords import BytePairEncoding, SamplingBytePairEncoding

__all__ = [
    "VOCABULARY_CLASSES",
    "BytePairEncoding",
    "CharacterTargets",
    "HuggingFaceTokenizer",
    "LabelError",
    "SamplingBytePairEncoding",
    "SentencePieces",
    "Utf8ByteTargets",
    "Vocabulary",
]
