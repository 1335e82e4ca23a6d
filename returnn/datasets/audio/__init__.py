"""Datasets of utterances: audio and text. Imports and nothing else."""

from .ogg_zip import OggZipDataset

__all__ = ["OggZipDataset"]
