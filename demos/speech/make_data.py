#!/usr/bin/env python3
"""Lets eSpeak NG say rows of digits, and writes them as data for OggZipDataset: train.zip, dev.zip, eval.zip.

A sentence is 3 to 7 of the words zero to nine. It is said in one of 8 accents of English by one of about 100 voices,
with its own speed and pitch. Each voice is in one of the three files only. The same arguments give the same sentences,
spoken in the same way.
"""

from __future__ import annotations

import argparse
import ctypes
import io
import os
import sys
import zipfile
from typing import Any

import numpy

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
LENGTHS = range(3, 8)
ACCENTS = [
    "en-us",
    "en-us-nyc",
    "en",
    "en-gb-x-rp",
    "en-gb-scotland",
    "en-gb-x-gbclan",
    "en-gb-x-gbcwmd",
    "en-029",
]
VOICES_TO_LEAVE_OUT = {"fast"}  # a test of eSpeak NG: it has one speed only
NUM_VOICES = {"dev": 12, "eval": 18}  # train has the others
NUM_SENTENCES = {"train": 2000, "dev": 200, "eval": 500}
SPEEDS = range(120, 221)  # words per minute
PITCHES = range(25, 76)  # of 0 to 99
SAMPLE_RATE = 16000


class _Voice(ctypes.Structure):
    """What the C library says of a voice: ``espeak_VOICE``."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("languages", ctypes.c_char_p),
        ("identifier", ctypes.c_char_p),
        ("gender", ctypes.c_ubyte),
        ("age", ctypes.c_ubyte),
        ("variant", ctypes.c_ubyte),
        ("xx1", ctypes.c_ubyte),
        ("score", ctypes.c_int),
        ("spare", ctypes.c_void_p),
    )


class Speaker:
    """eSpeak NG, from the library that the package espeakng-loader brings along."""

    _callback_type = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(ctypes.c_short), ctypes.c_int, ctypes.c_void_p)

    def __init__(self) -> None:
        try:
            import espeakng_loader  # noqa: PLC0415 - an optional package
        except ImportError:
            sys.exit(_missing("espeakng-loader, to speak"))
        self._lib = ctypes.CDLL(espeakng_loader.get_library_path())
        synchronous, buffer_ms = 2, 0
        self.sample_rate = self._lib.espeak_Initialize(
            synchronous, buffer_ms, espeakng_loader.get_data_path().encode(), 0
        )
        if self.sample_rate <= 0:
            sys.exit(f"make_data.py: eSpeak NG does not start with its data in {espeakng_loader.get_data_path()}")
        self._chunks: list[numpy.ndarray] = []
        self._callback = self._callback_type(self._take)  # the library does not keep it alive
        self._lib.espeak_SetSynthCallback(self._callback)

    def _take(self, wav: Any, num_samples: int, _events: Any) -> int:
        if wav and num_samples:
            self._chunks.append(numpy.ctypeslib.as_array(wav, (num_samples,)).copy())
        return 0  # go on

    def voices(self) -> list[str]:
        """:return: names of the variants that each language can be spoken in, sorted"""
        list_voices = self._lib.espeak_ListVoices
        list_voices.restype = ctypes.POINTER(ctypes.POINTER(_Voice))
        found = list_voices(ctypes.byref(_Voice(languages=b"variant")))
        names = []
        while found[len(names)]:
            names.append(found[len(names)].contents.identifier.decode().removeprefix("!v/"))
        return sorted(set(names) - VOICES_TO_LEAVE_OUT)

    def say(self, text: str, *, voice: str, speed: int, pitch: int) -> numpy.ndarray:
        """
        :param text: what to say
        :param voice: accent and variant, such as "en-us+f3"
        :param speed: in words per minute
        :param pitch: 0 to 99
        :return: samples [N] float64, in -1..1, at ``SAMPLE_RATE``
        """
        if self._lib.espeak_SetVoiceByName(voice.encode()):
            sys.exit(f"make_data.py: eSpeak NG has no voice {voice!r}")
        rate_param, pitch_param, utf8 = 1, 3, 1
        self._lib.espeak_SetParameter(rate_param, speed, 0)
        self._lib.espeak_SetParameter(pitch_param, pitch, 0)
        self._chunks.clear()
        data = text.encode()
        self._lib.espeak_Synth(data, ctypes.c_size_t(len(data) + 1), 0, 0, 0, utf8, None, None)
        self._lib.espeak_Synchronize()
        return resample(numpy.concatenate(self._chunks) / 2**15, self.sample_rate, SAMPLE_RATE)


def resample(samples: numpy.ndarray, old_rate: int, new_rate: int) -> numpy.ndarray:
    """
    Leaves out the frequencies that the new rate cannot have.

    :param samples: [N]
    :param old_rate: in Hz
    :param new_rate: in Hz, lower
    :return: [N * new_rate / old_rate], rounded up to the next number that comes out even
    """
    divisor = numpy.gcd(old_rate, new_rate)
    up, down = new_rate // divisor, old_rate // divisor
    blocks = -(-len(samples) // down)
    spectrum = numpy.fft.rfft(samples, n=blocks * down)
    num = blocks * up
    return numpy.fft.irfft(spectrum[: num // 2 + 1], n=num) * up / down


def split_voices(voices: list[str]) -> dict[str, list[str]]:
    """
    :param voices: of all
    :return: name of the file -> its voices
    """
    order = [voices[i] for i in numpy.random.RandomState(1).permutation(len(voices))]
    res = {}
    for name, num in NUM_VOICES.items():
        res[name], order = order[:num], order[num:]
    return {"train": order, **res}


def import_soundfile() -> Any:
    """:return: the module that writes audio"""
    try:
        import soundfile  # noqa: PLC0415 - an optional package
    except ImportError:
        sys.exit(_missing("soundfile, to write audio"))
    return soundfile


def write_zip(filename: str, speaker: Speaker, voices: list[str], num_sentences: int, *, seed: int) -> float:
    """
    :param filename: replaced if it exists
    :param speaker: who speaks
    :param voices: all are used about equally often
    :param num_sentences: how many
    :param seed: of the random choices
    :return: length of the audio, in seconds
    """
    random = numpy.random.RandomState(seed)
    name = os.path.basename(filename).removesuffix(".zip")
    soundfile = import_soundfile()
    entries = []
    with zipfile.ZipFile(filename + ".tmp", "w", zipfile.ZIP_STORED) as file:
        for i in range(num_sentences):
            text = " ".join(random.choice(WORDS, size=random.choice(LENGTHS)))
            voice = f"{random.choice(ACCENTS)}+{voices[i % len(voices)]}"
            samples = speaker.say(
                text, voice=voice, speed=int(random.choice(SPEEDS)), pitch=int(random.choice(PITCHES))
            )
            samples /= max(numpy.abs(samples).max(), 1.0)  # what is left out above may have kept it within -1..1
            audio = io.BytesIO()
            soundfile.write(audio, samples, SAMPLE_RATE, format="OGG", subtype="VORBIS")
            entry = {"text": text, "duration": len(samples) / SAMPLE_RATE, "file": f"{i:04}.ogg", "speaker_name": voice}
            entries.append({**entry, "seq_name": f"{name}-{i:04}"})
            file.writestr(f"{name}/{entry['file']}", audio.getvalue())
        lines = "".join(f"{entry!r},\n" for entry in entries)
        file.writestr(f"{name}.txt", f"[\n{lines}]\n", compress_type=zipfile.ZIP_DEFLATED)
    os.replace(filename + ".tmp", filename)
    return sum(entry["duration"] for entry in entries)


def _missing(package: str) -> str:
    return f"make_data.py needs {package}. Install it: pip install -e '.[demo]'"


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", default="speech", help="for the files; default: %(default)s")
    for name, num in NUM_SENTENCES.items():
        parser.add_argument(f"--{name}", type=int, default=num, help=f"sentences of {name}; default: %(default)s")
    args = parser.parse_args()
    speaker = Speaker()
    import_soundfile()  # before anything is written
    os.makedirs(args.folder, exist_ok=True)
    for seed, (name, voices) in enumerate(split_voices(speaker.voices()).items()):
        filename, num = os.path.join(args.folder, name + ".zip"), getattr(args, name)
        seconds = write_zip(filename, speaker, voices, num, seed=seed)
        print(f"{filename}: {num} sentences, {seconds / 60:.0f} minutes, of {len(voices)} voices", flush=True)


if __name__ == "__main__":
    main()
