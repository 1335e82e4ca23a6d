"""HDF files: reading them as a dataset, writing them. Imports and nothing else."""

from .dataset import HDFDataset
from .dump import HDFDatasetWriter
from .next_gen import NextGenHDFDataset, SiameseHDFDataset
from .writer import SimpleHDFWriter

__all__ = ["HDFDataset", "HDFDatasetWriter", "NextGenHDFDataset", "SiameseHDFDataset", "SimpleHDFWriter"]
