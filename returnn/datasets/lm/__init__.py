"""Texts: language models, parallel text, pronunciations. Imports and nothing else."""

from .allophone import AllophoneState
from .lexicon import Lexicon, StateTying
from .lm import LmDataset
from .phones import PhoneSeqGenerator
from .post_process import get_post_processor_function
from .text_corpus import iter_corpus, read_corpus
from .translation import ConfusionNetworkDataset, TranslationDataset, TranslationFactorsDataset

__all__ = [
    "AllophoneState",
    "ConfusionNetworkDataset",
    "Lexicon",
    "LmDataset",
    "PhoneSeqGenerator",
    "StateTying",
    "TranslationDataset",
    "TranslationFactorsDataset",
    "get_post_processor_function",
    "iter_corpus",
    "read_corpus",
]
