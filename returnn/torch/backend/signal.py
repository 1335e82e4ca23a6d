"""Fourier transforms."""

from __future__ import annotations

import torch

_FUNCTIONS = {"fft": torch.fft.fft, "rfft": torch.fft.rfft, "irfft": torch.fft.irfft}


def fft(x: torch.Tensor, size: int, *, kind: str) -> torch.Tensor:
    """
    :param x: the last axis is transformed
    :param size: to which it is cut, or filled with zeros
    :param kind: fft, of float32; rfft; irfft, of complex64
    """
    if x.numel():
        return _FUNCTIONS[kind](x, size)
    # torch stops where there is nothing to transform
    dtype = torch.float32 if kind == "irfft" else torch.complex64
    return x.new_zeros((*x.shape[:-1], size // 2 + 1 if kind == "rfft" else size), dtype=dtype)
