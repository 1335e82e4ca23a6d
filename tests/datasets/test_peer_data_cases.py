"""Datasets give what a reference implementation gives: see tests/data_cases/README.md."""

from __future__ import annotations

import json
import math
import os
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import h5py
import numpy
import pytest

from returnn.config import Config, global_config_ctx
from returnn.datasets.basic import Dataset, init_dataset

_folder = Path(__file__).parent.parent / "data_cases"
_cases = sorted(path.stem for path in _folder.glob("*.json"))


@pytest.mark.parametrize("name", _cases)
def test_same_as_reference(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All that is stored is equal; floats up to 1e-4 of the mean size in their array."""
    monkeypatch.syspath_prepend(str(_folder))
    monkeypatch.chdir(tmp_path)
    config = Config()
    config.load_file(str(_folder / f"{name}.py"))
    with global_config_ctx(config):
        result = _run_case(config)
    expected = json.loads((_folder / f"{name}.json").read_text())
    ignore = set(expected.pop("ignore", ()))
    assert list(_differences(expected, json.loads(json.dumps(result)), ignore)) == []


def test_cases_are_there() -> None:
    """A lost folder must not look like success."""
    assert len(_cases) >= 13


def _run_case(config: Config) -> dict[str, Any]:
    make_files = config.typed_value("make_files")
    if make_files:
        make_files(".")
    datasets = dict(config.typed_value("datasets", {}))
    if config.typed_value("dataset") is not None:
        datasets["dataset"] = config.typed_value("dataset")
    result = {name: _read_dataset(init_dataset(opts), config) for name, opts in datasets.items()}
    if config.typed_value("values"):
        result["values"] = _plain(config.typed_value("values")())
    result.update({filename: _hdf_layout(filename) for filename in config.typed_value("dump_hdf", [])})
    return result


def _read_dataset(dataset: Dataset, config: Config) -> dict[str, Any]:
    result: dict[str, Any] = {"epochs": {}}
    for epoch in config.typed_value("epochs", [1, 2, 3]):
        dataset.init_seq_order(epoch)
        seqs = _read_epoch(dataset)
        if config.typed_value("info", True) and "info" not in result:
            result["info"] = _info(dataset)
        for i in config.typed_value("corpus_seqs", []):
            seq = dataset.get_corpus_seq(i)
            arrays = {key: _digest(value) for key, value in seq.features.items()}
            seqs.setdefault("corpus_seqs", []).append({"tag": seq.seq_tag, **arrays})
        dataset.finish_epoch()
        batches = config.typed_value("batches", [])
        for opts in batches if isinstance(batches, list) else [batches]:
            dataset.init_seq_order(epoch)
            seqs.setdefault("batches", []).append(_read_batches(dataset, opts))
            dataset.finish_epoch()
        result["epochs"][str(epoch)] = seqs
    return result


def _read_epoch(dataset: Dataset) -> dict[str, Any]:
    seqs, tags, fractions = [], [], []
    while dataset.is_less_than_num_seqs(len(seqs)):
        i = len(seqs)
        dataset.load_seqs(i, i + 1)
        lens, keys = dataset.get_seq_length(i), dataset.get_data_keys()
        seqs.append({key: {"len": int(lens[key]), **_digest(dataset.get_data(i, key))} for key in keys})
        tags.append(dataset.get_tag(i))
        fractions.append(dataset.get_complete_frac(i))
    return {
        "num_seqs": _if_known(lambda: dataset.num_seqs),
        "estimated_num_seqs": dataset.estimated_num_seqs,
        "seq_order": _if_known(lambda: [int(i) for i in dataset.get_current_seq_order()]),
        "num_read": len(seqs),
        "seqs": seqs,
        "tags": tags,
        "fractions": fractions,
        "fractions_rise": fractions == sorted(fractions),
    }


def _if_known(get: Callable[[], Any]) -> Any:
    """:return: None if the dataset does not tell; where the reference does, that is a difference"""
    try:
        return get()
    except NotImplementedError:
        return None


def _read_batches(dataset: Dataset, opts: dict[str, Any]) -> list[dict[str, Any]]:
    batches = dataset.generate_batches(**{"recurrent_net": True, **opts})
    keys = sorted(opts.get("used_data_keys") or dataset.get_data_keys())
    result = []
    while batches.has_more():
        (batch,) = batches.peek_next_n(1)
        dataset.load_seqs(batch.start_seq, batch.end_seq)
        seqs = []
        for part in batch.seqs:
            frames = {key: [int(part.seq_start_frame[key]), int(part.seq_end_frame[key])] for key in keys}
            offset = {key: int(part.batch_frame_offset[key]) for key in keys}
            seqs.append([part.seq_idx, dataset.get_tag(part.seq_idx), frames, part.batch_slice, offset])
        max_frames = {key: int(batch.max_num_frames_per_slice[key]) for key in keys}
        result.append({"seqs": seqs, "num_slices": batch.num_slices, "max_frames": max_frames})
        batches.advance(1)
    return result


def _info(dataset: Dataset) -> dict[str, Any]:
    keys = dataset.get_data_keys()

    def by_key(func: Callable[[str], Any]) -> dict[str, Any]:
        return {key: func(key) for key in keys}

    labels = {key: [len(x), x[:4], zlib.crc32("\n".join(x).encode())] for key, x in dataset.labels.items() if x}
    return {
        "data_keys": sorted(keys),
        "target_keys": sorted(dataset.get_target_list()),
        "num_inputs": dataset.num_inputs,
        "num_outputs": dataset.num_outputs,
        "labels": labels,
        "total_num_seqs": _if_known(lambda: dataset.get_total_num_seqs()),
        "all_tags": _if_known(lambda: list(dataset.get_all_tags())),
        "dim": by_key(dataset.get_data_dim),
        "sparse": by_key(dataset.is_data_sparse),
        "dtype": by_key(dataset.get_data_dtype),
        "shape": by_key(dataset.get_data_shape),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _plain(x) for key, x in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(x) for x in value]
    return _digest(value) if isinstance(value, numpy.ndarray) else value


def _digest(value: numpy.ndarray) -> dict[str, Any]:
    result: dict[str, Any] = {"dtype": str(value.dtype), "shape": list(value.shape)}
    if value.dtype.kind in "OSU":
        texts = [x.decode() if isinstance(x, bytes) else str(x) for x in value.reshape(-1).tolist()]
        return {**result, "dtype": "string", "values": texts}
    if value.dtype.kind in "iub":
        flat = value.reshape(-1).astype("int64")
        if flat.size <= 64:
            return {**result, "values": flat.tolist()}
        ends = {"first": flat[:8].tolist(), "last": flat[-8:].tolist(), "sum": int(flat.sum())}
        return {**result, **ends, "crc": zlib.crc32(flat.astype("<i8").tobytes())}
    flat = value.reshape(-1).astype("float64")
    if flat.size <= 10:
        return {**result, "floats": flat.tolist()}
    weights = numpy.arange(flat.size) * 7919 % 101 / 101.0
    sums = [float(abs(flat).sum()), float(flat.sum()), float((flat * weights).sum())]
    return {**result, "floats": flat[:3].tolist() + flat[-2:].tolist(), "sums": sums}


def _hdf_layout(filename: str) -> dict[str, Any]:
    result = {}

    def visit(name: str, item: Any) -> None:
        entry: dict[str, Any] = {"attrs": {key: numpy.asarray(value).tolist() for key, value in item.attrs.items()}}
        if isinstance(item, h5py.Dataset):
            string = h5py.check_string_dtype(item.dtype)
            vlen = string is not None and string.length is None
            entry.update(_digest(item.asstr()[...] if vlen else item[...]))
            entry["dtype"] = "vlen " + string.encoding if vlen else str(item.dtype)
        result["/" + name] = entry

    with h5py.File(filename, "r") as file:
        visit("", file)
        file.visititems(visit)
    return result


def _differences(
    expected: Any, ours: Any, ignore: set[str], place: tuple[str, ...] = (), scale: float = 0.0
) -> Iterator[str]:
    if expected is None or ".".join(place[1:]) in ignore:
        return
    where = os.sep.join(place)
    if isinstance(expected, dict) and isinstance(ours, dict):
        size = max(math.prod(expected["shape"]), 1) if "floats" in expected else 1
        total = expected["sums"][0] if "sums" in expected else sum(map(abs, expected.get("floats", ())))
        scales = {"floats": total / size, "sums": total}
        for key in sorted(expected.keys() | ours.keys()):
            if key not in ours or key not in expected:
                if ".".join((*place, key)[1:]) in ignore:
                    continue
                if expected.get(key, 0) is not None and key != "fractions":  # not stored if the number is not known
                    yield f"{where}: {key!r} is only in {'expected' if key in expected else 'ours'}"
            else:
                yield from _differences(expected[key], ours[key], ignore, (*place, key), scales.get(key, 0.0))
    elif isinstance(expected, list) and isinstance(ours, list) and len(expected) == len(ours):
        for i, (a, b) in enumerate(zip(expected, ours, strict=True)):
            yield from _differences(a, b, ignore, (*place, str(i)), scale)
    elif isinstance(expected, float) and isinstance(ours, (int, float)):
        if abs(expected - ours) > 1e-4 * (abs(expected) + scale) + 1e-7:
            yield f"{where}: expected {expected}, ours {ours}"
    elif expected != ours or isinstance(expected, bool) != isinstance(ours, bool):
        yield f"{where}: expected {expected!r:.200}, ours {ours!r:.200}"
