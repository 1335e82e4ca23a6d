"""HDF files with streams."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from returnn.datasets.basic import init_dataset
from returnn.util.errors import UserError
from tests.datasets.reading import read_epoch

next_gen = {"class": "NextGenHDFDataset", "input_stream_name": "feat", "files": ["a.hdf"]}


@pytest.fixture(autouse=True)
def _in_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(name: str, seqs: dict[str, dict[str, Any]], dtype: Any = None, dim: int = 2) -> None:
    """Streams "feat" [time, dim], "words" (a b c), "align" (a b c)."""
    with h5py.File(name, "w") as file:
        file.create_dataset("seq_names", data=list(seqs), dtype=dtype or h5py.string_dtype())
        parsers = {"feat": "feature_sequence", "words": "sparse", "align": "segment_alignment"}
        for stream, parser in parsers.items():
            group = file.create_group(f"streams/{stream}")
            group.attrs["parser"] = parser
            group.create_group("data")
            if stream != "feat":
                group.create_dataset("feature_names", data=[b"a", b"b", b"c"])
            for tag, data in seqs.items():
                if stream in data:
                    group["data"][tag.replace("/", "\\")] = numpy.array(data[stream])


seq = {"feat": [[0.5, 1.0]] * 3, "words": [1, 2], "align": [[1, 2], [2, 1]]}


@pytest.mark.parametrize("dtype", [None, "S9", h5py.string_dtype("ascii")])
def test_all_parsers(dtype: Any) -> None:
    """A segment is its class and 0 for each frame, 1 for the last one. Names of any string type."""
    write("a.hdf", {"c/r/1": seq}, dtype)
    dataset = init_dataset(next_gen)
    assert dataset.get_data_keys() == ["data", "align", "feat", "words"]
    assert [dataset.get_data_dim(key) for key in dataset.get_data_keys()] == [2, 3, 2, 3]
    assert dataset.labels == {"align": ["a", "b", "c"], "words": ["a", "b", "c"]}
    features = [[0.5, 1.0]] * 3
    expected = {"data": features, "feat": features, "words": [1, 2], "align": [1, 0, 1, 1, 2, 1]}
    assert [tuple(s) for s in read_epoch(dataset, 1)] == [("c/r/1", expected)]


def test_empty_segments_have_no_frame() -> None:
    write("a.hdf", {"1": {**seq, "align": [[0, 0], [1, 1], [2, 0]]}})
    assert read_epoch(init_dataset(next_gen), 1)[0].data["align"] == [1, 1]


def test_several_files_sorted() -> None:
    write("a.hdf", {"s1": seq, "s2": {**seq, "feat": [[0.0, 0.0]]}})
    write("b.hdf", {"s3": {**seq, "feat": [[0.0, 0.0]] * 2}})
    dataset = init_dataset({**next_gen, "files": ["a.hdf", "b.hdf"], "seq_ordering": "sorted"})
    assert [s.tag for s in read_epoch(dataset, 1)] == ["s2", "s3", "s1"]


def test_mistakes_are_explained() -> None:
    write("a.hdf", {"s1": seq, "s2": {"feat": [[0.0, 0.0]]}})
    write("b.hdf", {"s3": {**seq, "feat": [[0.0] * 5]}}, dim=5)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"files": ["c.hdf"]}, r"HDF file not found: 'c.hdf'"),
        ({"files": []}, r"there is no file; set the option files"),
        ({"files": "a.hdf"}, r"files must be a list of names, but is the str 'a.hdf'"),
        ({"input_stream_name": "feats"}, r"no stream 'feats' in 'a.hdf'\. Did you mean \"feat\"\?"),
        ({"files": ["a.hdf", "b.hdf"]}, r"stream 'feat' of 'b.hdf' is not there, or has another parser or dim"),
        ({}, r"stream 'align' of 'a.hdf' has no data for sequence 's2'"),
    ]
    for options, message in cases:
        with pytest.raises(UserError, match=message):
            read_epoch(init_dataset({**next_gen, **options}), 1)


def test_triplets() -> None:
    """Anchor, another one of its class, one of another class; the same again in the same epoch."""
    classes = [0, 0, 1, 1, 2]
    seqs = {f"s{i}": {**seq, "feat": [[float(i), 0.0]], "words": [c]} for i, c in enumerate(classes)}
    write("a.hdf", seqs)
    siamese = {**next_gen, "class": "SiameseHDFDataset"}
    dataset = init_dataset(siamese)
    found: Counter[int] = Counter()
    for epoch in range(1, 21):
        read = read_epoch(dataset, epoch)
        assert read == read_epoch(dataset, epoch)
        for i, s in enumerate(read):
            anchor, positive, negative = (int(s.data[f"feat_{j}"][0][0]) for j in range(3))
            assert anchor == i and s.data["data"] == s.data["feat_0"]
            assert classes[positive] == classes[i] and (positive != i or i == 4)
            assert classes[negative] != classes[i]
            assert s.data["words_all"] == [classes[j] for j in (anchor, positive, negative)]
            found[negative] += 1
    assert set(found) == set(range(5))
    weights = {"a": {"c": 1.0}, "b": {"c": 1.0}, "c": {"a": 1.0}}
    dataset = init_dataset({**siamese, "class_distribution": weights})
    assert [s.data["words_all"][2] for s in read_epoch(dataset, 1)] == [2, 2, 2, 2, 0]
    with pytest.raises(UserError, match=r"class_distribution has no other class for 'a'"):
        read_epoch(init_dataset({**siamese, "class_distribution": {"b": {"a": 1}}}), 1)
