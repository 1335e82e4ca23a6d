"""Audio files, by the package soundfile."""

from __future__ import annotations

import io
from typing import IO, Any

import numpy

from returnn.util.errors import UserError


def _soundfile() -> Any:
    try:
        import soundfile  # noqa: PLC0415  # optional
    except (ImportError, OSError) as exc:  # OSError: its C library
        raise UserError(f"Audio needs the package soundfile: pip install returnn[audio] ({exc})") from exc
    return soundfile


def read_audio(source: bytes | str, name: str) -> tuple[numpy.ndarray, int]:
    """
    :param source: content of a file (Ogg, FLAC, wav, ...), or its name
    :param name: of the file, for messages
    :return: samples in [-1, 1], [time] if mono, else [time, channels], float64; sample rate
    :raises UserError: it cannot be read to its end
    """
    soundfile = _soundfile()
    try:
        with soundfile.SoundFile(io.BytesIO(source) if isinstance(source, bytes) else source) as file:
            num_samples = file.frames  # as the header says
            samples = file.read(dtype="float64")
            sample_rate = file.samplerate
    except (OSError, RuntimeError, TypeError) as exc:
        size = f" ({len(source)} bytes)" if isinstance(source, bytes) else ""
        raise UserError(f"Cannot read the audio file {name}{size}: {exc}") from exc
    if num_samples != len(samples):
        raise UserError(
            f"The audio file {name} is truncated: {len(samples)} of {num_samples} samples are there."
            " Get it again, or leave it out."
        )
    return samples, sample_rate


def write_ogg(stream: IO[bytes], audio: numpy.ndarray, sample_rate: int) -> None:
    """
    :param stream: where to
    :param audio: [time], or [time, channels], in [-1, 1]
    :param sample_rate: of ``audio``
    """
    soundfile = _soundfile()
    with soundfile.SoundFile(
        stream,
        "w",
        samplerate=sample_rate,
        channels=1 if audio.ndim == 1 else audio.shape[1],
        format="OGG",
        subtype="VORBIS",
    ) as file:
        for start in range(0, len(audio), 2**16):  # its encoder fails for very long blocks
            file.write(audio[start : start + 2**16])
