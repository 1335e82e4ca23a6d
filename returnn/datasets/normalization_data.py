"""Mean and variance of all frames of HDF files, kept in a file of their own."""

from __future__ import annotations

import os
from typing import Any

import h5py
import numpy

from returnn.util.errors import UserError
from returnn.util.files import rename_durable, temp_path
from returnn.util.suggest import file_not_found

from .bundle_file import BundleFile

_moments = ("mean", "meanOfSquares", "variance", "totalNumberOfFrames")


class NormalizationData:
    """Groups "inputs" and maybe "outputs", each with mean, meanOfSquares, variance [dim] and totalNumberOfFrames."""

    def __init__(self, filename: str):
        """
        :param filename: as :meth:`create_normalization_file` writes it
        """
        if not os.path.exists(filename):
            raise UserError(file_not_found("normalization file", filename))
        self.filename = filename
        try:
            with h5py.File(filename, "r") as file:
                self._groups = {
                    name: {key: numpy.asarray(value) for key, value in file[name].items()}
                    for name in ("inputs", "outputs")
                    if name in file
                }
        except OSError as exc:
            raise UserError(f"Cannot read normalization file {filename!r}: {exc}") from exc

    def _get(self, group: str, key: str) -> numpy.ndarray | None:
        return self._groups.get(group, {}).get(key)

    @property
    def inputMean(self) -> numpy.ndarray | None:
        """
        :return: [dim]
        """
        return self._get("inputs", "mean")

    @property
    def inputVariance(self) -> numpy.ndarray | None:
        """
        :return: [dim]
        """
        return self._get("inputs", "variance")

    @property
    def outputMean(self) -> numpy.ndarray | None:
        """
        :return: [dim]; None: there are no outputs
        """
        return self._get("outputs", "mean")

    @property
    def outputVariance(self) -> numpy.ndarray | None:
        """
        :return: [dim]; None: there are no outputs
        """
        return self._get("outputs", "variance")

    @staticmethod
    def create_normalization_file(
        bundle_file_path: str, output_file_path: str, dtype: Any = numpy.float64, flag_include_outputs: bool = True
    ) -> None:
        """
        :param bundle_file_path: see :class:`BundleFile`; of HDF files as StereoHdfDataset reads them
        :param output_file_path: appears when it is whole
        :param dtype: of the sums
        :param flag_include_outputs: outputs as well, where there are some
        """
        sums = {name: _Sums(dtype) for name in (("inputs", "outputs") if flag_include_outputs else ("inputs",))}
        for path in BundleFile(bundle_file_path).dataset_file_paths:
            if not os.path.exists(path):
                raise UserError(f"{bundle_file_path}: {file_not_found('HDF file', path)}")
            with h5py.File(path, "r") as file:
                for name, group_sums in sums.items():
                    for seq in file[name].values() if name in file else ():
                        group_sums.add(seq[...], f"{seq.name} of {path}")
        if not sums["inputs"].num_frames:
            raise UserError(f"{bundle_file_path}: there is no frame of inputs")
        temp = temp_path(output_file_path)
        try:
            with h5py.File(temp, "w") as file:
                for name, group_sums in sums.items():
                    if group_sums.num_frames:
                        group_sums.write(file.create_group(name))
            rename_durable(temp, output_file_path)
        finally:
            if os.path.exists(temp):
                os.remove(temp)


class _Sums:
    """Of frames and their squares."""

    def __init__(self, dtype: Any):
        self._dtype = dtype
        self.num_frames = 0
        self._sum: Any = 0
        self._sum_of_squares: Any = 0

    def add(self, frames: numpy.ndarray, where: str) -> None:
        """
        :param frames: [time, dim]
        :param where: for messages
        """
        if self.num_frames and frames.shape[1:] != self._sum.shape:
            raise UserError(f"{where} has frames of shape {frames.shape[1:]}, those before had {self._sum.shape}")
        self.num_frames += len(frames)
        frames = frames.astype(self._dtype)
        self._sum = self._sum + frames.sum(axis=0)
        self._sum_of_squares = self._sum_of_squares + numpy.square(frames).sum(axis=0)

    def write(self, group: h5py.Group) -> None:
        """Writes the moments."""
        mean, mean_of_squares = self._sum / self.num_frames, self._sum_of_squares / self.num_frames
        values = (mean, mean_of_squares, mean_of_squares - mean**2, self.num_frames)
        for name, value in zip(_moments, values, strict=True):
            group.create_dataset(name, data=value)
