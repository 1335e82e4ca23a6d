"""The program: command line -> config -> data, engine -> task.

Exit codes: 0 done; 1 a mistake in config or data (its message is all one sees), a bug (full report), or Ctrl-C;
2 an unknown option; 143 SIGTERM.

Scripts can use the steps one by one: :func:`init_config`, :func:`init_log`, :func:`init_backend_engine`,
:func:`init_data`, :func:`init_engine`, or all of them with :func:`init`; then the variables of this module are set.
"""

from __future__ import annotations

import socket
import sys
import threading
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from returnn import backends, config_keys
from returnn._version import __version__
from returnn.config import Config, set_global_config
from returnn.config_args import CommandLine, parse_command_line, process_text
from returnn.log import log
from returnn.tasks.data import load_datasets, print_summary
from returnn.tasks.registry import get_task
from returnn.util import debug
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.format import hms_fraction

if TYPE_CHECKING:
    from returnn.backends import Backend
    from returnn.datasets import Dataset
    from returnn.engine.base import EngineBase

# One module, whether started by rnn.py or by `python -m returnn`: the variables below exist once.
sys.modules.setdefault("returnn.__main__", sys.modules[__name__])

config: Config | None = None
engine: EngineBase | None = None
train_data: Dataset | None = None
dev_data: Dataset | None = None
eval_data: Dataset | None = None
_backend: Backend | None = None


def main(argv: Sequence[str] | None = None) -> None:
    """
    :param argv: program name, config files, options; default ``sys.argv``
    :raises SystemExit: with the exit code, if it is not 0
    """
    argv = sys.argv if argv is None else argv
    exit_code: Any = 1
    try:
        init(command_line_options=argv[1:])
        execute_main_task()
        exit_code = 0
    except SystemExit as exc:
        exit_code = exc.code
    except BaseException:
        debug.report_exception(*sys.exc_info())
    finalize(error_occurred=exit_code not in (0, None))
    if exit_code not in (0, None):
        sys.exit(exit_code)


def init(
    config_filename: str | None = None,
    command_line_options: Sequence[str] = (),
    config_updates: dict[str, Any] | None = None,
    extra_greeting: str | None = None,
) -> None:
    """All up to the task.

    :param config_filename: a config file, beside those of the command line
    :param command_line_options: config files, options, ``++key value``; without program name
    :param config_updates: typed values; they win over the files
    :param extra_greeting: printed behind the greeting
    """
    debug.install_exception_hooks()
    init_config(config_filename, command_line_options, extra_updates=config_updates)
    init_log()
    _print_greeting(command_line_options, extra_greeting)
    if threading.current_thread() is threading.main_thread():
        debug.install_signal_handlers()
    config = _get_config()
    task = get_task(config.value("task", "train"))
    _check_config(config)
    init_backend_engine()
    startup_callback = config.typed_value("startup_callback")
    if startup_callback:
        startup_callback(config=config)
    if task.needs_data and config.bool("need_data", True):
        init_data()
    if task.needs_engine:
        init_engine()


def init_config(
    config_filename: str | None = None,
    command_line_options: Sequence[str] = (),
    default_config: dict[str, Any] | None = None,
    extra_updates: dict[str, Any] | None = None,
) -> None:
    """Sets the global config.

    The command line and ``extra_updates`` are applied before the files, so that these can ask for the values,
    and again after them, so that they win.

    :param config_filename: a config file, beside those of the command line
    :param command_line_options: config files, options, ``++key value``
    :param default_config: typed values, from which all others start
    :param extra_updates: typed values
    """
    global config
    command_line = parse_command_line(command_line_options)
    config = Config()
    set_global_config(config)
    config.update(default_config or {})
    _override(config, extra_updates, command_line)
    if config_filename:
        config.load_file(config_filename)
    for file in command_line.config_files:
        config.load_file(file)
    _override(config, extra_updates, command_line)
    BehaviorVersion.set(config.int("behavior_version", None))


def _override(config: Config, extra_updates: dict[str, Any] | None, command_line: CommandLine) -> None:
    config.update(extra_updates or {})
    for key, value in command_line.settings:
        config.add_line(key, value)


def _get_config() -> Config:
    assert config is not None, "init_config comes first"
    return config


def init_log() -> None:
    """Opens the log targets of the config."""
    log.init_by_config(_get_config())


def _print_greeting(command_line_options: Sequence[str], extra_greeting: str | None) -> None:
    print(f"RETURNN starting up, version {__version__}, {process_text()}", file=log.v3)
    print("RETURNN command line options:", list(command_line_options), file=log.v4)
    print("Hostname:", socket.gethostname(), file=log.v4)
    if extra_greeting:
        print(extra_greeting, file=log.v1)


def _check_config(config: Config) -> None:
    config_keys.check_values(config)
    config_keys.warn_about_misspelled_keys(config)
    config_keys.check_not_yet(config)
    if config.bool("patch_atfork", False):
        print("Note: patch_atfork is not needed here, it has no effect.", file=log.v3)
    if config.bool("dry_run", False):
        print("Dry run, will not save anything.", file=log.v1)


def init_backend_engine(*, config_opts: dict[str, Any] | None = None) -> None:
    """Imports the backend and selects the device.

    :param config_opts: for a config made on the spot, if there is none yet
    """
    global config, _backend
    if config is None:
        config = Config(config_opts or {})
        set_global_config(config)
    elif config_opts:
        config.update(config_opts)
    _backend = backends.select_backend(config)
    backends.setup_backend(_backend, config)


def init_data() -> None:
    """Opens the datasets of the config, and says what they are."""
    global train_data, dev_data, eval_data
    datasets = load_datasets(_get_config())
    train_data, dev_data, eval_data = (datasets.get(name) for name in ("train", "dev", "eval"))
    print_summary(datasets)


def init_engine() -> None:
    """Makes the engine; no network yet."""
    global engine
    assert _backend is not None, "init_backend_engine comes first"
    engine = backends.make_engine(_backend, _get_config())


def execute_main_task() -> None:
    """Does what the config key ``task`` says."""
    start_time = time.monotonic()
    named = {"train": train_data, "dev": dev_data, "eval": eval_data}
    datasets = {name: dataset for name, dataset in named.items() if dataset is not None}
    config = _get_config()
    run = get_task(config.value("task", "train")).load()
    run(engine, config, datasets)
    print("elapsed:", hms_fraction(time.monotonic() - start_time), file=log.v3)


def finalize(error_occurred: bool = False) -> None:
    """Ends what the steps before have begun.

    :param error_occurred: whether the task did not end as it should
    """
    global engine
    try:
        if engine is not None:
            engine.finalize(error_occurred=error_occurred)
            engine = None
        if not error_occurred:
            print("Quitting", file=log.v4)
    finally:
        log.flush()


if __name__ == "__main__":
    main()
