"""Small helpers of the ground floor; each module one topic."""

from .numbers_dict import NumbersDict

__all__ = ["NumbersDict"]
