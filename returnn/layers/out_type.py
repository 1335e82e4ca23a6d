"""The option ``out_type``: what the config says about a layer's output, over what the layer says."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from returnn.tensor import Dim, Tensor
from returnn.util.errors import ConfigError

if TYPE_CHECKING:
    from .base import LayerBase

_AXES = {"shape", "dims", "dim_tags", "batch_dim_axis", "time_dim_axis", "feature_dim_axis"}


def apply_out_type(layer: LayerBase, output: Tensor) -> Tensor:
    """
    :param layer:
    :param output: template, as the layer's class has it
    :return: with ``out_type``. A ``shape`` starts a new layout: batch first, unless ``batch_dim_axis`` says otherwise; dims of
        the same size, and dynamic ones in their order, are those of the old one.
    """
    out_type = layer.out_type
    if out_type is None:
        return output
    if callable(out_type):
        return _from_function(layer, out_type)
    if not isinstance(out_type, dict):
        raise ConfigError("out_type must be a dict or a function, but is %r" % (out_type,))
    opts = dict(out_type)
    name = opts.pop("name", output.name)
    if _AXES & set(opts):
        opts.setdefault("dtype", output.dtype)
        if "sparse" not in opts and "sparse_dim" not in opts and output.sparse and "dim" not in opts:
            opts["sparse_dim"] = output.sparse_dim
        if "dim" not in opts and not opts.get("sparse") and "shape" not in opts and output.dim is not None:
            opts["dim"] = output.dim
        opts.setdefault("available_for_inference", output.available_for_inference)
        return _with_dims_of(Tensor(name, **opts), output)
    return _with_changes(layer, output, opts)


def _from_function(layer: LayerBase, function: Any) -> Tensor:
    opts = dict(layer.kwargs)
    opts.pop("out_type", None)
    output = function(
        network=layer.network,
        name=layer.name,
        sources=layer.sources,
        **{key: opts.get(key) for key in ("n_out", "target", "size_target", "loss")},
        **{key: value for key, value in opts.items() if key not in ("n_out", "target", "size_target", "loss")},
    )
    if not isinstance(output, Tensor):
        raise ConfigError("the function out_type must return a Tensor (Data), but returned %r" % (output,))
    return output.copy_template(layer.name + "_output")


def _with_changes(layer: LayerBase, output: Tensor, opts: dict[str, Any]) -> Tensor:
    """dim, dtype, sparse: the axes stay"""
    dtype = opts.pop("dtype", None)
    sparse = opts.pop("sparse", output.sparse)
    sparse_dim = opts.pop("sparse_dim", output.sparse_dim if sparse else None)
    dim = opts.pop("dim", None)
    output.available_for_inference = opts.pop("available_for_inference", output.available_for_inference)
    if opts:
        raise ConfigError("out_type: unknown keys %s" % ", ".join(map(repr, sorted(opts))))
    if sparse and (sparse_dim is None or (dim is not None and sparse_dim.dimension != dim)):
        if dim is None:
            raise ConfigError("out_type: sparse needs dim, the number of classes")
        sparse_dim = layer.make_dim("out_type:sparse", dim, kind=Dim.Types.Feature)
    if dtype is None and sparse and not output.sparse:
        dtype = "int32"
    dims = list(output.dims)
    if sparse and not output.sparse and output.feature_dim is not None:
        dims.pop(output.feature_dim_axis)
    elif not sparse and dim is not None and output.feature_dim is not None and output.dim != dim:
        dims[output.feature_dim_axis] = layer.make_dim("out_type", dim, kind=Dim.Types.Feature)
        return output.copy_template_new_dim_tags(dims, keep_special_axes=True)
    return output.like(None, dims=dims, dtype=dtype, sparse_dim=sparse_dim if sparse else None)


def _with_dims_of(new: Tensor, old: Tensor) -> Tensor:
    """dims of the new layout that mean the same as one of the old"""
    unused = [d for d in old.dims if not d.is_batch_dim]
    dims = list(new.dims)
    for axis, dim in enumerate(dims):
        if dim.is_batch_dim or not dim.auto_generated:
            continue
        same = [d for d in unused if d.is_dynamic == dim.is_dynamic and d.dimension == dim.dimension]
        same = [d for d in same if (d == old.feature_dim) == (axis == new.feature_dim_axis)] or same
        if same:
            dims[axis] = same[0]
            unused.remove(same[0])
    res = new.copy_template_new_dim_tags(dims, keep_special_axes=True)
    res.available_for_inference = new.available_for_inference
    return res
