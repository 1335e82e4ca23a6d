"""Losses that teach distances between embeddings."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.layers.features import feature_dim_of
from returnn.tensor import Dim, DimKind, Tensor

from .base import Loss, option_error


class DeepClusteringLoss(Loss):
    """Embeddings of the same source become alike, those of others orthogonal (Hershey et al., 2016).

    The features are F bins; each has an embedding, and a source that is the strongest in it. With the embeddings of all
    frames and bins of a sequence as rows of V, and their sources as one-hot rows of Y, the value is
    norm(V'V)^2 - 2 norm(V'Y)^2 + norm(Y'Y)^2, which is norm(VV' - YY')^2. One value per sequence, no error.

    Output [B, T, F * embedding_dimension], target [B, T, F * nr_of_sources], both with the bins outermost.
    """

    class_name = "deep_clustering"
    recurrent = True

    def __init__(self, base_network: Any, *, embedding_dimension: int, nr_of_sources: int, **common: Any):
        """
        :param base_network: in which the layer is
        :param embedding_dimension: of one bin
        :param nr_of_sources: of one bin
        :param common: see :class:`Loss`
        """
        super().__init__(base_network, **common)
        self.embedding_dimension = embedding_dimension
        self.nr_of_sources = nr_of_sources

    def _check_init(self) -> None:
        super()._check_init()
        self._require_sparse_target(False)
        if self.target.dim is None or self.target.dim % self.nr_of_sources:
            raise option_error(
                self, "nr_of_sources %r does not divide the target dim %s", self.nr_of_sources, self.target.dim
            )
        self._check_output_dim(
            self.target.dim // self.nr_of_sources * self.embedding_dimension,
            " per source, times %i" % self.embedding_dimension,
        )

    def value_per_pos(self) -> Tensor:
        bins = Dim(self.target.dim // self.nr_of_sources, description="bins", kind=DimKind.Spatial)
        v = self._split(self.output, bins, self.embedding_dimension, "embedding")
        y = self._split(self.target_like_output(), bins, self.nr_of_sources, "sources")
        return _energy(v, v) - 2.0 * _energy(v, y) + _energy(y, y)

    def error_per_pos(self) -> None:
        return None

    @staticmethod
    def _split(x: Tensor, bins: Dim, size: int, name: str) -> Tensor:
        """:return: [.., bins, size]"""
        dim = Dim(size, description=name, kind=DimKind.Feature)
        return rf.split_dims(x.copy_with_feature_last(), axis=feature_dim_of(x), dims=[bins, dim])


def _energy(a: Tensor, b: Tensor) -> Tensor:
    """
    :param a: [batch, .., m]
    :param b: [batch, .., n]
    :return: [batch], norm(a'b)^2
    """
    last = b.dims[-1].copy(same_as_self=False)  # where a and b are the same, too
    b = rf.replace_dim(b, in_dim=b.dims[-1], out_dim=last)
    shared = [d for d in a.dims[:-1] if not d.is_batch_dim]
    product = rf.matmul(a, b, reduce=shared)
    return rf.reduce_sum(rf.square(product), axis=[d for d in product.dims if not d.is_batch_dim])


class TripletLoss(Loss):
    """Embeddings of one class come together, those of others stay apart by a margin.

    The output is three embeddings, one behind the other, the target [.., 3] their classes. With the cosine distance
    d(x, y) = 1 - cos(x, y), the value is 0.5 * (sum of d of all ordered pairs of one class + sum of max(margin - d, 0)
    of all others); the pairs are those of all embeddings of all frames. One value for all, no error.
    """

    class_name = "triplet_loss"
    recurrent = True

    def __init__(self, base_network: Any, *, margin: float, multi_view_training: bool = False, **common: Any):
        """
        :param base_network: in which the layer is
        :param margin: distance that is enough
        :param multi_view_training: the output are six parts: two views of the three. The triplets are the parts 0, 4, 5
            and 1, 4, 2
        :param common: see :class:`Loss`
        """
        super().__init__(base_network, **common)
        self.margin = margin
        self.triplets = [(0, 4, 5), (1, 4, 2)] if multi_view_training else [(0, 1, 2)]
        self.num_parts = 6 if multi_view_training else 3

    def _check_init(self) -> None:
        output, target = self.output, self.target
        if not target.sparse or target.dims[-1].dimension != 3 or target.batch_ndim != output.batch_ndim:
            raise option_error(
                self,
                "the target must be classes [.., 3] with the other axes of the output %s, but %s is %s",
                output.short_repr(),
                self._target_name(),
                target.short_repr(),
            )
        if output.dim is None or output.dim % self.num_parts:
            raise option_error(self, "the output %s does not split into %i parts", output.short_repr(), self.num_parts)

    def _norm_factor(self) -> Any:
        """1 / (sequences * classes of one * parts of the output), whatever the number of frames"""
        if self.custom_norm_factor is not None or self.custom_inv_norm_factor is not None:
            return super()._norm_factor()
        backend = self.base_network.backend
        num_seqs = backend.cast(backend.convert(self.output.get_batch_dim()), "float32")
        return backend.binary("truediv", 1.0 / (3 * self.num_parts), num_seqs)

    def value_per_pos(self) -> Tensor:
        three = Dim(3, description="three", kind=DimKind.Spatial)
        frames = Dim(None, description="frames", size_dims=())
        target = self.target_like_output()
        classes = _all_frames(rf.replace_dim(target, in_dim=target.dims[-1], out_dim=three), frames)
        x = _all_frames(self.output, frames)
        parts = Dim(self.num_parts, description="parts", kind=DimKind.Spatial)
        size = feature_dim_of(x).require_static() // self.num_parts
        embedding = Dim(size, description="embedding", kind=DimKind.Feature)
        x = rf.split_dims(x, axis=feature_dim_of(x), dims=[parts, embedding])
        length = rf.reduce_sum(rf.square(x), axis=embedding)
        x = x * rf.rsqrt(rf.maximum(length, 1e-12))
        values = []
        for triplet in self.triplets:
            places = Tensor("triplet", (three,), "int32", raw_tensor=_constant(x, triplet))
            values.append(self._pairs(rf.gather(x, indices=places, axis=parts), classes, embedding))
        return values[0] if len(values) == 1 else values[0] + values[1]

    def _pairs(self, x: Tensor, classes: Tensor, embedding: Dim) -> Tensor:
        """
        :param x: [frames, three, embedding] in any order, of length 1
        :param classes: [frames, three]
        :return: scalar
        """
        others, other_classes = x, classes
        for dim in classes.dims:
            other = Dim(dim.dimension, description="other-" + dim.description, size_dims=None if dim.is_static else ())
            others = rf.replace_dim(others, in_dim=dim, out_dim=other)
            other_classes = rf.replace_dim(other_classes, in_dim=dim, out_dim=other)
        distance = 1.0 - rf.matmul(x, others, reduce=embedding)
        same = rf.compare(classes, "==", other_classes)
        value = rf.where(same, distance, rf.maximum(float(self.margin) - distance, 0.0))
        return 0.5 * rf.reduce_sum(value, axis=value.dims)

    def error_per_pos(self) -> None:
        return None


def _all_frames(x: Tensor, frames: Dim) -> Tensor:
    """
    :return: batch, and time if there is one, as one axis ``frames`` in front, without padding
    """
    if x.have_time_axis() and x.get_time_dim_tag().is_dynamic:
        x = x.copy_time_flattened()
    else:
        x = x.copy_as_batch_major()
    return rf.replace_dim(x, in_dim=x.dims[0], out_dim=frames)


def _constant(x: Tensor, values: tuple[int, ...]) -> Any:
    return None if x.raw_tensor is None else x._raw_backend.convert(list(values), "int32")
