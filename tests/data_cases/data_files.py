"""Helpers for the `make_files` of dataset cases: deterministic numbers, HDF files, zips with audio, text."""

import gzip
import io
import pickle
import wave
import zipfile

import h5py
import numpy

lens = [5, 3, 9, 1, 7, 3, 8, 2, 6, 4]


def floats(seed, *shape):
    """:return: float32 array, normal distribution"""
    return numpy.random.RandomState(seed).normal(0.0, 1.0, shape).astype("float32")


def ints(seed, high, *shape):
    """:return: int32 array, values below `high`"""
    return numpy.random.RandomState(seed).randint(0, high, shape).astype("int32")


def write_text(filename, content):
    """Writes text, or bytes; compressed if the name says so."""
    content = content if isinstance(content, bytes) else content.encode("utf8")
    with (gzip.open if filename.endswith(".gz") else open)(filename, "wb") as f:
        f.write(content)


def write_pickle(filename, value):
    """Pickles it; compressed if the name says so."""
    with (gzip.open if filename.endswith(".gz") else open)(filename, "wb") as f:
        pickle.dump(value, f)


def write_hdf(filename, tags, inputs=None, targets=None, dims=None, labels=None, vlen_tags=False):
    """
    Writes the layout that HDFDataset reads, with h5py alone.

    :param str filename:
    :param list[str] tags: one per sequence
    :param list[numpy.ndarray]|None inputs: per sequence [time, ...]
    :param dict[str,list[numpy.ndarray]]|None targets: the same per key
    :param dict[str,int] dims: per sparse key, "inputs" for the inputs
    :param dict[str,list[str]] labels: per target key, "inputs" for the inputs
    :param bool vlen_tags: strings of variable length, else fixed
    """
    targets, dims, labels = targets or {}, dims or {}, labels or {}
    columns = ([inputs] if inputs is not None else []) + [targets[key] for key in sorted(targets)]
    with h5py.File(filename, "w") as f:
        if vlen_tags:
            f.create_dataset("seqTags", data=tags, dtype=h5py.string_dtype())
        else:
            f.create_dataset("seqTags", data=numpy.array([tag.encode("utf8") for tag in tags]))
        seq_lens = [[len(column[i]) for column in columns] for i in range(len(tags))]
        if not targets:
            seq_lens = [x + [0] for x in seq_lens]
        f.create_dataset("seqLengths", data=numpy.array(seq_lens, dtype="int32"))
        if inputs is not None:
            data = numpy.concatenate(inputs)
            f.create_dataset("inputs", data=data)
            f.attrs["inputPattSize"] = dims.get("inputs", data.shape[-1] if data.ndim > 1 else 1)
            f.attrs["numTimesteps"] = len(data)
            if "inputs" in labels:
                f.create_dataset("labels", data=numpy.array([label.encode("utf8") for label in labels["inputs"]]))
        f.attrs["numSeqs"] = len(tags)
        if targets:
            f.create_group("targets/labels")
        for key, seqs in targets.items():
            data = numpy.concatenate(seqs)
            if data.dtype.kind in "OU":
                f.create_dataset("targets/data/" + key, data=data.astype(object), dtype=h5py.string_dtype())
            else:
                f.create_dataset("targets/data/" + key, data=data)
            f.require_group("targets/size").attrs[key] = (
                dims.get(key, data.shape[-1] if data.ndim > 1 else 1),
                data.ndim,
            )
            if key in labels:
                f.create_dataset("targets/labels/" + key, data=numpy.array([x.encode("utf8") for x in labels[key]]))


def simple_hdf(filename, seq_lens=tuple(lens), dim=3, num_classes=5, seed=1, tag="seq-%i", first=0, labels=None):
    """Writes inputs [time, dim] and as many classes, sequences of these lengths."""
    write_hdf(
        filename,
        [tag % (first + i) for i in range(len(seq_lens))],
        [floats(seed + i, n, dim) for i, n in enumerate(seq_lens)],
        {"classes": [ints(seed + i, num_classes, n) for i, n in enumerate(seq_lens)]},
        dims={"classes": num_classes},
        labels={"classes": labels} if labels else None,
    )


def tone(num_samples, seed, rate=16000):
    """:return: samples in (-1, 1), float64: some sine waves and a little noise"""
    rnd = numpy.random.RandomState(seed)
    t = numpy.arange(num_samples) / rate
    x = sum(
        rnd.uniform(0.05, 0.2) * numpy.sin(2 * numpy.pi * freq * t + seed) for freq in rnd.uniform(100, rate / 2.5, 4)
    )
    return x + rnd.uniform(-0.01, 0.01, num_samples)


def wav_bytes(samples, rate=16000):
    """:return: a 16-bit wav file. Samples [time] or [time, channels]."""
    stream = io.BytesIO()
    with wave.open(stream, "wb") as f:
        f.setnchannels(1 if samples.ndim == 1 else samples.shape[1])
        f.setsampwidth(2)
        f.setframerate(rate)
        f.writeframes(numpy.round(samples * 32767).astype("<i2").tobytes())
    return stream.getvalue()


def flac_bytes(samples, rate=16000, format="FLAC"):
    """:return: a compressed audio file. Only this needs soundfile."""
    import soundfile  # noqa: PLC0415  # only where it is needed

    stream = io.BytesIO()
    soundfile.write(stream, samples, rate, format=format)
    return stream.getvalue()


def write_ogg_zip(filename, entries, rate=16000, audio="wav", prefix=True):
    """
    Writes the zip that OggZipDataset reads.

    :param str filename: NAME.zip
    :param list[dict[str]] entries: text, and num_samples or samples; seq_name, file optional
    :param int rate: samples per second
    :param str|None audio: "wav", "flac"; None: no audio
    :param bool prefix: whether audio is in a folder NAME of the zip
    """
    name = filename.split("/")[-1][: -len(".zip")]
    index = []
    with zipfile.ZipFile(filename, "w", compression=zipfile.ZIP_DEFLATED) as z:
        for i, entry in enumerate(entries):
            entry = dict(entry)
            samples = entry.pop("samples", None)
            num_samples = entry.pop("num_samples", 800 + 160 * i)
            if audio:
                samples = tone(num_samples, i, rate) if samples is None else samples
                num_samples = len(samples)
                entry.setdefault("file", "rec%i/seg.%s" % (i, audio))
                content = wav_bytes(samples, rate) if audio == "wav" else flac_bytes(samples, rate, audio.upper())
                z.writestr(name + "/" + entry["file"] if prefix else entry["file"], content)
            entry.setdefault("duration", num_samples / rate)
            index.append(entry)
        z.writestr(name + ".txt", repr(index))


def write_librispeech(folder, name, texts, rate=16000):
    """
    Writes FOLDER/NAME.zip as LibriSpeechCorpus reads it.

    :param str folder:
    :param str name: say train-clean-100
    :param dict[(int,int),list[str]] texts: (speaker, chapter) -> one text per sequence
    :param int rate: samples per second
    """
    with zipfile.ZipFile("%s/%s.zip" % (folder, name), "w") as z:
        for (speaker, chapter), lines in texts.items():
            base = "LibriSpeech/%s/%i/%i/" % (name, speaker, chapter)
            z.writestr(base, "")
            trans = ""
            for i, line in enumerate(lines):
                tag = "%i-%i-%04i" % (speaker, chapter, i)
                trans += "%s %s\n" % (tag, line)
                samples = tone(800 + 80 * len(line), speaker + i, rate)
                z.writestr(base + tag + ".flac", flac_bytes(samples, rate))
            z.writestr(base + "%i-%i.trans.txt" % (speaker, chapter), trans)
