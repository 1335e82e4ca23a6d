"""Functions whose gradient is not that of their values."""

from __future__ import annotations

from typing import Any

import torch


def clip_with_identity_gradient(x: torch.Tensor, low: float | None, high: float | None) -> torch.Tensor:
    """
    :param low: None: no bound
    :param high: None: no bound
    :return: x in [low, high]; the gradient is that of x
    """
    if low is None and high is None:
        return x
    res: torch.Tensor = _ClipWithIdentityGradient.apply(x, low, high)
    return res


class _ClipWithIdentityGradient(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: Any, x: torch.Tensor, low: float | None, high: float | None) -> torch.Tensor:
        return torch.clamp(x, low, high)

    @staticmethod
    def backward(_ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, None, None]:
        return dy, None, None


def scaled_gradient(
    x: torch.Tensor, *, scale: Any, shift: Any, sum_axis: int | None, clip_max_axis: int | None
) -> torch.Tensor:
    """
    :param scale: number or scalar
    :param shift: the same
    :param sum_axis: the shift is times the sum of abs(gradient) over it
    :param clip_max_axis: the result is at most the largest abs(gradient) along it
    :return: x; its gradient g becomes scale * g + shift
    """
    if not x.requires_grad:
        return x
    res = x.view_as(x)  # else the hook would see what other users of x give back

    def changed(dx: torch.Tensor) -> torch.Tensor:
        y = dx * scale
        y = y + (shift if sum_axis is None else dx.abs().sum(sum_axis, keepdim=True) * shift)
        if clip_max_axis is not None and dx.numel():
            bound = dx.abs().amax(clip_max_axis, keepdim=True)
            y = torch.minimum(torch.maximum(y, -bound), bound)
        return y

    res.register_hook(changed)
    return res


def zero_large_gradient(x: torch.Tensor, limit: float, *, batch_axis: int | None) -> torch.Tensor:
    """
    :param limit: of the square of one component
    :param batch_axis: None: all of x is one entry
    :return: x; no gradient to an entry of the batch if a component reaches the limit, or is nan
    """
    if not x.requires_grad:
        return x
    axes = [i for i in range(x.ndim) if i != batch_axis]
    res = x.view_as(x)  # else the hook would see what other users of x give back

    def filtered(dx: torch.Tensor) -> torch.Tensor:
        squares = torch.square(dx)
        if axes and dx.numel():
            squares = torch.amax(squares, axes, keepdim=True)
        return torch.where(squares < limit, dx, 0.0)

    res.register_hook(filtered)
    return res


class _SyntheticGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: torch.Tensor, gradient: torch.Tensor, weight: Any) -> torch.Tensor:
        ctx.save_for_backward(gradient)
        ctx.weight = weight
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, dy: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, None]:
        (gradient,) = ctx.saved_tensors
        # a copy: itself it would have a gradient, also where nobody asks for second ones
        return gradient.clone(), ctx.weight * (gradient - dy), None


def synthetic_gradient(x: torch.Tensor, gradient: torch.Tensor, weight: Any) -> torch.Tensor:
    """
    :param x: float
    :param gradient: of the shape of x
    :param weight: number, or scalar
    :return: x, whose gradient is ``gradient``, not the true one g. To ``gradient`` goes weight * (gradient - g)
    """
    res: torch.Tensor = _SyntheticGradient.apply(x, gradient, weight)
    return res


def gradient(y: torch.Tensor, x: torch.Tensor) -> torch.Tensor | None:
    """
    :param y: scalar
    :param x: float, watched
    :return: dy/dx, of the shape of x, itself with a gradient; None: y does not depend on x
    """
    if not (y.requires_grad and x.requires_grad):
        return None
    return torch.autograd.grad(y, [x], create_graph=True, allow_unused=True)[0]
