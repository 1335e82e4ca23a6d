"""The log: levels, targets, formats."""

from __future__ import annotations

import logging
import os
import re
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from returnn.config import Config
from returnn.log import Log
from returnn.util.errors import ConfigError, UserError


@pytest.fixture
def log() -> Iterator[Log]:
    """One of its own; the stdlib logger behind it is shared, so afterwards it gets its handlers back."""
    logger = logging.getLogger("returnn")
    handlers = [(handler, handler.level) for handler in logger.handlers]
    for handler, _ in handlers:
        logger.removeHandler(handler)
    yield Log()
    for handler in logger.handlers[:]:
        logger.removeHandler(handler)
        handler.close()
    for handler, _ in handlers:
        logger.addHandler(handler)
    logger.propagate = False


def say_each_level(log: Log) -> None:
    for level in range(1, 6):
        print(level, file=getattr(log, f"v{level}"))
    log.flush()


def levels(text: str) -> str:
    return "".join(text.split())


def from_config(log: Log, /, **options: object) -> None:
    log.init_by_config(Config(options))


def test_before_initialization_stdout_shows_three_levels(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    say_each_level(log)
    assert not log.initialized and levels(capsys.readouterr().out) == "123"


def test_without_options_stdout_shows_three_levels(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """Spec check 21."""
    from_config(log)
    say_each_level(log)
    assert log.initialized and levels(capsys.readouterr().out) == "123"
    assert log.verbose == [True, True, True, True, False, False] and log.filename is None


def test_verbosity_by_target(log: Log, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Spec check 21: stdout comes last."""
    file = tmp_path / "log" / "a.log"
    from_config(log, log=[str(file)], log_verbosity=[5, 1])
    say_each_level(log)
    assert levels(file.read_text()) == "12345" and levels(capsys.readouterr().out) == "1"
    assert log.verbose == [True] * 6 and log.filename == str(file)


def test_missing_verbosity_is_three(log: Log, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Spec check 21: two files and [4, 2] leave stdout at 3."""
    from_config(log, log=[f"{tmp_path}/a.log", f"{tmp_path}/b.log"], log_verbosity=[4, 2])
    say_each_level(log)
    assert levels((tmp_path / "a.log").read_text()) == "1234" and levels((tmp_path / "b.log").read_text()) == "12"
    assert levels(capsys.readouterr().out) == "123"


def test_one_verbosity_serves_all(log: Log, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    from_config(log, log=[f"{tmp_path}/a.log"], log_verbosity=4)
    say_each_level(log)
    assert levels((tmp_path / "a.log").read_text()) == levels(capsys.readouterr().out) == "1234"


@pytest.mark.parametrize("verbosity", [6, -1])
def test_verbosity_out_of_range(log: Log, verbosity: int) -> None:
    """Spec check 21."""
    with pytest.raises(ConfigError, match=r"log_verbosity: must be 0\.\.5 for each log target, not"):
        from_config(log, log_verbosity=verbosity)


def test_file_in_the_current_folder_is_appended_to(log: Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.log").write_text("before\n")
    from_config(log, log="a.log")
    print("after", file=log.v1)
    assert (tmp_path / "a.log").read_text() == "before\nafter\n"


def test_date_in_a_file_name(log: Log, tmp_path: Path) -> None:
    """UTC."""
    before = time.strftime("%Y-%m-%d-%H-%M-%S", time.gmtime())
    from_config(log, log=f"{tmp_path}/$date.log")
    after = time.strftime("%Y-%m-%d-%H-%M-%S", time.gmtime())
    (file,) = tmp_path.iterdir()
    assert before <= file.stem <= after


def test_command_gets_all_lines_before_the_log_is_closed(log: Log, tmp_path: Path) -> None:
    from_config(log, log=f"|cat > {tmp_path}/out", log_verbosity=[5, 0])
    print("one\ntwo", file=log.v5)
    log.initialize()  # closes the targets before
    assert (tmp_path / "out").read_text() == "one\ntwo\n"


def test_command_that_ends_is_reported_once(log: Log, capfd: pytest.CaptureFixture[str]) -> None:
    from_config(log, log="|exit 0", log_verbosity=[5, 0])
    handler = logging.getLogger("returnn").handlers[0]
    handler._process.wait(timeout=10)
    for _ in range(5):
        print("x" * 100, file=log.v1)
    assert capfd.readouterr().err == "WARNING: log target '|exit 0' gets no more lines: Broken pipe\n"


def test_handler_as_target(log: Log) -> None:
    records = []

    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            records.append((record.levelno, record.getMessage()))

    log.initialize([Handler()], [5, 0])
    say_each_level(log)
    assert records == [(21, "1"), (20, "2"), (12, "3"), (11, "4"), (10, "5")]


def test_file_that_cannot_be_written(log: Log, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="log target .*: cannot open the file: Is a directory"):
        from_config(log, log=str(tmp_path))


@pytest.mark.parametrize("target", ["", 3])
def test_invalid_target(log: Log, target: object) -> None:
    with pytest.raises(ConfigError, match="invalid log target"):
        log.initialize([target])


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("default", "text"),
        ("raw", "text"),
        ("timed", r"\d{4}-\d\d-\d\d,\d\d:\d\d:\d\d\.\d\dS text"),
        ("verbose", r"DEBUG - \d{4}-\d\d-\d\d,\d\d:\d\d:\d\d\.\d\dS text"),
    ],
)
def test_formats(log: Log, capsys: pytest.CaptureFixture[str], name: str, pattern: str) -> None:
    from_config(log, log_format=name)
    print("text", file=log.v3)
    assert re.fullmatch(pattern + "\n", capsys.readouterr().out)


def test_fraction_of_timed_is_that_of_the_second(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """7.05 seconds are shown as 07.05."""
    from_config(log, log_format="timed")
    record = logging.LogRecord("returnn", logging.INFO, "", 0, "text", (), None)
    record.created, record.msecs = 7.05, 50.0
    logging.getLogger("returnn").handle(record)
    assert ":07.05S text" in capsys.readouterr().out


def test_unknown_format(log: Log) -> None:
    with pytest.raises(ConfigError, match="log_format: 'tmied' is unknown. Did you mean \"timed\"?"):
        from_config(log, log_format="tmied")


def test_one_record_for_each_line_end(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """An open line waits for its end, a flush does not cut it or make an empty one."""
    print("a", end="", file=log.v1)
    log.v1.flush()
    assert capsys.readouterr().out == ""
    print("b\nc", file=log.v1)
    assert capsys.readouterr().out == "ab\nc\n"
    print("rest", end="", file=log.v1)
    log.flush()
    assert capsys.readouterr().out == "rest\n"


def test_threads_do_not_mix_within_a_line(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    def say(letter: str) -> None:
        for _ in range(50):
            print(*[letter] * 10, file=log.v1)

    threads = [threading.Thread(target=say, args=(letter,)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 200 and all(len(set(line.split())) == 1 for line in lines)


def test_warnings(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """A deprecation is said once for each text."""
    log.print_warning("odd")
    for _ in range(2):
        log.print_deprecation_warning("use b", behavior_version=12)
    log.print_deprecation_warning("use c")
    assert capsys.readouterr().out == (
        "WARNING: odd\n"
        "DEPRECATION WARNING: use b\nThis will be disallowed with behavior_version 12.\n"
        "DEPRECATION WARNING: use c\nThis might be disallowed with a future behavior_version.\n"
    )


def test_config_that_imports_log_sets_no_target(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """`from returnn.log import log` at the top of a config defines the key."""
    from_config(log, log=log)
    print("x", file=log.v1)
    assert capsys.readouterr().out == "x\n"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_full_disk_is_told_once(log: Log, capsys: pytest.CaptureFixture[str]) -> None:
    """The other targets go on, and nothing fails, neither at a flush nor at the end."""
    from_config(log, log="/dev/full")
    for _ in range(3):
        print("hello", file=log.v1)
        log.flush()
    log.initialize()
    out, err = capsys.readouterr()
    assert out == "hello\n" * 3
    assert err == "WARNING: log target '/dev/full' gets no more lines: No space left on device\n"
