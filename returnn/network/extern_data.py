"""ExternData: what comes from outside, as the config declares it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from returnn.config import Config
from returnn.datasets.util.vocabulary import Vocabulary
from returnn.log import log
from returnn.tensor import Tensor, TensorDict, batch_dim
from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import did_you_mean


class DataNotFound(ConfigError, KeyError):
    """No data of that key."""

    def __str__(self) -> str:
        return str(self.args[0])


def data_not_found_text(key: str, known: Iterable[str]) -> str:
    """
    :param key: that is not there
    :param known: data keys
    :return: message with the nearest names, and all of them
    """
    known = sorted(known)
    return "extern data %r not found.%s Available: %s" % (key, did_you_mean(key, known), ", ".join(known))


class ExternData(TensorDict):
    """Templates of all data keys; a backend adds the values."""

    def __init__(self, data: Any = None, *, default_input: str = "data", default_target: str = "classes"):
        """
        :param data: see :class:`TensorDict`
        :param default_input: key that layers without ``from`` read
        :param default_target: key that losses without ``target`` use
        """
        self.default_input = default_input
        self.default_target = default_target
        self.extra_added_keys: set[str] = set()
        super().__init__(data)

    def init_from_config(self, config: Config, *, auto_create_placeholders: bool = False) -> None:
        """
        :param config: ``extern_data``; or of old configs ``num_inputs`` and ``num_outputs``
        :param auto_create_placeholders: values will be fed; automatic dims are named like that
        :raises ConfigError: neither is there, or an entry is not understood
        """
        self.default_input = config.value("default_input", "data")
        self.default_target = (
            config.value("target", "classes") if not _is_list(config, "target") else config.list("target")[0]
        )
        declared = config.typed_value("extern_data")
        old = config.has("num_inputs") or config.has("num_outputs")
        if declared is not None:
            if old:
                print("Warning: Using extern_data and will ignore num_inputs/num_outputs in config.", file=log.v2)
        elif old:
            declared = _from_num_inputs_outputs(config, self.default_input, self.default_target)
        else:
            raise ConfigError(
                "provide extern_data in the config: a dict, data key -> dict with dim, shape, sparse, ..."
            )
        if isinstance(declared, TensorDict):
            declared = declared.data
        if not isinstance(declared, Mapping):
            raise ConfigError("extern_data must be a dict, but is %r" % (declared,))
        entries = {key: _as_kwargs(key, value) for key, value in declared.items()}
        self._set_available_for_inference(entries)
        for key in _in_order(entries, self.default_input):
            value = entries[key]
            if isinstance(value, Tensor):
                self.data[key] = value.copy_template(key)
                continue
            try:
                self.data[key] = Tensor(key, **dict(value, auto_create_placeholders=auto_create_placeholders))
            except ConfigError as exc:
                raise ConfigError("extern_data[%r]: %s" % (key, exc)) from exc
        if auto_create_placeholders:
            self._declare_lengths()

    def _declare_lengths(self) -> None:
        """They will come with the values, one for each sequence, also of dims that the user made."""
        for data in self.data.values():
            for dim in data.dims:
                if dim.is_dynamic and data.have_batch_axis():
                    dim.declare_size_dims((batch_dim,))

    def _set_available_for_inference(self, entries: dict[str, Any]) -> None:
        dicts = {key: value for key, value in entries.items() if isinstance(value, dict)}
        for key, value in dicts.items():
            value.setdefault("available_for_inference", key == self.default_input)
        if dicts and not any(_available(value) for value in entries.values()):
            for key, value in dicts.items():
                value["available_for_inference"] = key != self.default_target

    def init_from_dataset(self, dataset: Any, *, auto_create_placeholders: bool = False) -> None:
        """
        :param dataset: tells its keys, dims and dtypes
        """
        targets = dataset.get_target_list()
        for key in dataset.get_data_keys():
            self.data[key] = Tensor(
                key,
                shape=[None] + list(dataset.get_data_shape(key)),
                dim=dataset.get_data_dim(key),
                sparse=dataset.is_data_sparse(key),
                dtype=dataset.get_data_dtype(key),
                available_for_inference=key not in targets,
                auto_create_placeholders=auto_create_placeholders,
            )

    def check_matched_dataset(self, dataset: Any, used_data_keys: Sequence[str] | None = None) -> None:
        """
        :param dataset: tells its keys, dims and dtypes
        :param used_data_keys: by default all
        :raises ConfigError: first mismatch: which key, what is declared, what the dataset has
        """
        keys = sorted(self.data if used_data_keys is None else used_data_keys)
        for key in keys:
            if key in ("seq_idx", "seq_tag") or key in self.extra_added_keys:
                continue
            if key not in dataset.get_data_keys():
                known = dataset.get_data_keys()
                raise ConfigError(
                    "extern_data has the key %r, but the dataset %r only has: %s.%s"
                    % (key, dataset, ", ".join(sorted(known)), did_you_mean(key, known))
                )
            self._check_key(key, dataset)

    def _check_key(self, key: str, dataset: Any) -> None:
        data = self.data[key]
        checks: list[tuple[str, Any, Any]] = [
            ("sparse", data.sparse, dataset.is_data_sparse(key)),
            ("dtype", data.dtype, dataset.get_data_dtype(key)),
        ]
        if data.sparse or data.dim is not None:
            checks.append(("dim", data.dim, dataset.get_data_dim(key)))
        if not data.sparse and data.shape:
            checks.append(("shape", tuple(data.shape[1:]), tuple(dataset.get_data_shape(key))))
        for what, declared, found in checks:
            if what == "shape" and len(declared) == len(found):
                if all(a is None or b is None or a == b for a, b in zip(declared, found, strict=True)):
                    continue
            if declared != found and not (what == "dim" and not data.sparse and declared is None):
                if what == "dtype" and declared.startswith("int") and str(found).startswith(("int", "uint")):
                    continue  # labels are converted
                raise ConfigError(
                    "key %r %s mismatch. extern_data declares %s, but the dataset %r has %s"
                    % (key, what, declared, dataset, found)
                )

    def get_data(self, name: str) -> Tensor:
        """
        :param name: key
        :raises DataNotFound: listing the keys there are
        """
        if name not in self.data:
            raise DataNotFound(data_not_found_text(name, self.data))
        return self.data[name]

    def get_default_input_data(self) -> Tensor:
        """
        :return: of the default input key
        """
        return self.get_data(self.default_input)

    def get_default_target_data(self) -> Tensor:
        """
        :return: of the default target key
        """
        return self.get_data(self.default_target)

    def get_sorted_data_items(self) -> list[tuple[str, Tensor]]:
        """
        :return: default input first, then by key
        """
        return [(key, self.data[key]) for key in _in_order(self.data, self.default_input)]

    def get_data_description(self) -> str:
        """
        :return: for the log
        """
        return ", ".join("%s: %r" % item for item in self.get_sorted_data_items())


def _is_list(config: Config, key: str) -> bool:
    return isinstance(config.typed_value(key), (list, tuple))


def _in_order(keys: Any, first: str) -> list[str]:
    return sorted(keys, key=lambda key: (key != first, key))


def _available(value: Any) -> bool:
    return bool(value.available_for_inference if isinstance(value, Tensor) else value.get("available_for_inference"))


def _as_kwargs(key: str, value: Any) -> Any:
    if isinstance(value, Tensor):
        return value
    if isinstance(value, dict):
        return dict(value, vocab=_as_vocab(key, value)) if value.get("vocab") else dict(value)
    if isinstance(value, (tuple, list)) and len(value) == 2 and all(isinstance(n, int) for n in value):
        return _from_dim_ndim(*value)
    raise ConfigError("extern_data[%r] must be a dict of options, or (dim, ndim), but is %r" % (key, value))


def _as_vocab(key: str, opts: dict[str, Any]) -> Any:
    """:return: the vocabulary, also of a file or of options"""
    vocab = opts["vocab"]
    try:
        if isinstance(vocab, str):
            vocab = Vocabulary(vocab, unknown_label=None)
        elif isinstance(vocab, Mapping):
            vocab = Vocabulary.create_vocab(**vocab)
    except UserError as exc:
        raise ConfigError(f"extern_data[{key!r}]: vocab: {exc}") from exc
    if opts.get("dim") not in (None, vocab.num_labels):
        raise ConfigError(f"extern_data[{key!r}]: dim is {opts['dim']}, but vocab has {vocab.num_labels} labels")
    return vocab


def _from_dim_ndim(dim: int, ndim: int) -> dict[str, Any]:
    if ndim < 1:
        raise ConfigError("(dim, ndim) of extern data: ndim must be at least 1, but is %i" % ndim)
    if ndim == 1:
        return {"dim": dim, "shape": (None,), "sparse": True}
    return {"dim": dim, "shape": (None,) * (ndim - 1) + (dim,)}


def _from_num_inputs_outputs(config: Config, default_input: str, default_target: str) -> dict[str, Any]:
    num_inputs = config.int("num_inputs", 0)
    if config.is_typed("num_outputs"):
        num_outputs = config.typed_value("num_outputs")
    else:
        num_outputs = config.int("num_outputs", 0)
    if num_outputs is None:
        num_outputs = {}
    if isinstance(num_outputs, int):
        num_outputs = {default_target: (num_outputs, 1)}
    res: dict[str, Any] = {}
    for key, value in num_outputs.items():
        if isinstance(value, int):
            value = (value, 2 if key == default_input else 1)
        res[key] = value
    if default_input not in res:
        res[default_input] = (num_inputs, 1 if config.bool("sparse_input", False) else 2)
    return res
