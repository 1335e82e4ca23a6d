"""From a Bliss corpus to the zip file that OggZipDataset reads."""

from __future__ import annotations

import argparse
import io
import os
import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Sequence
from typing import Any

from returnn.datasets.bliss import Segment, iter_segments
from returnn.datasets.seq_lists import load_seq_tags
from returnn.datasets.util.audio_augment import resample
from returnn.datasets.util.audio_file import read_audio, write_ogg
from returnn.tools.common import run_command
from returnn.util.errors import UserError
from returnn.util.files import remove_file, rename_durable, temp_path
from returnn.util.suggest import file_not_found


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bliss_xml", help="Bliss corpus (XML), may be packed (.gz)")
    parser.add_argument("--output", required=True, metavar="NAME.zip", help="appears when it is whole")
    parser.add_argument("--subset_segment_file", help="only these segments, a name a line")
    parser.add_argument("--no_ogg", action="store_true", help="no audio, only text")
    parser.add_argument(
        "--no_conversion", action="store_true", help="files of the recordings as they are; a recording is one segment"
    )
    parser.add_argument("--no_cleanup", action="store_true", help="keep the temporary folder")
    parser.add_argument("--sprint_cache", help="not supported")
    parser.add_argument("--raw_sample_rate", type=int, default=8000, help="of --sprint_cache")
    parser.add_argument("--feat_sample_rate", type=int, default=100, help="of --sprint_cache")
    parser.add_argument("--ffmpeg_loglevel", default="info", help="see ffmpeg -loglevel; default info")
    parser.add_argument("--ffmpeg_acodec", help="see ffmpeg -acodec")
    parser.add_argument(
        "--ffmpeg_resample", type=int, default=0, metavar="RATE", help="samples a second; 0: as they are"
    )
    parser.add_argument("--number_of_channels", type=int, default=0, help="0: as they are")
    args = parser.parse_args(argv)
    run_command(lambda: convert(args))


def convert(args: argparse.Namespace) -> None:
    """
    :param args: see :func:`main`
    """
    if args.sprint_cache:
        raise UserError("--sprint_cache is not supported: give a corpus whose recordings are audio files")
    if not args.output.endswith(".zip"):
        raise UserError(f"--output must end in .zip, but is {args.output!r}")
    allowed = load_seq_tags(args.subset_segment_file) if args.subset_segment_file else None
    name = os.path.basename(args.output).removesuffix(".zip")
    temp = temp_path(args.output)
    folder = tempfile.mkdtemp(prefix="bliss-to-ogg-zip-")
    try:
        source = None if args.no_ogg else _AudioSource(args, folder)
        with zipfile.ZipFile(temp, "x") as archive:
            entries = []
            for segment in iter_segments(args.bliss_xml):
                if allowed is None or segment.name in allowed:
                    entries.append(_add(archive, name, segment, source))
            if not entries:
                raise UserError(f"{args.bliss_xml}: there is no segment, or none of {args.subset_segment_file}")
            lines = ",\n".join(map(repr, entries))
            archive.writestr(f"{name}.txt", f"[\n{lines}\n]\n", compress_type=zipfile.ZIP_DEFLATED)
        rename_durable(temp, args.output)
        print(f"{args.output}: {len(entries)} segments, {sum(e['duration'] for e in entries) / 3600:.2f} hours")
    finally:
        remove_file(temp)
        if args.no_cleanup:
            print(f"Temporary files: {folder}")
        else:
            shutil.rmtree(folder)


def _add(archive: zipfile.ZipFile, name: str, segment: Segment, source: _AudioSource | None) -> dict[str, Any]:
    """:return: the entry, whose audio is in the archive then"""
    entry = {"text": segment.orth or "", "speaker_name": segment.speaker}
    if source is None:
        return {**entry, "seq_name": segment.name, "duration": segment.duration}
    content, ending, duration = source.get(segment)
    end = segment.start + duration
    file = f"{segment.recording}/{segment.start:.3f}_{end:.3f}{ending}"
    if f"{name}/{file}" in archive.NameToInfo:
        raise UserError(f"segment {segment.name!r}: another one has the same recording name, start and end, {file!r}")
    archive.writestr(f"{name}/{file}", content)
    return {**entry, "file": file, "seq_name": segment.name, "duration": duration}


class _AudioSource:
    """Audio of segments. Of neighbouring segments of a recording, its file is read once."""

    def __init__(self, args: argparse.Namespace, folder: str):
        self._args = args
        self._folder = folder
        self._corpus_folder = os.path.dirname(os.path.abspath(args.bliss_xml))
        self._ffmpeg = shutil.which("ffmpeg")
        self._recent: tuple[str, Any, int] = ("", None, 0)
        if args.ffmpeg_acodec and not self._ffmpeg and not args.no_conversion:
            raise UserError("--ffmpeg_acodec needs the program ffmpeg, which is not there")

    def get(self, segment: Segment) -> tuple[bytes, str, float]:
        """
        :return: content of a file, its ending, duration in seconds
        """
        if not segment.audio:
            raise UserError(
                f"segment {segment.name!r}: its recording has no attribute audio. Use --no_ogg for text only."
            )
        path = os.path.join(self._corpus_folder, segment.audio)
        if not os.path.exists(path):
            raise UserError(f"segment {segment.name!r}: {file_not_found('audio file', segment.audio)}")
        if self._args.no_conversion:
            if segment.start:
                raise UserError(
                    f"segment {segment.name!r} starts within its recording, so --no_conversion is not possible"
                )
            with open(path, "rb") as file:
                content = file.read()
            audio, sample_rate = self._read(path)
            return content, os.path.splitext(path)[1], len(audio) / sample_rate
        if self._ffmpeg:
            return self._by_ffmpeg(self._ffmpeg, path, segment)
        return self._by_soundfile(path, segment)

    def _read(self, path: str) -> tuple[Any, int]:
        if self._recent[0] != path:
            self._recent = (path, *read_audio(path, path))
        return self._recent[1:]

    def _by_ffmpeg(self, ffmpeg: str, path: str, segment: Segment) -> tuple[bytes, str, float]:
        args, out = self._args, os.path.join(self._folder, "segment.ogg")
        command = [ffmpeg, "-hide_banner", "-loglevel", args.ffmpeg_loglevel, "-nostdin", "-y"]
        command += ["-ss", str(segment.start)]
        if segment.end != float("inf"):
            command += ["-t", str(segment.duration)]
        command += ["-i", path, "-vn"]
        command += ["-acodec", args.ffmpeg_acodec] if args.ffmpeg_acodec else []
        command += ["-ar", str(args.ffmpeg_resample)] if args.ffmpeg_resample else []
        command += ["-ac", str(args.number_of_channels)] if args.number_of_channels else []
        proc = subprocess.run([*command, out])
        if proc.returncode:
            raise UserError(f"segment {segment.name!r}: ffmpeg failed with exit code {proc.returncode}")
        with open(out, "rb") as file:
            content = file.read()
        audio, sample_rate = read_audio(content, f"that ffmpeg made of {segment.name!r}")
        return content, ".ogg", len(audio) / sample_rate

    def _by_soundfile(self, path: str, segment: Segment) -> tuple[bytes, str, float]:
        audio, sample_rate = self._read(path)
        start = round(segment.start * sample_rate)
        end = len(audio) if segment.end == float("inf") else round(segment.end * sample_rate)
        if not start < end <= len(audio) + sample_rate // 10:
            raise UserError(
                f"segment {segment.name!r}: from {segment.start} to {segment.end} s, but {path!r} has"
                f" {len(audio) / sample_rate:.3f} s"
            )
        audio = audio[start:end]
        duration = len(audio) / sample_rate
        if self._args.number_of_channels == 1 and audio.ndim == 2:
            audio = audio.mean(axis=1)
        elif self._args.number_of_channels not in (0, 1 if audio.ndim == 1 else audio.shape[1]):
            raise UserError(f"--number_of_channels {self._args.number_of_channels} needs ffmpeg, which is not there")
        if self._args.ffmpeg_resample:
            audio = resample(audio, round(duration * self._args.ffmpeg_resample))
            sample_rate = self._args.ffmpeg_resample
        stream = io.BytesIO()
        write_ogg(stream, audio, sample_rate)
        return stream.getvalue(), ".ogg", duration
