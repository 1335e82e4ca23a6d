"""Datasets without files: sequences that are generated, or given in the config. And what configs have always imported
from here: some corpora, vocabularies, features of audio. Imports and nothing else."""

from typing import Any

from returnn.util.lazy import import_name

from ..audio import OggZipDataset
from ..librispeech import LibriSpeechCorpus
from ..static import StaticDataset
from ..util.feature_extraction import ExtractAudioFeatures
from ..util.vocabulary import (
    BytePairEncoding,
    CharacterTargets,
    HuggingFaceTokenizer,
    SamplingBytePairEncoding,
    SentencePieces,
    Utf8ByteTargets,
    Vocabulary,
)
from .base import GeneratingDataset
from .dummy import DummyDataset, DummyDatasetMultipleDataKeys, DummyDatasetMultipleSequenceLength
from .task12ax import Task12AXDataset
from .tasks import CopyTaskDataset, TaskEpisodicCopyDataset, TaskNumberBaseConvertDataset, TaskXmlModelingDataset
from .timit import NltkTimitDataset, TimitDataset

__all__ = [
    "BytePairEncoding",
    "CharacterTargets",
    "Enwik8Corpus",
    "ExtractAudioFeatures",
    "HuggingFaceTokenizer",
    "LibriSpeechCorpus",
    "NltkTimitDataset",
    "OggZipDataset",
    "SamplingBytePairEncoding",
    "SentencePieces",
    "Utf8ByteTargets",
    "Vocabulary",
    "CopyTaskDataset",
    "DummyDataset",
    "DummyDatasetMultipleDataKeys",
    "DummyDatasetMultipleSequenceLength",
    "GeneratingDataset",
    "StaticDataset",
    "Task12AXDataset",
    "TaskEpisodicCopyDataset",
    "TaskNumberBaseConvertDataset",
    "TaskXmlModelingDataset",
    "TimitDataset",
]


def __getattr__(name: str) -> Any:
    if name == "Enwik8Corpus":  # it needs h5py, which takes a while to import
        return import_name("returnn.datasets.generating.enwik8:Enwik8Corpus")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
