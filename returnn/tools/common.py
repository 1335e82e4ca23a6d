"""What the commands share: the dataset they are about, how they end."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TextIO

import numpy

from returnn.config import Config, set_global_config
from returnn.datasets import Dataset, init_dataset, init_dataset_via_str
from returnn.datasets.create import evaluate_options
from returnn.log import log
from returnn.tasks.data import load_dataset
from returnn.util import debug
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError, UserError
from returnn.util.files import atomic_write
from returnn.util.suggest import file_not_found

SOURCE_HELP = "config file; or options of a dataset: '{...}'; or 'ClassName:option=value,...'; or HDF files a.hdf,b.hdf"


def run_command(command: Callable[[], None]) -> None:
    """
    :param command: a mistake of the user ends it with its message, exit code 1
    :raises SystemExit: it did not end well
    """
    try:
        command()
    except BrokenPipeError:  # the reader of our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except UserError as exc:
        log.flush()
        if log.initialized and os.environ.get("DEBUG") == "1":
            debug.report_exception(*sys.exc_info())  # type: ignore[arg-type]  # there is one
        sys.exit(f"Error: {exc}")
    finally:
        with contextlib.suppress(BrokenPipeError):
            log.flush()


def init_config(source: str | None, *, verbosity: int) -> Config:
    """Sets the log, and the global config.

    :param source: config file; anything else is not read
    :param verbosity: of the log, on standard output
    """
    config = Config()
    set_global_config(config)
    if source is not None and is_config_file(source):
        config.load_file(source)
    log.initialize(verbosity=[verbosity])
    BehaviorVersion.set(config.int("behavior_version", None))
    return config


def is_config_file(source: str) -> bool:
    """
    :return: whether it is a file, but no HDF file
    """
    return not source.startswith("{") and not source.endswith(".hdf") and os.path.isfile(source)


def open_dataset(source: str, config: Config, key: str | None = None) -> Dataset:
    """
    :param source: see :data:`SOURCE_HELP`
    :param config: see :func:`init_config`
    :param key: of the dataset in the config, or in its ``eval_datasets``; default "train"
    """
    if is_config_file(source):
        return load_dataset(config, key or "train")
    if key is not None:
        raise ConfigError(f"--dataset {key!r} is for a config file, but {source!r} is none")
    if source.startswith("{"):
        return init_dataset(evaluate_options(source, config), default_kwargs={"name": "dataset"})
    if ":" not in source and not source.endswith(".hdf"):
        raise ConfigError(file_not_found("config file", source))
    return init_dataset_via_str(source, name="dataset")


def add_source_arguments(parser: Any) -> None:
    """Adds the dataset, ``--dataset`` and ``--verbosity``."""
    parser.add_argument("source", help=SOURCE_HELP)
    parser.add_argument("--dataset", help="key of the dataset in the config; default: train")
    parser.add_argument("--verbosity", type=int, default=4, help="0..5; default 4")


def iterate_seqs(dataset: Dataset, start: int = 0, end: float = -1) -> Iterator[int]:
    """
    :param dataset: in an epoch
    :param start: first seq idx
    :param end: last seq idx, inclusive; negative: all
    :return: indices of loaded sequences
    """
    seq_idx = start
    while (end < 0 or seq_idx <= end) and dataset.is_less_than_num_seqs(seq_idx):
        dataset.load_seqs(seq_idx, seq_idx + 1)
        yield seq_idx
        seq_idx += 1


def text_of(dataset: Dataset, seq_idx: int, key: str) -> str:
    """
    :param seq_idx: loaded
    :return: the data as text: text, bytes in UTF-8, or the labels of classes
    :raises ConfigError: it is none of these
    """
    data = numpy.asarray(dataset.get_data(seq_idx, key))
    if data.dtype.kind in "OSU":
        parts = [x.decode("utf8") if isinstance(x, bytes) else str(x) for x in data.reshape(-1).tolist()]
        return " ".join(parts)
    if dataset.can_serialize_data(key):
        return dataset.serialize_data(key, data)
    if data.dtype == "uint8" and data.ndim == 1:
        return data.tobytes().decode("utf8")
    raise ConfigError(
        f"{dataset.describe()}: data key {key!r} is no text (dtype {data.dtype}, shape {data.shape}), and has no"
        f" labels. Data keys: {', '.join(dataset.get_data_keys())}"
    )


def check_key(dataset: Dataset, key: str) -> None:
    """
    :param dataset: in an epoch
    :raises ConfigError: it does not have the data key
    """
    if key not in dataset.get_data_keys():
        raise ConfigError(
            f"{dataset.describe()} has no data key {key!r}. There are: {', '.join(dataset.get_data_keys())}"
        )


@contextlib.contextmanager
def open_output(filename: str | None) -> Iterator[TextIO]:
    """
    :param filename: appears whole, or not at all; packed if it ends in ``.gz``. None or "-": standard output
    """
    if filename in (None, "-"):
        yield sys.stdout
        return
    assert filename is not None
    if not os.path.isdir(os.path.dirname(os.path.abspath(filename))):
        raise UserError(f"the folder of {filename!r} does not exist")
    lines: list[str] = []

    class Lines:
        write = staticmethod(lines.append)

    yield Lines()  # type: ignore[misc]  # all that is used
    content = "".join(lines).encode("utf8")
    with atomic_write(filename, "wb") as f:
        f.write(gzip.compress(content) if filename.endswith(".gz") else content)


def write_dict(out: TextIO, items: Sequence[tuple[str, Any]]) -> None:
    """Writes a Python dict, an entry a line."""
    out.write("{\n")
    for key, value in items:
        out.write(f"{key!r}: {value!r},\n")
    out.write("}\n")
