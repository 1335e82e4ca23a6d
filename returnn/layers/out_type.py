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
    :param layer: has the option ``out_type``
    :param output: template, as the layer's class has it
    :return: with ``out_type``. A ``shape`` starts a new layout: batch first, unless ``batch_dim_axis`` says otherwise;
        dims of the same size, and dynamic ones in their order, are those of the old one.
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
        return _with_dims_of(Tensor(name, **opts), output, time_dim=_time_of_size_target(layer))
    return _with_changes(layer, output, opts)


def check_output(output: Tensor, *, n_out: int | None, out_dim: Dim | None, out_shape: Any) -> None:
    """
    :param output: template, as it will be
    :param n_out: option of the layer
    :param out_dim: option of the layer
    :param out_shape: option of the layer
    :raises ConfigError: it is not what one of the options says
    """
    if n_out is None and out_dim is not None and out_dim not in output.dims:
        n_out = out_dim.dimension
    if n_out is not None and output.dim is not None and output.dim != n_out:
        raise ConfigError("n_out is %s, but the output has dim %i: %s" % (n_out, output.dim, output.short_repr()))
    if out_shape is not None:
        output.verify_out_shape(out_shape)


def _from_function(layer: LayerBase, function: Any) -> Tensor:
    opts = dict(layer.kwargs)
    opts.pop("out_type", None)
    opts.update(opts.pop("eval_locals", None) or {})
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
    feature_axis = output.feature_dim_axis
    if sparse and not output.sparse and feature_axis is not None:
        dims.pop(feature_axis)
    elif not sparse and dim is not None and feature_axis is not None and output.dim != dim:
        dims[feature_axis] = layer.make_dim("out_type", dim, kind=Dim.Types.Feature)
        return output.copy_template_new_dim_tags(dims, keep_special_axes=True)
    return output.like(None, dims=dims, dtype=dtype, sparse_dim=sparse_dim if sparse else None)


def _time_of_size_target(layer: LayerBase) -> Dim | None:
    if not layer.size_target or not layer.network.eval_flag:
        return None
    target = layer.network.get_extern_data(layer.size_target, mark_data_key_as_used=not layer._is_template)
    return target.time_dim


def _with_dims_of(new: Tensor, old: Tensor, *, time_dim: Dim | None) -> Tensor:
    """
    :param new: layout
    :param old: what the layer's class says
    :param time_dim: for a time axis of the new layout; by default from the old one
    :return: new, with the dims of the old one where they mean the same
    """
    unused = [d for d in old.dims if not d.is_batch_dim]
    dims = list(new.dims)
    for axis, dim in enumerate(dims):
        if dim.is_batch_dim or not dim.auto_generated:
            continue
        if time_dim is not None and axis == new.time_dim_axis and dim.is_dynamic:
            dims[axis] = time_dim
            continue
        same = [d for d in unused if d.is_dynamic == dim.is_dynamic and d.dimension == dim.dimension]
        same = [d for d in same if (d == old.feature_dim) == (axis == new.feature_dim_axis)] or same
        if same:
            dims[axis] = same[0]
            unused.remove(same[0])
    res = new.copy_template_new_dim_tags(dims, keep_special_axes=True)
    res.available_for_inference = new.available_for_inference
    return res
