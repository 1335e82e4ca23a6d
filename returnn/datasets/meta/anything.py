"""Zeros, for streams that are not there."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError
from returnn.util.numbers_dict import NumbersDict

from ..dataset import Dataset, OptionalNotImplementedError


class AnythingDataset(Dataset):
    """Zeros for any list of sequences; without a list there is no end. One frame each. As a part of a MetaDataset it
    stands for data that is not needed now."""

    seqs_in_any_order = True

    def __init__(self, *, data_keys: Mapping[str, Mapping[str, Any]], **kwargs: Any):
        """
        :param data_keys: data key -> options ``dim``, ``sparse`` (False), ``shape`` (with time; None where dynamic;
            ``(None, dim)`` if missing, or ``(None,)`` if sparse), ``dtype`` (float32, or int32 if sparse)
        """
        super().__init__(**kwargs)
        self.data_keys = {key: dict(opts) for key, opts in data_keys.items()}
        self._kinds: dict[str, dict[str, Any]] = {}
        for key, opts in self.data_keys.items():
            shape, sparse = opts.get("shape"), bool(opts.get("sparse", False))
            dim = opts.get("dim") or next((n for n in reversed(shape or ()) if n), None)
            if dim is None and (shape is None or sparse):
                raise ConfigError(f"{self.describe()}: data_keys[{key!r}] needs dim, or shape, but is {opts!r}")
            if shape is None:
                shape = (None,) if sparse else (None, dim)
            dtype = opts.get("dtype", "int32" if sparse else "float32")
            self._kinds[key] = {"dim": dim or 1, "sparse": sparse, "shape": tuple(shape), "dtype": dtype}
        self.num_outputs = {key: (kind["dim"], len(kind["shape"])) for key, kind in self._kinds.items()}
        self.num_inputs = self._kinds["data"]["dim"] if "data" in self._kinds else 0
        self._tags: Sequence[str] | None = None
        self._order: Sequence[int] | None = None

    def init_seq_order(
        self, epoch: int | None = None, seq_list: Sequence[str] | None = None, seq_order: Sequence[int] | None = None
    ) -> bool:
        """Starts an epoch, with the given sequences, or without an end."""
        super().init_seq_order(epoch=epoch, seq_list=seq_list, seq_order=seq_order)
        self._tags, self._order = seq_list, seq_order
        return True

    @property
    def num_seqs(self) -> int:
        """
        :return: infinite without a given list
        """
        for given in (self._tags, self._order):
            if given is not None:
                return len(given)
        return 0 if self.epoch is None else math.inf  # type: ignore[return-value]  # there is no infinite int

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: infinite
        """
        return math.inf  # type: ignore[return-value]  # there is no infinite int

    def get_current_seq_order(self) -> Sequence[int]:
        """
        :return: as given
        """
        if self._order is None:
            raise OptionalNotImplementedError(f"{self.describe()} has no corpus")
        return self._order

    def have_corpus_seq_idx(self) -> bool:
        """
        :return: whether corpus indices were given
        """
        return self._order is not None

    def get_corpus_seq_idx(self, seq_idx: int) -> int:
        """
        :return: as given
        """
        return int(self.get_current_seq_order()[seq_idx])

    def supports_sharding(self) -> bool:
        """
        :return: True
        """
        return True

    def get_data_keys(self) -> list[str]:
        """
        :return: as given
        """
        return list(self._kinds)

    def get_target_list(self) -> list[str]:
        """
        :return: all but "data"
        """
        return [key for key in self._kinds if key != "data"]

    def is_data_sparse(self, key: str) -> bool:
        """
        :return: as given
        """
        return self._kinds[key]["sparse"]

    def get_data_dtype(self, key: str) -> str:
        """
        :return: as given
        """
        return self._kinds[key]["dtype"]

    def get_data_shape(self, key: str) -> list[int | None]:
        """
        :return: as given, without time
        """
        shape = self._kinds[key]["shape"]
        return list(shape[1:] if shape[:1] == (None,) else shape)

    def is_cached(self, start: int, end: int) -> bool:
        """
        :return: True, there is nothing to load
        """
        return True

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: as given
        """
        if self._tags is not None:
            return self._tags[seq_idx]
        return f"seq-{seq_idx if self._order is None else self._order[seq_idx]}"

    def get_data(self, seq_idx: int, key: str) -> numpy.ndarray:
        """
        :return: zeros, or empty strings
        """
        kind = self._kinds[key]
        dtype = "U1" if kind["dtype"] == "string" else kind["dtype"]
        return numpy.zeros([1 if n is None else n for n in kind["shape"]], dtype=dtype)

    def get_seq_length(self, seq_idx: int) -> NumbersDict:
        """
        :return: size of the first axis
        """
        return NumbersDict({key: _len(kind["shape"]) for key, kind in self._kinds.items()})


def _len(shape: Sequence[int | None]) -> int:
    return (1 if shape[0] is None else shape[0]) if shape else 1
