"""One sequence, with the arrays of all its data keys."""

from __future__ import annotations

from collections.abc import Mapping

import numpy

from returnn.util.numbers_dict import NumbersDict


class DatasetSeq:
    """A sequence as a dataset returns it."""

    def __init__(
        self,
        seq_idx: int,
        features: numpy.ndarray | Mapping[str, numpy.ndarray],
        *,
        targets: numpy.ndarray | Mapping[str, numpy.ndarray] | None = None,
        seq_tag: str | None = None,
        complete_frac: float | None = None,
    ):
        """
        :param seq_idx: position in the epoch (or in the corpus, where a corpus index was asked for)
        :param features: key -> [time, ...]; a plain array has the key "data"
        :param targets: more of them; a plain array has the key "classes"
        :param seq_tag: None: ``seq-<seq_idx>``
        :param complete_frac: which part of the epoch is over with this sequence; None: unknown
        :raises TypeError: a value is not a numpy array
        """
        self.seq_idx = seq_idx
        self.seq_tag = f"seq-{seq_idx}" if seq_tag is None else seq_tag
        self.complete_frac = complete_frac
        self.features: dict[str, numpy.ndarray] = {}
        for values, key in ((features, "data"), (targets, "classes")):
            if values is not None:
                self.features.update(values if isinstance(values, Mapping) else {key: values})
        for key, value in self.features.items():
            if not isinstance(value, numpy.ndarray):
                raise TypeError(
                    f"DatasetSeq {self.seq_tag!r}: the value of data key {key!r} must be a numpy array,"
                    f" but is {type(value).__name__}"
                )
        self.num_frames = NumbersDict({key: len(v) if v.ndim else 1 for key, v in self.features.items()})

    def get_data(self, key: str) -> numpy.ndarray:
        """
        :return: [time, ...]
        """
        return self.features[key]

    def get_data_keys(self) -> list[str]:
        """
        :return: the keys there are
        """
        return list(self.features)

    def __repr__(self) -> str:
        return f"<DatasetSeq {self.seq_idx} tag={self.seq_tag!r} num_frames={self.num_frames.dict}>"
