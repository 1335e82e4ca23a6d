"""Functions of the config over sequences. Imports and nothing else."""

from .dataset import PostprocessingDataset
from .functions import LaplaceOrdering, Sequential

__all__ = ["LaplaceOrdering", "PostprocessingDataset", "Sequential"]
