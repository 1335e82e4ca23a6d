"""HDF files with an array a sequence, inputs and maybe outputs, all real numbers."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import h5py
import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import file_not_found

from .bundle_file import BundleFile
from .corpus import CorpusDataset
from .data_dims import convert_data_dims, sliding_window
from .normalization_data import NormalizationData
from .seq import DatasetSeq


class StereoHdfDataset(CorpusDataset):
    """A file has a group "inputs", and maybe one "outputs", with datasets "0", "1", ..., each [time, dim].

    Keys: "data" float32 [time, dim]; "classes", the outputs, float32 [time, dim], or with one column int32 [time].
    Tags: ``seq-<number in the corpus>``.
    """

    def __init__(
        self,
        hdfFile: str,
        num_outputs: Any = None,
        normalizationFile: str | None = None,
        flag_normalizeInputs: bool = True,
        flag_normalizeTargets: bool = True,
        **kwargs: Any,
    ):
        """
        :param hdfFile: HDF file, or, ``.bundle``, a text file with the name of an HDF file a line
        :param num_outputs: None: as in the file; number of classes
        :param normalizationFile: see :class:`~returnn.datasets.normalization_data.NormalizationData`
        :param flag_normalizeInputs: subtract the mean, divide by the standard deviation of this file
        :param flag_normalizeTargets: the same for outputs of more than one column
        """
        super().__init__(**kwargs)
        self.hdfFile = hdfFile
        self._num_outputs = num_outputs
        self.normalizationFile = normalizationFile
        self.flag_normalizeInputs = flag_normalizeInputs
        self.flag_normalizeTargets = flag_normalizeTargets
        self._normalization = NormalizationData(normalizationFile) if normalizationFile else None
        self._names = BundleFile(hdfFile).dataset_file_paths if hdfFile.endswith(".bundle") else [hdfFile]
        self._files: list[h5py.File] = []
        self._places: list[tuple[int, str]] = []
        with self._open_file(self._names[0]) as file:
            self._set_kinds(file)

    def _open_file(self, name: str) -> h5py.File:
        if not os.path.exists(name):
            raise UserError(f"{self.describe()}: {file_not_found('HDF file', name)}")
        try:
            return h5py.File(name, "r")
        except OSError as exc:
            raise UserError(f"{self.describe()}: cannot read HDF file {name!r}: {exc}") from exc

    def _set_kinds(self, file: h5py.File) -> None:
        if not file.get("inputs"):
            raise UserError(f"{self.describe()}: HDF file {file.filename!r} has no group 'inputs' with sequences")
        first = next(iter(file["inputs"]))
        self.num_inputs = file["inputs"][first].shape[1] * self._frames_side_by_side()
        self.num_outputs = {"data": (self.num_inputs, 2)}
        if "outputs" in file:
            dim = file["outputs"][first].shape[1]
            if self._num_outputs is not None:
                given = convert_data_dims(self._num_outputs)["classes"]
                self.num_outputs["classes"] = (given[0], 1 if dim == 1 else 2)
            elif dim == 1:
                raise ConfigError(
                    f"{self.describe()}: outputs of {file.filename!r} are classes (they have one column);"
                    " set num_outputs, the number of classes"
                )
            else:
                self.num_outputs["classes"] = (dim, 2)
            if dim > 1 and self.num_outputs["classes"][0] != dim:
                raise ConfigError(f"{self.describe()}: num_outputs is {self._num_outputs}, but there are {dim} outputs")

    def _frames_side_by_side(self) -> int:
        return 1

    def _open_corpus(self) -> None:
        self._files = [self._open_file(name) for name in self._names]
        self._places = [(i, name) for i, file in enumerate(self._files) for name in sorted(file["inputs"], key=int)]

    def _close_corpus(self) -> None:
        for file in self._files:
            file.close()
        self._files = []

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: by corpus seq idx
        """
        self._ensure_open()
        return [f"seq-{i}" for i in range(len(self._places))]

    def get_total_num_seqs(self, *, fast: bool = False) -> int:
        """
        :return: size of the corpus
        """
        self._ensure_open()
        return len(self._places)

    def get_tag(self, seq_idx: int) -> str:
        """
        :return: name of the sequence
        """
        return f"seq-{self.get_corpus_seq_idx(seq_idx)}"

    def _get_len_for_order(self, corpus_seq_idx: int) -> int:
        file_idx, name = self._places[corpus_seq_idx]
        return self._files[file_idx]["inputs"][name].shape[0]

    def _read_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        file_idx, name = self._places[corpus_seq_idx]
        file = self._files[file_idx]
        norm = self._normalization
        inputs = file["inputs"][name][...]
        if norm is not None and self.flag_normalizeInputs:
            inputs = _normalized(inputs, norm.inputMean, norm.inputVariance)
        features = {"data": self._with_context(inputs.astype("float32"))}
        if "classes" in (self.num_outputs or ()):
            if name not in file.get("outputs", ()):
                raise UserError(
                    f"{self.describe()}: {self._names[file_idx]!r} has inputs {name!r}, but no such outputs"
                )
            outputs = file["outputs"][name][...]
            if outputs.shape[1] == 1:
                features["classes"] = outputs[:, 0].astype("int32")
            else:
                if norm is not None and self.flag_normalizeTargets:
                    outputs = _normalized(outputs, norm.outputMean, norm.outputVariance)
                features["classes"] = outputs.astype("float32")
        return DatasetSeq(corpus_seq_idx, features, seq_tag=f"seq-{corpus_seq_idx}")

    def _with_context(self, inputs: numpy.ndarray) -> numpy.ndarray:
        return inputs

    def get_data_keys(self) -> list[str]:
        """
        :return: known without a sequence
        """
        return list(self.num_outputs or ())

    def get_data_dtype(self, key: str) -> str:
        """
        :return: known without a sequence
        """
        return "int32" if self.is_data_sparse(key) else "float32"


def _normalized(frames: numpy.ndarray, mean: numpy.ndarray | None, variance: numpy.ndarray | None) -> numpy.ndarray:
    if mean is None or variance is None:
        return frames
    return (frames - mean) / numpy.sqrt(variance)


class DatasetWithTimeContext(StereoHdfDataset):
    """ "data" has the frames around each one beside it: t - tau, ..., t + tau, zeros outside."""

    def __init__(self, hdfFile: str, tau: int = 1, **kwargs: Any):
        """
        :param hdfFile: see StereoHdfDataset
        :param tau: frames to each side
        """
        if tau < 1:
            raise ConfigError(f"DatasetWithTimeContext: tau must be 1 at least, but is {tau!r}")
        self.tau = tau
        super().__init__(hdfFile=hdfFile, **kwargs)

    def _frames_side_by_side(self) -> int:
        return 2 * self.tau + 1

    def _with_context(self, inputs: numpy.ndarray) -> numpy.ndarray:
        return sliding_window(inputs, 2 * self.tau + 1)
