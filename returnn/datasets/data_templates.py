"""Kinds of data that a config declares as options of tensors: templates of a single sequence, without batch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy

from returnn.tensor import Tensor
from returnn.tensor.dim import DimError
from returnn.util.errors import ConfigError

from .data_kinds import DataKinds
from .util.vocabulary import Vocabulary


def data_templates(options: Mapping[str, Any], what: str) -> dict[str, Tensor]:
    """
    :param options: data key -> Tensor, or options of one; there is no batch axis by default; ``vocab`` can be options
        of a Vocabulary
    :param what: names them, for messages
    :return: data key -> template
    """
    return {key: _template(key, value, f"{what}: {key!r}") for key, value in options.items()}


def _template(key: str, options: Any, what: str) -> Tensor:
    if isinstance(options, Tensor):
        template = options.copy_template(name=key)
    else:
        if not isinstance(options, Mapping):
            raise ConfigError(f"{what} must be a dict of options, but is {options!r}")
        more: dict[str, Any] = {}
        if "dims" not in options and "batch_dim_axis" not in options:
            more["batch_dim_axis"] = None
        if isinstance(options.get("vocab"), Mapping):
            more["vocab"] = Vocabulary.create_vocab(**options["vocab"])
        try:
            template = Tensor(key, **{**options, **more})
        except (DimError, TypeError) as exc:
            raise ConfigError(f"{what}: {exc}") from exc
    if template.have_batch_axis():
        raise ConfigError(f"{what}: {template!r} must be without batch dim, as it is for a single sequence")
    return template


def templates_of_dataset(dataset: DataKinds) -> dict[str, Tensor]:
    """
    :param dataset: initialized
    :return: data key -> template
    """
    targets = dataset.get_target_list()
    return {
        key: _template(
            key,
            {
                **_dim_and_shape(dataset, key),
                "dtype": dataset.get_data_dtype(key),
                "available_for_inference": key not in targets,
            },
            f"data key {key!r}",
        )
        for key in dataset.get_data_keys()
    }


def _dim_and_shape(dataset: DataKinds, key: str) -> dict[str, Any]:
    opts = (dataset.num_outputs or {}).get(key)
    shape: tuple[int | None, ...] = (None, *dataset.get_data_shape(key))
    if isinstance(opts, Mapping) and "shape" in opts:
        shape = tuple(opts["shape"])
    elif opts is not None and not isinstance(opts, Mapping) and opts[1] == 0:
        shape = ()
    dim = dataset.get_data_dim(key)
    if dataset.is_data_sparse(key) and dim and "int" in dataset.get_data_dtype(key):
        return {"shape": shape, "sparse": True, "dim": dim}
    has_feature_axis = bool(shape) and shape[-1] is not None
    return {"shape": shape, "dim": dim if has_feature_axis else None}


def num_outputs_of(templates: Mapping[str, Tensor]) -> dict[str, Any]:
    """
    :param templates: by data key
    :return: ``num_outputs`` of a dataset
    """
    res: dict[str, Any] = {}
    for key, x in templates.items():
        if x.ndim and x.dtype != "string":
            res[key] = (x.dim or 0, x.ndim)
        else:
            res[key] = {"dim": x.dim, "shape": x.shape, "dtype": x.dtype, "sparse": x.sparse}
    return res


def as_declared(template: Tensor, array: numpy.ndarray) -> numpy.ndarray:
    """
    :param template: what the array should be
    :param array: of a dataset, some of which are careless about the width of numbers
    :return: of the dtype of the template, if both are integers, or both floats
    """
    if template.dtype == "string" or array.dtype.kind in "OSU" or array.dtype.name == template.dtype:
        return array
    kinds = {array.dtype.kind, numpy.dtype(template.dtype).kind}
    return array.astype(template.dtype) if kinds in ({"f"}, {"i"}, {"u"}, {"i", "u"}) else array


def check_array(template: Tensor, array: Any, what: str) -> numpy.ndarray:
    """
    :param template: what the array should be
    :param array: a value
    :param what: names it, for messages
    :return: the array
    :raises ConfigError: type, number of axes, dtype or a static size is another one
    """
    if not isinstance(array, numpy.ndarray):
        raise ConfigError(f"{what} must be a numpy array, but is {type(array).__name__}")
    dtype = "string" if array.dtype.kind in "OSU" else array.dtype.name
    shape = template.shape
    if len(shape) != array.ndim or any(n not in (None, m) for n, m in zip(shape, array.shape, strict=True)):
        raise ConfigError(f"{what} has shape {list(array.shape)}, but expected is {list(shape)}")
    if dtype != template.dtype:
        raise ConfigError(f"{what} has dtype {dtype}, but expected is {template.dtype}")
    return array
