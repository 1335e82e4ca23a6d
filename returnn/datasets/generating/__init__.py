"""Datasets without files: sequences that are generated, or given in the config. Imports and nothing else."""

from ..static import StaticDataset
from .base import GeneratingDataset
from .dummy import DummyDataset, DummyDatasetMultipleDataKeys, DummyDatasetMultipleSequenceLength
from .task12ax import Task12AXDataset
from .tasks import CopyTaskDataset, TaskEpisodicCopyDataset, TaskNumberBaseConvertDataset, TaskXmlModelingDataset

__all__ = [
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
]
