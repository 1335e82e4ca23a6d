"""A small instance of every dataset class, and of every wrapper around other datasets.

A new class of :data:`returnn.datasets.create.DATASET_CLASSES` needs an entry here; then all laws hold for it, too.
What a class cannot do is said in its entry, and nowhere else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import h5py
import numpy

from returnn.datasets.basic import DatasetSeq
from returnn.datasets.cached2 import CachedDataset2
from returnn.datasets.map import MapDatasetBase
from tests.data_cases.data_files import (
    floats,
    ints,
    simple_hdf,
    tone,
    wav_bytes,
    write_ogg_zip,
    write_pickle,
    write_text,
)

LENS = (5, 3, 9, 1, 7)


@dataclass(frozen=True)
class Instance:
    """Options of a dataset, and what it cannot do."""

    options: dict[str, Any]
    num_seqs: int = len(LENS)
    has_order: bool = True
    """It takes a ``seq_ordering``, and ``partition_epoch``."""
    knows_corpus: bool = True
    """Its number of sequences, their tags, and the order of an epoch are known in advance."""
    has_lengths: bool = True
    """Orders by length are possible."""
    can_be_sharded: bool = True
    same_each_epoch: bool = True
    """A sequence has the same data in each epoch."""
    other_dtypes: bool = False
    """The arrays can be of another dtype than it says: generated data, which is converted for the network."""
    is_slow: bool = False
    """It starts processes, so only a few orders are tried."""
    make_files: Callable[[], None] = field(default=lambda: None)


# Datasets that are only there for the wrappers.


class StreamDataset(CachedDataset2):
    """Does not know how many sequences there are, until it has read them."""

    def __init__(self, **kwargs: Any):
        super().__init__(**kwargs)
        self.num_inputs = 2
        self.num_outputs = {"data": (2, 2), "classes": (5, 1)}

    def _collect_single_seq(self, seq_idx: int) -> DatasetSeq | None:
        if self.epoch is None or seq_idx >= len(LENS):
            return None
        features = {"data": floats(seq_idx, LENS[seq_idx], 2), "classes": ints(seq_idx, 5, LENS[seq_idx])}
        return DatasetSeq(seq_idx, features, seq_tag=f"seq-{seq_idx}")


class Numbers(MapDatasetBase):
    """Map-style."""

    def __init__(self) -> None:
        super().__init__(
            data_types={"data": {"shape": (None, 2), "dim": 2}, "classes": {"shape": (None,), "dim": 9, "sparse": True}}
        )

    def __len__(self) -> int:
        return len(LENS)

    def __getitem__(self, i: int) -> dict[str, numpy.ndarray]:
        return {"data": floats(i, LENS[i], 2), "classes": ints(i, 9, 1 + i % 3)}

    def get_seq_len(self, i: int) -> int:
        """:return: frames of data"""
        return LENS[i]


# Functions of a config.


def same_seq(seq: Any, **_kwargs: Any) -> Any:
    """:return: the sequence as it is"""
    return seq


def same_stream(seqs: Iterator[Any], **_kwargs: Any) -> Iterator[Any]:
    """:return: the sequences as they are"""
    return seqs


def hdf_of_files(files: Sequence[str], **_kwargs: Any) -> dict[str, Any]:
    """:return: options"""
    return {"class": "HDFDataset", "files": list(files), "seq_ordering": "default"}


def options_of(options: dict[str, Any], **_kwargs: Any) -> dict[str, Any]:
    """:return: options"""
    return options


# Files.


def _hdf() -> None:
    simple_hdf("a.hdf", LENS, dim=2)


def _two_hdfs() -> None:
    simple_hdf("b.hdf", LENS[:3], dim=2)
    simple_hdf("c.hdf", LENS[3:], dim=2, first=3)


def _ogg_zip(audio: str | None) -> None:
    write_ogg_zip("o.zip", [{"text": t, "seq_name": f"c/{t}"} for t in ("ab", "c", "d ef", "g", "hij")], audio=audio)


def _librispeech() -> None:
    os.makedirs("libri/train-x/1/2")
    texts = ("AB", "C", "D EF", "G", "HIJ")
    for i, text in enumerate(texts):
        with open(f"libri/train-x/1/2/1-2-{i:04}.flac", "wb") as f:
            f.write(wav_bytes(tone(800 + 80 * len(text), i)))
    write_text("libri/train-x/1/2/1-2.trans.txt", "".join(f"1-2-{i:04} {t}\n" for i, t in enumerate(texts)))


def _lm() -> None:
    write_text("text", "a b\nb\nc a b a\na\nb c\n")
    write_text("vocab", "{'<s>': 0, 'a': 1, 'b': 2, 'c': 3, '<UNK>': 4}")


def _translation() -> None:
    os.makedirs("tr")
    for name in ("source", "target"):
        write_text(f"tr/{name}.x", "a b\nb\nb a b a\na\nb b b\n")
        write_pickle(f"tr/{name}.vocab.pkl", {"</S>": 0, "a": 1, "b": 2})


def _factors() -> None:
    os.makedirs("tr")
    write_text("tr/source.x", "a|A b|B\nb|B\nb|B a|A b|B a|A\na|A\nb|B b|B b|B\n")
    write_text("tr/target.x", "a b\nb\nb a b a\na\nb b b\n")
    for name, words in (("source", "ab"), ("case", "AB"), ("target", "ab")):
        write_pickle(f"tr/{name}.vocab.pkl", {"</S>": 0, words[0]: 1, words[1]: 2})


def _confusions() -> None:
    os.makedirs("tr")
    write_text("tr/source.x", "__ALT__ a|0.75__b|0.25 a|1.0\na b\nb\na\na a b\n")
    write_text("tr/target.x", "a b\nb\nb a b a\na\nb b b\n")
    for name in ("source", "target"):
        write_pickle(f"tr/{name}.vocab.pkl", {"</S>": 0, "a": 1, "b": 2})


def _timit(folder: str = "timit/train/", names: str = "timit/train/filelist.phn") -> None:
    os.makedirs(folder)
    for i in range(5):
        with open(f"{folder}/x{i}.wav", "wb") as f:
            f.write(wav_bytes(tone(3000 + 200 * i, i)))
        write_text(f"{folder}/x{i}.phn", "0 500 h#\n500 900 sh\n900 2800 iy\n2800 3000 h#\n"[: None if i else 18])
    write_text(names, "".join(f"x{i}.phn\n" for i in range(5)))


def _enwik8() -> None:
    text = numpy.frombuffer(b"some text that has all in all some forty bytes", "uint8")
    unique, indices = numpy.unique(text, return_inverse=True)
    with h5py.File("enwik8.hdf5", "w") as file:
        file.attrs["unique"] = unique
        for part in ("training", "validation", "test"):
            file[f"split/{part}/default"] = indices.astype("uint8")[:41]


def _next_gen() -> None:
    words = numpy.array([0, 1, 0, 1, 1], "int32")
    with h5py.File("n.hdf", "w") as file:
        file["seq_names"] = [f"c/{i}" for i in range(len(LENS))]
        for name, parser in (("feat", "feature_sequence"), ("words", "sparse")):
            file.create_group(f"streams/{name}/data")
            file[f"streams/{name}"].attrs["parser"] = parser
        file["streams/words/feature_names"] = ["x", "y"]
        for i, n in enumerate(LENS):
            file[f"streams/feat/data/c\\{i}"] = floats(i, n, 2)
            file[f"streams/words/data/c\\{i}"] = words[i : i + 1]


def _numpy_dump() -> None:
    for i, n in enumerate(LENS):
        numpy.savetxt(f"dump.{i}.data.txt", floats(i, n, 2))
        numpy.savetxt(f"dump.{i}.targets.txt", ints(i, 5, n), fmt="%i")


def _stereo() -> None:
    with h5py.File("s.hdf", "w") as file:
        for i, n in enumerate(LENS):
            file[f"inputs/{i}"] = floats(i, n, 2)
            file[f"outputs/{i}"] = floats(10 + i, n, 3)


def _raw_wav() -> None:
    for i, n in enumerate(LENS):
        with open(f"{i}.wav", "wb") as f:
            f.write(wav_bytes(tone(100 * n, i)))
    write_text("wavs", "".join(f"{i}.wav\n" for i in range(len(LENS))))


def _text_dict() -> None:
    write_text("d.py", repr({f"seq-{i}": "ab c"[: n % 5] for i, n in enumerate(LENS)}))


def _list_of_seqs() -> None:
    _hdf()
    write_text("list", "seq-0;seq-1\nseq-4\nseq-2;seq-3\n")
    write_text("lens", repr({f"seq-{i}": n for i, n in enumerate(LENS)}))


def _cluster_map() -> None:
    _hdf()
    items = "".join(f'<map-item key="seq-{i}" value="{i % 2}"/>\n' for i in range(len(LENS)))
    write_text("map", f"<coprus-key-map>\n{items}")


def hugging_face_data() -> Any:
    """:return: a dataset of that library"""
    import datasets  # noqa: PLC0415  # heavy

    return datasets.Dataset.from_list(
        [{"id": f"seq-{i}", "data": ints(i, 5, n).tolist(), "num": n} for i, n in enumerate(LENS)]
    )


hdf = {"class": "HDFDataset", "files": ["a.hdf"]}
static = {
    "class": "StaticDataset",
    "data": [{"data": floats(i, n, 2), "classes": ints(i, 5, n)} for i, n in enumerate(LENS)],
    "output_dim": {"data": (2, 2), "classes": (5, 1)},
}
stream = {"class": StreamDataset}
generated = {"class": "Task12AXDataset", "num_seqs": 5}
translation = {"path": "tr", "file_postfix": "x", "target_postfix": " </S>"}

_generated = partial(Instance, has_lengths=False, same_each_epoch=False, other_dtypes=True)

INSTANCES: dict[str, Instance] = {
    "HDFDataset": Instance(hdf, make_files=_hdf),
    "StaticDataset": Instance(static),
    "OggZipDataset": Instance(
        {"class": "OggZipDataset", "path": "o.zip", "audio": {}, "targets": {"class": "Utf8ByteTargets"}},
        make_files=partial(_ogg_zip, "wav"),
    ),
    "LibriSpeechCorpus": Instance(
        {
            "class": "LibriSpeechCorpus",
            "path": "libri",
            "prefix": "train",
            "audio": {},
            "targets": {"class": "Utf8ByteTargets"},
        },
        make_files=_librispeech,
    ),
    "Task12AXDataset": _generated(generated),
    "TaskEpisodicCopyDataset": _generated({"class": "TaskEpisodicCopyDataset", "num_seqs": 5}),
    "TaskXmlModelingDataset": _generated({"class": "TaskXmlModelingDataset", "num_seqs": 5}),
    "TaskNumberBaseConvertDataset": _generated({"class": "TaskNumberBaseConvertDataset", "num_seqs": 5}),
    "CopyTaskDataset": _generated({"class": "CopyTaskDataset", "nsymbols": 9, "minlen": 1, "maxlen": 5, "num_seqs": 5}),
    "DummyDataset": _generated(
        {"class": "DummyDataset", "input_dim": 2, "output_dim": 3, "num_seqs": 5}, same_each_epoch=True
    ),
    "DummyDatasetMultipleSequenceLength": _generated(
        {"class": "DummyDatasetMultipleSequenceLength", "input_dim": 2, "output_dim": 3, "num_seqs": 5},
        same_each_epoch=True,
    ),
    "DummyDatasetMultipleDataKeys": _generated(
        {
            "class": "DummyDatasetMultipleDataKeys",
            "output_dim": {"data": (3, 2), "classes": (4, 1), "more": (5, 1)},
            "num_seqs": 5,
            "data_keys": ["data", "classes", "more"],
        },
        same_each_epoch=True,
    ),
    "MetaDataset": Instance(
        {
            "class": "MetaDataset",
            "datasets": {"a": hdf, "b": {**hdf, "seq_ordering": "random"}},
            "data_map": {"data": ("a", "data"), "classes": ("b", "classes")},
        },
        make_files=_hdf,
    ),
    "CombinedDataset": Instance(
        {
            "class": "CombinedDataset",
            "datasets": {"b": {**hdf, "files": ["b.hdf"]}, "c": {**hdf, "files": ["c.hdf"]}},
            "data_map": {("b", "data"): "data", ("c", "data"): "data"},
        },
        make_files=_two_hdfs,
    ),
    "ConcatDataset": Instance(
        {"class": "ConcatDataset", "datasets": [{**hdf, "files": [name]} for name in ("b.hdf", "c.hdf")]},
        has_order=False,
        make_files=_two_hdfs,
    ),
    "ConcatSeqsDataset": Instance(
        {"class": "ConcatSeqsDataset", "dataset": hdf, "seq_list_file": "list", "seq_len_file": "lens"},
        num_seqs=3,
        make_files=_list_of_seqs,
    ),
    "ClusteringDataset": Instance(
        {"class": "ClusteringDataset", "dataset": hdf, "cluster_map_file": "map", "n_clusters": 2},
        has_order=False,
        make_files=_cluster_map,
    ),
    "ChunkShuffleDataset": Instance(
        {"class": "ChunkShuffleDataset", "dataset": {**hdf, "chunking": "4:4"}},
        num_seqs=-1,  # chunks
        has_order=False,
        knows_corpus=False,
        can_be_sharded=False,
        make_files=_hdf,
    ),
    "VariableDataset": Instance(
        {"class": "VariableDataset", "get_dataset": partial(options_of, hdf), "always_same_tags": True},
        has_order=False,
        make_files=_hdf,
    ),
    "MultiEpochDataset": Instance(
        {"class": "MultiEpochDataset", "dataset": {**hdf, "partition_epoch": 2}, "multi_epoch": 2},
        has_order=False,
        make_files=_hdf,
    ),
    "AnythingDataset": Instance(  # it has any sequence, so another dataset must say which are wanted
        {
            "class": "MetaDataset",
            "datasets": {"a": hdf, "z": {"class": "AnythingDataset", "data_keys": {"data": {"dim": 2}}}},
            "data_map": {"data": ("z", "data"), "classes": ("a", "classes")},
            "seq_order_control_dataset": "a",
        },
        make_files=_hdf,
    ),
    "MapDatasetWrapper": Instance({"class": "MapDatasetWrapper", "map_dataset": Numbers}),
    "MultiProcDataset": Instance(
        {"class": "MultiProcDataset", "dataset": hdf, "num_workers": 2, "buffer_size": 2},
        is_slow=True,
        make_files=_hdf,
    ),
    "PostprocessingDataset": Instance(
        {"class": "PostprocessingDataset", "dataset": hdf, "map_seq": same_seq}, has_order=False, make_files=_hdf
    ),
    "DistributeFilesDataset": Instance(
        {
            "class": "DistributeFilesDataset",
            "files": ["b.hdf", "c.hdf"],
            "get_sub_epoch_dataset": hdf_of_files,
            "partition_epoch": 1,
        },
        has_order=False,
        knows_corpus=False,
        can_be_sharded=False,
        make_files=_two_hdfs,
    ),
    "TextDictDataset": Instance(
        {
            "class": "TextDictDataset",
            "filename": "d.py",
            "item_format": "single",
            "vocab": {"class": "CharacterTargets", "vocab_file": None, "labels": list("@abc "), "unknown_label": "@"},
        },
        make_files=_text_dict,
    ),
    "HuggingFaceDataset": Instance(
        {
            "class": "HuggingFaceDataset",
            "dataset_opts": hugging_face_data,
            "data_format": {"data": {"shape": (None,), "sparse": True, "dim": 5, "dtype": "int64"}},
            "sorting_seq_len_column": "num",
        }
    ),
    "LmDataset": Instance(
        {
            "class": "LmDataset",
            "corpus_file": "text",
            "orth_symbols_map_file": "vocab",
            "word_based": True,
            "seq_end_symbol": "<s>",
            "unknown_symbol": "<UNK>",
        },
        make_files=_lm,
    ),
    "TranslationDataset": Instance({"class": "TranslationDataset", **translation}, make_files=_translation),
    "TranslationFactorsDataset": Instance(
        {"class": "TranslationFactorsDataset", **translation, "source_factors": ["case"]}, make_files=_factors
    ),
    "ConfusionNetworkDataset": Instance(
        {"class": "ConfusionNetworkDataset", **translation, "max_density": 2}, make_files=_confusions
    ),
    "TimitDataset": Instance(
        {"class": "TimitDataset", "timit_dir": "timit", "random_permute_audio": False},
        has_lengths=False,
        make_files=_timit,
    ),
    "Enwik8Corpus": Instance(
        {"class": "Enwik8Corpus", "path": ".", "subset": "training", "seq_len": 8}, make_files=_enwik8
    ),
    "NextGenHDFDataset": Instance(
        {"class": "NextGenHDFDataset", "input_stream_name": "feat", "files": ["n.hdf"]}, make_files=_next_gen
    ),
    "SiameseHDFDataset": Instance(
        {"class": "SiameseHDFDataset", "input_stream_name": "feat", "files": ["n.hdf"]},
        same_each_epoch=False,
        make_files=_next_gen,
    ),
    "NumpyDumpDataset": Instance(
        {
            "class": "NumpyDumpDataset",
            "prefix": "dump.",
            "postfix": ".txt",
            "end_seq": 5,
            "num_inputs": 2,
            "num_outputs": {"classes": (5, 1)},
        },
        has_lengths=False,
        make_files=_numpy_dump,
    ),
    "StereoHdfDataset": Instance({"class": "StereoHdfDataset", "hdfFile": "s.hdf"}, make_files=_stereo),
    "DatasetWithTimeContext": Instance({"class": "DatasetWithTimeContext", "hdfFile": "s.hdf"}, make_files=_stereo),
    "RawWavDataset": Instance(
        {"class": "RawWavDataset", "listFile": "wavs", "frameLength": 50, "frameShift": 25}, make_files=_raw_wav
    ),
    # More forms of some.
    "stream of unknown length": Instance(
        stream, has_order=False, knows_corpus=False, has_lengths=False, can_be_sharded=False
    ),
    "OggZipDataset, no audio": Instance(
        {"class": "OggZipDataset", "path": "o.zip", "audio": None, "targets": {"class": "Utf8ByteTargets"}},
        make_files=partial(_ogg_zip, None),
    ),
    "HDFDataset, two files, cache": Instance(
        {**hdf, "files": ["b.hdf", "c.hdf"], "cache_byte_size": 1000}, make_files=_two_hdfs
    ),
}

NO_INSTANCE = {
    "GeneratingDataset": "a base class",
    "NltkTimitDataset": "needs a download; otherwise as TimitDataset",
}
"""Classes without an entry, and why."""

INNER: dict[str, Instance] = {
    "memory": INSTANCES["StaticDataset"],
    "files": INSTANCES["HDFDataset"],
    "generated": INSTANCES["Task12AXDataset"],
    "stream": INSTANCES["stream of unknown length"],
    "meta": INSTANCES["MetaDataset"],
    "postprocessing": INSTANCES["PostprocessingDataset"],
    "combined": INSTANCES["CombinedDataset"],
}
"""What wrappers are put around; the latter are wrappers themselves."""

_data = {"data": ("x", "data")}

TRANSPARENT: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "MetaDataset": lambda x: {
        "class": "MetaDataset",
        "datasets": {"x": x},
        "data_map": _data,
        "seq_order_control_dataset": "x",
    },
    "CombinedDataset": lambda x: {
        "class": "CombinedDataset",
        "datasets": {"x": x},
        "data_map": {("x", "data"): "data"},
        "seq_ordering": "interleave",
    },
    "ConcatDataset": lambda x: {"class": "ConcatDataset", "datasets": [x]},
    "VariableDataset": lambda x: {"class": "VariableDataset", "get_dataset": partial(options_of, x)},
    "MultiEpochDataset": lambda x: {"class": "MultiEpochDataset", "dataset": x, "multi_epoch": 1},
    "PostprocessingDataset": lambda x: {"class": "PostprocessingDataset", "dataset": x, "map_seq": same_seq},
    "PostprocessingDataset, stream": lambda x: {
        "class": "PostprocessingDataset",
        "dataset": x,
        "map_seq_stream": same_stream,
    },
    "MultiProcDataset": lambda x: {
        "class": "MultiProcDataset",
        "dataset": x,
        "num_workers": 1,
        "buffer_size": 2,
        "sharding_method": "dedicated",
    },
}
"""Wrappers that give the sequences of what is inside, as they are."""
