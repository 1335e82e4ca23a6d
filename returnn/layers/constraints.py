"""What layers add to the objective beside losses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import returnn.frontend as rf
from returnn.log import log
from returnn.tensor import Dim, Tensor

from .features import feature_dim_of

if TYPE_CHECKING:
    from .base import LayerBase


_L2_TOO_MUCH = "layer %s: L2 concerns the running statistics of its batch_norm too, like all parameters of a layer."


def constraint_terms(layer: LayerBase) -> Iterator[Tensor]:
    """
    :param layer: with its options ``L2``, ``darc1``, ``spatial_smoothing``
    :return: scalars
    """
    if layer.L2 and not layer.network.decouple_constraints:  # else the updater lets the parameters decay
        for name, var in layer.params.items():
            if "/batch_norm/" in "/" + name:
                log.print_warning(_L2_TOO_MUCH % layer.get_absolute_name(), once=True)
            yield _sum_of_squares(layer.network.param_tensor(var)) * float(layer.L2)
    if layer.darc1:
        before = layer.output_before_activation
        yield darc1(before.x if before else layer.output) * float(layer.darc1)
    if layer.spatial_smoothing:
        yield high_pass_energy(layer.output) * float(layer.spatial_smoothing)


def darc1(x: Tensor) -> Tensor:
    """
    Kawaguchi et al., Generalization in Deep Learning, 2017.

    :param x: [.., F]
    :return: max over features of the sum over all frames of abs(x)
    """
    total = rf.reduce_sum(rf.abs(x), axis=[d for d in x.dims if d != x.feature_dim])
    return rf.reduce_max(total, axis=feature_dim_of(x))


def high_pass_energy(x: Tensor) -> Tensor:
    """
    :param x: [.., F], F static. Features are the pixels of an image, row by row: F = rows * columns, with as many
        columns as can be up to the root of F. Its borders meet
    :return: sum over all frames of the squares of each pixel minus the mean of its 8 neighbours
    """
    x = x.copy_with_feature_last()
    features = feature_dim_of(x)
    size = features.require_static()
    width = max(w for w in range(1, int(size**0.5) + 1) if size % w == 0)
    rows = Dim(size // width, description="rows", auto_generated=True)
    columns = Dim(width, description="columns", auto_generated=True)
    image = rf.split_dims(x, axis=features, dims=[rows, columns])
    center = image
    for axis in (rows, columns):
        up, _ = rf.concat(*_rolled(image, axis, 1), out_dim=axis)
        down, _ = rf.concat(*_rolled(image, axis, axis.require_static() - 1), out_dim=axis)
        image = up + down + image
    high = center * (1.0 + 1.0 / 8.0) - image * (1.0 / 8.0)
    return rf.reduce_sum(rf.square(high), axis=high.dims)


def _rolled(x: Tensor, axis: Dim, amount: int) -> list[tuple[Tensor, Dim]]:
    if axis.dimension == 1:
        return [(x, axis)]
    return [rf.slice(x, axis=axis, start=amount), rf.slice(x, axis=axis, end=amount)]


def _sum_of_squares(x: Tensor) -> Tensor:
    return rf.reduce_sum(rf.square(x), axis=x.dims)
