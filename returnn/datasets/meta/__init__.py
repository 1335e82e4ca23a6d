"""Datasets that are made of other datasets."""

from .anything import AnythingDataset
from .chunk_shuffle import ChunkShuffleDataset
from .clustering import ClusteringDataset
from .combined import CombinedDataset
from .concat import ConcatDataset
from .concat_seqs import ConcatSeqsDataset
from .epoch_wise_filter import EpochWiseFilter
from .meta import MetaDataset
from .multi_epoch import MultiEpochDataset
from .variable import VariableDataset

__all__ = [
    "AnythingDataset",
    "ChunkShuffleDataset",
    "ClusteringDataset",
    "CombinedDataset",
    "ConcatDataset",
    "ConcatSeqsDataset",
    "EpochWiseFilter",
    "MetaDataset",
    "MultiEpochDataset",
    "VariableDataset",
]
