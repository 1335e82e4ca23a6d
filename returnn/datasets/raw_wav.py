"""Samples of wav files."""

from __future__ import annotations

import os
import wave
from collections.abc import Sequence
from typing import Any

import numpy

from returnn.util.errors import ConfigError, UserError
from returnn.util.suggest import file_not_found

from .corpus import CorpusDataset
from .seq import DatasetSeq


class RawWavDataset(CorpusDataset):
    """Frames of samples of wav files with one channel. "data": float32 [time, frameLength], whole numbers as in the
    file; the last frame ends with zeros. Tags: names of the files. Length for orders: samples.
    """

    def __init__(self, listFile: str, frameLength: int, frameShift: int, num_outputs: Any = None, **kwargs: Any):
        """
        :param listFile: text file with the name of a wav file a line
        :param frameLength: samples of a frame
        :param frameShift: samples from one frame to the next
        :param num_outputs: is ignored, there are no targets
        """
        super().__init__(**kwargs)
        if frameLength < 1 or frameShift < 1:
            raise ConfigError(f"{self.describe()}: frameLength and frameShift must be 1 at least")
        self.listFile = listFile
        self.frameLength = frameLength
        self.frameShift = frameShift
        self._num_outputs = num_outputs
        self.num_inputs = frameLength
        self.num_outputs = {"data": (frameLength, 2)}
        self._files: list[str] = []

    def _open_corpus(self) -> None:
        if not os.path.exists(self.listFile):
            raise UserError(f"{self.describe()}: {file_not_found('listFile', self.listFile)}")
        with open(self.listFile, encoding="utf8") as file:
            self._files = [line.strip() for line in file if line.strip()]
        if not self._files:
            raise UserError(f"{self.describe()}: listFile {self.listFile!r} is empty")

    def get_all_tags(self) -> Sequence[str]:
        """
        :return: names of the files
        """
        self._ensure_open()
        return self._files

    def _get_len_for_order(self, corpus_seq_idx: int) -> int:
        with self._open(self._files[corpus_seq_idx]) as file:
            return file.getnframes()

    def _open(self, filename: str) -> wave.Wave_read:
        try:
            return wave.open(filename, "rb")
        except FileNotFoundError:
            raise UserError(f"{self.describe()}: {file_not_found('wav file', filename)}") from None
        except (wave.Error, EOFError, OSError) as exc:
            raise UserError(f"{self.describe()}: cannot read wav file {filename!r}: {exc}") from exc

    def _read_corpus_seq(self, corpus_seq_idx: int) -> DatasetSeq:
        filename = self._files[corpus_seq_idx]
        with self._open(filename) as file:
            width, num_samples = file.getsampwidth(), file.getnframes()
            if file.getnchannels() != 1 or width not in (2, 4):
                raise UserError(
                    f"{self.describe()}: {filename!r} has {file.getnchannels()} channel(s) of {8 * width} bits,"
                    " expected one of 16 or 32 bits"
                )
            samples = numpy.frombuffer(file.readframes(num_samples), dtype=f"<i{width}").astype("float32")
        if len(samples) != num_samples:
            raise UserError(f"{self.describe()}: {filename!r} is truncated: {len(samples)} of {num_samples} samples")
        num_frames = 1 + max(-(-(num_samples - self.frameLength) // self.frameShift), 0)
        missing = (num_frames - 1) * self.frameShift + self.frameLength - num_samples
        padded = numpy.pad(samples, (0, missing))
        frames = numpy.lib.stride_tricks.sliding_window_view(padded, self.frameLength)[:: self.frameShift]
        return DatasetSeq(corpus_seq_idx, numpy.array(frames), seq_tag=filename)

    def get_data_keys(self) -> list[str]:
        """
        :return: known without a sequence
        """
        return ["data"]

    def get_target_list(self) -> list[str]:
        """
        :return: there are none
        """
        return []

    def get_data_dtype(self, key: str) -> str:
        """
        :return: known without a sequence
        """
        return "float32"
