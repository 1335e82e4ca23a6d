"""Parallel text as an HDF file: the same as a dump of a TranslationFactorsDataset."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import h5py

from returnn.util.errors import ConfigError, UserError
from returnn.util.files import remove_file, rename_durable, temp_path
from returnn.util.label_file import LabelFile, load_labels

from ..hdf import HDFDatasetWriter
from .translation import TranslationFactorsDataset

_POSTFIX = " </S>"
_UNKNOWN = "<UNK>"


class _FilesDataset(TranslationFactorsDataset):
    """Text and vocabularies by file names."""

    def __init__(self, texts: dict[str, str], vocabs: dict[str, list[str]], **kwargs: Any):
        self._given_texts = texts
        self._given_vocabs = vocabs
        super().__init__(path=".", file_postfix="", **kwargs)

    def _find_file(self, prefix: str) -> str:
        return self._given_texts[prefix]

    def _load_vocabs(self) -> dict[str, LabelFile]:
        res = {}
        for prefix, filenames in self._given_vocabs.items():
            keys = self._keys(prefix)
            if len(filenames) != len(keys):
                raise ConfigError(
                    f"{prefix}: needs one vocabulary for the words and for each factor ({', '.join(keys)}), but there"
                    f" are {len(filenames)}"
                )
            res.update({key: load_labels(filename) for key, filename in zip(keys, filenames, strict=True)})
        return res


def main(argv: Sequence[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-s", "--source", required=True, help="text file, may be packed (.gz)")
    parser.add_argument("-t", "--target", required=True, help="text file, may be packed (.gz)")
    parser.add_argument("-v", "--source_vocab", required=True, help="vocabulary; with factors several, by comma")
    parser.add_argument("-w", "--target_vocab", required=True, help="vocabulary; with factors several, by comma")
    parser.add_argument("-o", "--output", required=True, help="HDF file, must not exist")
    parser.add_argument("-n", "--number_of_lines", required=True, type=int, help="is checked")
    parser.add_argument("--source_factors", help="data keys of further parts of source words, by comma")
    parser.add_argument("--target_factors", help="data keys of further parts of target words, by comma")
    parser.add_argument("--factor_separator", default="|", help="between the parts of a word")
    parser.add_argument("-c", "--compression", help="of the data in the file: gzip or lzf")
    for short, name in (("-l", "--line_buffer_size"), ("-d", "--data_buffer_size")):
        parser.add_argument(short, name, type=int, help="of older versions; there is no buffer to be set")
    args = parser.parse_args(argv)
    try:
        dump(args)
    except UserError as exc:
        sys.exit(f"Error: {exc}")


def dump(args: argparse.Namespace) -> None:
    """
    :param args: see :func:`main`
    :raises UserError: something is wrong with them, or with the text
    """
    dataset = _FilesDataset(
        texts={"source": args.source, "target": args.target},
        vocabs={"source": args.source_vocab.split(","), "target": args.target_vocab.split(",")},
        source_factors=args.source_factors.split(",") if args.source_factors else None,
        target_factors=args.target_factors.split(",") if args.target_factors else None,
        factor_separator=args.factor_separator,
        source_postfix=_POSTFIX,
        target_postfix=_POSTFIX,
        unknown_label=_UNKNOWN,
        name="text",
    )
    dataset.initialize()
    num_lines = dataset.get_total_num_seqs()
    if num_lines != args.number_of_lines:
        raise ConfigError(f"expected {args.number_of_lines} lines (-n), but there are {num_lines}")
    if args.compression not in (None, "gzip", "lzf"):
        raise ConfigError(f"compression (-c) must be gzip or lzf, but is {args.compression!r}")
    writer = HDFDatasetWriter(args.output)
    try:
        writer.dump_from_dataset(dataset)
        writer.close()
    finally:
        if writer.file:  # it failed
            writer.discard()
    if args.compression:
        _compress(args.output, args.compression)


def _compress(filename: str, compression: str) -> None:
    temp = temp_path(filename)
    try:
        with h5py.File(filename, "r") as source, h5py.File(temp, "x") as target:
            target.attrs.update(source.attrs)
            source.visititems(lambda name, item: _copy_compressed(target, name, item, compression))
        rename_durable(temp, filename)
    finally:
        remove_file(temp)


def _copy_compressed(target: h5py.File, name: str, item: Any, compression: str) -> None:
    if isinstance(item, h5py.Group):
        target.require_group(name).attrs.update(item.attrs)
        return
    copy = target.create_dataset(name, shape=item.shape, dtype=item.dtype, compression=compression, chunks=True)
    copy.attrs.update(item.attrs)
    step = 1 << 20
    for start in range(0, len(item), step):
        copy[start : start + step] = item[start : start + step]


if __name__ == "__main__":
    main()
