"""Command line -> config files and keys: ``rnn.py CONFIG... [options] [++key value]...``."""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from returnn._version import __version__
from returnn.util.errors import ConfigError

_options: Sequence[tuple[str, str, str]] = (
    ("-a", "activation", "activation function"),
    ("-b", "batch_size", "frames of a batch, padding included"),
    ("-c", "chunking", "SIZE:STEP"),
    ("-d", "description", "free text"),
    ("-e", "epoch", "epoch to use"),
    ("-E", "eval", "dataset"),
    ("-f", "gate_factors", "factors of gates"),
    ("-g", "lreg", "L2 factor"),
    ("-i", "save_interval", "save the model each so many epochs"),
    ("-j", "dropout", "dropout"),
    ("-k", "output_file", "file to write"),
    ("-l", "log", "log file"),
    ("-L", "load", "model to load"),
    ("-m", "momentum", "momentum"),
    ("-n", "num_epochs", "last epoch"),
    ("-o", "order", "order of sequences"),
    ("-p", "loss", "loss"),
    ("-q", "cache", "cache"),
    ("-r", "learning_rate", "learning rate"),
    ("-s", "hidden_sizes", "sizes of layers"),
    ("-t", "truncate", "truncation"),
    ("-u", "device", "gpu or cpu"),
    ("-w", "window", "frames of context"),
    ("-x", "task", "what to do: train, forward, eval, ..."),
    ("-y", "hidden_type", "kind of layers"),
    ("-z", "max_sequences", "sequences of a batch, at most"),
    ("-v", "verbose", "verbosity of the log, 0..5"),
)
"""Short name, long name, meaning."""

_other_keys = {"verbose": "log_verbosity", "max_sequences": "max_seqs"}
"""Options that set a key of another name."""

_option_like = re.compile(r"--?[A-Za-z]")


@dataclass
class CommandLine:
    """What a command line says."""

    config_files: list[str] = field(default_factory=list)
    settings: list[tuple[str, str]] = field(default_factory=list)
    """Key, value; in order, the later ones win."""


def parse_command_line(args: Sequence[str], prog: str = "rnn.py") -> CommandLine:
    """
    :param args: without the program name
    :param prog: the program name, for messages
    :raises ConfigError: an argument that belongs to no ``++key``
    :raises SystemExit: an unknown option (2, usage on stderr), ``--help``, ``--version`` (0)
    """
    num_files = next((i for i, arg in enumerate(args) if arg[:1] in ("-", "+")), len(args))
    command_line = CommandLine(config_files=list(args[:num_files]))
    command_line.settings, command_line.config_files[num_files:] = parse_options(args[num_files:], prog=prog)
    return command_line


def parse_options(args: Sequence[str], prog: str = "rnn.py") -> tuple[list[tuple[str, str]], list[str]]:
    """
    :param args: options and ``++key value`` pairs
    :param prog: the program name, for messages
    :return: settings (key, value), and the files of ``--config``
    """
    settings: list[tuple[str, str]] = []
    others: list[str] = []
    args = list(args)
    while args:
        arg = args.pop(0)
        if not arg.startswith("++"):
            others.append(arg)
            continue
        if arg == "++" or not args or _option_like.match(args[0]):
            raise ConfigError(
                f"expect (++key, value) config tuples in remaining args: {[arg, *args]}. {arg} has no value."
                " (A value that starts with '-' is written with a '+' before it.)"
            )
        value = args.pop(0)
        settings.append((arg[2:], value[1:] if value.startswith("+-") else value))
    namespace = _make_parser(prog).parse_intermixed_args(others, argparse.Namespace(settings=[], config_files=[]))
    if namespace.rest:
        raise ConfigError(
            f"expect key prefixed with '++' in {tuple(namespace.rest)}."
            " Config files come first, then options, then pairs: ++key value"
        )
    return namespace.settings + settings, namespace.config_files


class _Setting(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        namespace.settings.append((self.dest, values))


class _Version(argparse.Action):
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: Any = None
    ) -> None:
        print(f"RETURNN version {__version__}, {process_text()}")
        parser.exit()


def _make_parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        usage="%(prog)s CONFIG... [options] [++key value]...",
        description="Does what the config files say. ++key value sets any key of the config.",
    )
    parser.add_argument("rest", nargs="*", help=argparse.SUPPRESS)
    for short, name, meaning in _options:
        key = _other_keys.get(name, name)
        meaning = meaning if key == name else f"{meaning} (key {key})"
        parser.add_argument(short, f"--{name}", dest=key, action=_Setting, metavar="VALUE", help=meaning)
    parser.add_argument("--config", dest="config_files", action="append", metavar="FILE", help="config file")
    parser.add_argument("-V", "--version", action=_Version, nargs=0, help="say which version this is, and exit")
    return parser


def process_text() -> str:
    """:return: what tells this run from others: time, process, folder, Python"""
    date_time = time.strftime("%Y-%m-%d-%H-%M-%S (UTC%z)")
    return f"date/time {date_time}, pid {os.getpid()}, cwd {os.getcwd()}, Python {sys.executable}"
