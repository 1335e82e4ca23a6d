"""Helpers for the `make_files` of dataset cases: deterministic numbers, HDF files, text."""

import gzip
import pickle

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
