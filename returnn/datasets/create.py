"""From what a config says to a dataset: class names, options, defaults."""

from __future__ import annotations

import importlib
import os
import re
import weakref
from collections.abc import Iterable
from typing import Any

from returnn.config import Config, get_global_config
from returnn.util import file_cache
from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean, file_not_found

from .config_defaults import update_kwargs_from_config
from .dataset import Dataset
from .pickling import constructor_parameters

DATASET_CLASSES: dict[str, str] = {
    "HDFDataset": "returnn.datasets.hdf:HDFDataset",
    "StaticDataset": "returnn.datasets.static:StaticDataset",
    "OggZipDataset": "returnn.datasets.audio:OggZipDataset",
    "LibriSpeechCorpus": "returnn.datasets.librispeech:LibriSpeechCorpus",
    "GeneratingDataset": "returnn.datasets.generating:GeneratingDataset",
    "Task12AXDataset": "returnn.datasets.generating:Task12AXDataset",
    "TaskEpisodicCopyDataset": "returnn.datasets.generating:TaskEpisodicCopyDataset",
    "TaskXmlModelingDataset": "returnn.datasets.generating:TaskXmlModelingDataset",
    "TaskNumberBaseConvertDataset": "returnn.datasets.generating:TaskNumberBaseConvertDataset",
    "CopyTaskDataset": "returnn.datasets.generating:CopyTaskDataset",
    "DummyDataset": "returnn.datasets.generating:DummyDataset",
    "DummyDatasetMultipleSequenceLength": "returnn.datasets.generating:DummyDatasetMultipleSequenceLength",
    "DummyDatasetMultipleDataKeys": "returnn.datasets.generating:DummyDatasetMultipleDataKeys",
    "MetaDataset": "returnn.datasets.meta:MetaDataset",
    "CombinedDataset": "returnn.datasets.meta:CombinedDataset",
    "ConcatDataset": "returnn.datasets.meta:ConcatDataset",
    "ConcatSeqsDataset": "returnn.datasets.meta:ConcatSeqsDataset",
    "ClusteringDataset": "returnn.datasets.meta:ClusteringDataset",
    "ChunkShuffleDataset": "returnn.datasets.meta:ChunkShuffleDataset",
    "VariableDataset": "returnn.datasets.meta:VariableDataset",
    "MultiEpochDataset": "returnn.datasets.meta:MultiEpochDataset",
    "AnythingDataset": "returnn.datasets.meta:AnythingDataset",
    "MapDatasetWrapper": "returnn.datasets.map:MapDatasetWrapper",
    "MultiProcDataset": "returnn.datasets.multi_proc:MultiProcDataset",
    "PostprocessingDataset": "returnn.datasets.postprocessing:PostprocessingDataset",
    "DistributeFilesDataset": "returnn.datasets.distrib_files:DistributeFilesDataset",
    "TextDictDataset": "returnn.datasets.text_dict:TextDictDataset",
    "HuggingFaceDataset": "returnn.datasets.huggingface:HuggingFaceDataset",
    "LmDataset": "returnn.datasets.lm:LmDataset",
    "TranslationDataset": "returnn.datasets.lm:TranslationDataset",
    "TranslationFactorsDataset": "returnn.datasets.lm:TranslationFactorsDataset",
    "ConfusionNetworkDataset": "returnn.datasets.lm:ConfusionNetworkDataset",
    "TimitDataset": "returnn.datasets.generating:TimitDataset",
    "NltkTimitDataset": "returnn.datasets.generating:NltkTimitDataset",
    "Enwik8Corpus": "returnn.datasets.generating:Enwik8Corpus",
    "NextGenHDFDataset": "returnn.datasets.hdf:NextGenHDFDataset",
    "SiameseHDFDataset": "returnn.datasets.hdf:SiameseHDFDataset",
    "NumpyDumpDataset": "returnn.datasets.numpy_dump:NumpyDumpDataset",
    "StereoHdfDataset": "returnn.datasets.stereo:StereoHdfDataset",
    "DatasetWithTimeContext": "returnn.datasets.stereo:DatasetWithTimeContext",
    "RawWavDataset": "returnn.datasets.raw_wav:RawWavDataset",
}
"""Name in a config -> module:class. A module is imported when one of its datasets is wanted."""


def get_dataset_class(name: str | type[Dataset]) -> type[Dataset]:
    """
    :param name: in :data:`DATASET_CLASSES`, or of any other Dataset class in one of those modules; or the class itself
    :raises UserError: there is no such class
    """
    if isinstance(name, type):
        if not issubclass(name, Dataset):
            raise UserError(f"Dataset class {name.__name__!r} is not derived from returnn.datasets.Dataset")
        return name
    if name in DATASET_CLASSES:
        module, cls_name = DATASET_CLASSES[name].split(":")
        return getattr(importlib.import_module(module), cls_name)
    for module in dict.fromkeys(target.split(":")[0] for target in DATASET_CLASSES.values()):
        cls = getattr(importlib.import_module(module), name, None) if isinstance(name, str) else None
        if isinstance(cls, type) and issubclass(cls, Dataset):
            return cls
    hint = did_you_mean(name, DATASET_CLASSES) if isinstance(name, str) else ""
    raise UserError(f"Dataset class {name!r} not found.{hint} There are: {', '.join(sorted(DATASET_CLASSES))}.")


def init_dataset(
    kwargs: Any,
    extra_kwargs: dict[str, Any] | None = None,
    default_kwargs: dict[str, Any] | None = None,
    *,
    parent_dataset: Dataset | None = None,
) -> Dataset:
    """
    :param kwargs: options, with "class": a name or the class itself; or a function that returns them;
        or ``"{...}"``, their Python code; or ``"config:EXPR"``, evaluated in the config;
        or another string, see :func:`init_dataset_via_str`; or a dataset
    :param extra_kwargs: options that win over those in ``kwargs``
    :param default_kwargs: options for what is not in ``kwargs``
    :param parent_dataset: which reads from the new one; it shares its seed offset and shard
    :return: an initialized dataset. Each ``CachedFile`` in the options became the name of a local copy
    """
    if isinstance(kwargs, Dataset):
        kwargs.initialize()
        return kwargs
    if callable(kwargs):
        return init_dataset(kwargs(), extra_kwargs, default_kwargs, parent_dataset=parent_dataset)
    if isinstance(kwargs, str):
        if kwargs.startswith(("{", "config:")):
            options = evaluate_options(kwargs, get_global_config(return_empty_if_none=True))
            return init_dataset(options, extra_kwargs, default_kwargs, parent_dataset=parent_dataset)
        more = extend_dataset_dict_from_parent_dataset(default_kwargs or {}, parent_dataset)
        return init_dataset_via_str(kwargs, **{**more, **(extra_kwargs or {})})
    if not isinstance(kwargs, dict):
        raise UserError(f"A dataset must be given as dict, function or str, but is {kwargs!r}")
    options = {**(default_kwargs or {}), **kwargs, **(extra_kwargs or {})}
    options = extend_dataset_dict_from_parent_dataset(options, parent_dataset)
    if "class" not in options:
        raise UserError(
            f'A dataset needs the option "class", for example "HDFDataset";'
            f" here are only {', '.join(map(repr, options)) or 'no options'}"
        )
    cached_files: list[str] = []
    if file_cache.have_cached_files(options):
        cache = file_cache.get_instance()
        options, cached_files = cache.handle_cached_files_in_config(options)
    dataset = _construct(get_dataset_class(options.pop("class")), options)
    if cached_files:
        weakref.finalize(dataset, cache.release_files, cached_files)
    dataset.initialize()
    return dataset


def extend_dataset_dict_from_parent_dataset(
    dataset_dict: dict[str, Any], parent_dataset: Dataset | None
) -> dict[str, Any]:
    """
    :return: a copy, with what the parent dataset shares, as far as it is not there
    """
    if parent_dataset is None:
        return dict(dataset_dict)
    attrs = ("random_seed_offset", "_num_shards", "_shard_index")
    return {**{name: getattr(parent_dataset, name) for name in attrs}, **dataset_dict}


def evaluate_options(code: str, config: Config | None) -> Any:
    """
    :param code: Python code ``{...}``, or ``config:EXPR`` for an expression over the keys of the config
    :return: its value
    :raises UserError: it has none
    """
    namespace: dict[str, Any] = {}
    expr = code
    if code.startswith("config:"):
        assert config is not None
        expr, namespace = code[len("config:") :], config.typed_dict
    try:
        return eval(expr, namespace)
    except Exception as exc:  # users' code
        raise UserError(f"Cannot evaluate the dataset {code!r}: {type(exc).__name__}: {exc}") from exc


def _construct(cls: type[Dataset], options: dict[str, Any]) -> Dataset:
    """:raises UserError: an option is unknown or missing"""
    try:
        return cls(**options)
    except TypeError as exc:
        message = _explain_type_error(cls, options, str(exc))
        if message is None:
            raise
        name = options.get("name")
        raise UserError(f"dataset {name!r}: {message}" if name else message) from exc


def _explain_type_error(cls: type[Dataset], options: dict[str, Any], text: str) -> str | None:
    """:return: what is wrong with the options, or None if the error comes from elsewhere"""
    valid = [name for name in constructor_parameters(cls) if not name.startswith("_")]
    unknown = re.search(r"got an unexpected keyword argument '(\w+)'", text)
    if unknown and unknown[1] in options:
        return (
            f'dataset class "{cls.__name__}" has no option "{unknown[1]}".{did_you_mean(unknown[1], valid)}'
            f"\n  Its options: {', '.join(valid)}"
        )
    missing = re.search(r"__init__\(\) missing \d+ required .*", text)
    names = [name for name in re.findall(r"'(\w+)'", missing[0]) if name in valid] if missing else []
    if names and not any(name in options for name in names):
        return f'dataset class "{cls.__name__}" needs the option{"s" * (len(names) > 1)} {_quoted(names)}'
    return None


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f'"{name}"' for name in names)


def init_dataset_via_str(
    config_str: str, config: Config | None = None, cache_byte_size: int | None = None, **kwargs: Any
) -> Dataset:
    """
    :param config_str: ``ClassName:python,kwargs``; or ``config:EXPR``, evaluated in the config;
        or names of HDF files with commas between
    :param config: gives defaults for all datasets
    :param cache_byte_size: for HDFDataset
    :param kwargs: further options
    :return: an initialized dataset
    """
    if config_str.startswith("config:"):
        options = evaluate_options(config_str, config or get_global_config(return_empty_if_none=True))
        if config is None or not isinstance(options, dict):
            return init_dataset(options, default_kwargs=kwargs)
        options = {**kwargs, **options}
        update_kwargs_from_config(config, options)
        return init_dataset(options)
    class_name, colon, args = config_str.partition(":")
    if colon and class_name == "sprint":
        trainer = config.value("sprint_trainer_exec_path", None) if config else None
        cls = get_dataset_class("ExternSprintDataset")
        kwargs.update(sprintTrainerExecPath=trainer, sprintConfigStr=args)
    elif colon and class_name.isidentifier() and not os.path.exists(config_str):
        cls = get_dataset_class(class_name)
        kwargs.update(_evaluate_kwargs(config_str, args))
    else:
        cls = get_dataset_class("HDFDataset")
        kwargs["files"] = config_str.split(",")
        for filename in kwargs["files"]:
            if not os.path.exists(filename):
                raise ConfigError(file_not_found("HDF file", filename))
        if cache_byte_size is not None:
            kwargs["cache_byte_size"] = cache_byte_size
    if config is not None:
        update_kwargs_from_config(config, kwargs)
    dataset = _construct(cls, kwargs)
    dataset.initialize()
    return dataset


def _evaluate_kwargs(config_str: str, args: str) -> dict[str, Any]:
    try:
        return eval(f"dict({args})", {})
    except Exception as exc:  # users' code
        raise UserError(
            f"Cannot evaluate the options in {config_str!r}: {exc}. Expected for example"
            " 'Task12AXDataset:num_seqs=10,seq_ordering=\"random\"'"
        ) from exc
