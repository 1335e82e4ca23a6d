"""Batches, under the name that configs and scripts know; they are made in :mod:`returnn.datasets.batching`."""

from returnn.datasets.batching import Batch, BatchSeqCopyPart, BatchSetGenerator

__all__ = ["Batch", "BatchSeqCopyPart", "BatchSetGenerator"]
