"""Linear layers."""

from __future__ import annotations

from typing import Any

import returnn.frontend as rf
from returnn.tensor import Tensor
from returnn.util.errors import ConfigError

from .concat_input import ConcatInputLayer
from .features import static_feature_dim_of
from .initializers import offset_init
from .registry import layer_class


@layer_class("linear", "hidden", "forward")
class LinearLayer(ConcatInputLayer):
    """y = act(x W + b) on the feature axis; labels: row lookup W[x] + b.

    Input [.., F_in] in any axis order, or labels [..] of F_in classes; F_in static.
    Output: the other dims of the input, and the output dim in place of F_in (for labels at the end).
    Parameters: ``W`` [F_in, F_out], ``b`` [F_out].
    """

    activation: str | None = None
    """name or expression of a function"""
    with_bias: bool = True
    """add ``b``"""
    forward_weights_init: Any = "glorot_uniform"
    """initial values of ``W``"""
    bias_init: Any = 0.0
    """initial values of ``b``"""
    use_transposed_weights: bool = False
    """store ``W`` as [F_out, F_in]"""

    grad_filter: float | None = None
    """no gradient from a sequence where a component of the gradient before the activation, squared, is as large"""

    def compute(self, x: Tensor) -> Tensor:
        in_dim = static_feature_dim_of(x)
        out_dim = self.required_out_dim()
        if in_dim == out_dim:  # the config has one Dim for both sides of the matrix: tell them apart
            in_dim = self.make_dim("in", in_dim.dimension, kind=in_dim.kind)
            x = (
                x.like(x.raw_tensor, sparse_dim=in_dim)
                if x.sparse
                else rf.replace_dim(x, in_dim=out_dim, out_dim=in_dim)
            )
        w_dims = [out_dim, in_dim] if self.use_transposed_weights else [in_dim, out_dim]
        w = self.param("W", w_dims, init=self.forward_weights_init)
        if x.sparse:
            y = rf.gather(w, indices=x, axis=in_dim)
            y = y.copy_move_axis(y.get_axis_from_dim(out_dim), -1)
        else:
            y = rf.matmul(x, w, reduce=in_dim)
            y = y.copy_move_axis(-1, x.get_axis_from_dim(in_dim))
        y.time_dim_axis = x.time_dim_axis
        y.feature_dim = out_dim
        if self.with_bias:
            y = y + self.param("b", [out_dim], init=offset_init(self.bias_init))
        if self.grad_filter:
            y = rf.zero_large_gradient(y, limit=float(self.grad_filter))
        return self._activated(y, self.activation)


@layer_class("softmax")
class SoftmaxLayer(LinearLayer):
    """softmax(x W + b): a linear layer whose output are probabilities. Takes no ``activation``."""

    @classmethod
    def transform_config_dict(cls, d: dict[str, Any], network: Any, get_layer: Any) -> None:
        if "activation" in d:
            raise ConfigError('a softmax layer has no option "activation": use class "linear"')
        d["activation"] = "softmax"
        super().transform_config_dict(d, network, get_layer)
