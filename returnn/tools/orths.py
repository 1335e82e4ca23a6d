"""Texts of any kind of corpus: of a dataset, a Bliss corpus, a text file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

from returnn.datasets.lm import iter_corpus
from returnn.tools.common import SOURCE_HELP, check_key, init_config, iterate_seqs, open_dataset, text_of
from returnn.util.errors import UserError

INPUT_HELP = SOURCE_HELP + "; or a Bliss corpus or a text file, a sequence a line, maybe packed (.gz)"

_text_keys = ("orth", "raw", "data")


def add_input_arguments(parser: Any) -> None:
    """Adds the arguments that :func:`iter_orths` is about."""
    parser.add_argument("input", help=INPUT_HELP)
    parser.add_argument("--dataset", help="key of the dataset in the config; default: train")
    parser.add_argument("--key", help=f"data key of the text; default: the first there is of {', '.join(_text_keys)}")
    parser.add_argument("--epoch", type=int, default=1, help="of the dataset")
    parser.add_argument("--verbosity", type=int, default=3, help="0..5; default 3")


def iter_orths(args: Any) -> Iterator[str]:
    """
    :param args: see :func:`add_input_arguments`
    """
    source = args.input
    is_text = os.path.isfile(source) and not source.endswith(".hdf") and not _is_config(source)
    config = init_config(None if is_text else source, verbosity=args.verbosity)
    if is_text:
        texts: list[str] = []
        iter_corpus(source, texts.append)
        yield from texts
        return
    dataset = open_dataset(source, config, args.dataset)
    dataset.init_seq_order(args.epoch)
    try:
        keys = dataset.get_data_keys()
        key = args.key or next((key for key in _text_keys if key in keys), None)
        if key is None:
            raise UserError(f"{dataset.describe()} has none of the data keys {', '.join(_text_keys)}. Set --key")
        check_key(dataset, key)
        for seq_idx in iterate_seqs(dataset):
            yield text_of(dataset, seq_idx, key)
    finally:
        dataset.finish_epoch(free_resources=True)


def _is_config(filename: str) -> bool:
    return filename.endswith((".config", ".py"))
