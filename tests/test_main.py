"""The command line, as a user meets it: output and exit code."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.program import default_sigint

_root = Path(__file__).parent.parent
_fake = [sys.executable, "-m", "tests.fake_program", "++backend", "fake"]


def _environment(**env: str) -> dict[str, str]:
    python_path = os.pathsep.join(filter(None, [str(_root), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": python_path, **env}


def run(command: list[str], cwd: Path, **env: str) -> tuple[int, str, str]:
    """:return: exit code, stdout, stderr"""
    result = subprocess.run(command, cwd=cwd, env=_environment(**env), capture_output=True, text=True, timeout=120)
    return result.returncode, result.stdout, result.stderr


def fake(*args: str, cwd: Path, config: str = "", **env: str) -> tuple[int, str, str]:
    """Runs the program with the fake backend and a Python config."""
    (cwd / "my.config").write_text("#!rnn.py\n" + config)
    return run([*_fake[:3], "my.config", *_fake[3:], *args], cwd=cwd, **env)


@contextlib.contextmanager
def started(*args: str, cwd: Path, config: str = "") -> Iterator[subprocess.Popen[str]]:
    """The program while it runs; killed at the end, if it still does."""
    (cwd / "my.config").write_text("#!rnn.py\n" + config)
    command = [*_fake[:3], "my.config", *_fake[3:], *args]
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=default_sigint,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def wait_for_line(process: subprocess.Popen[str], text: str) -> None:
    for line in process.stdout:
        if text in line:
            return
    raise AssertionError(f"no line with {text!r}; stderr: {process.stderr.read()}")


_train = 'from tests.fake_dataset import FakeDataset\ntrain = FakeDataset(name="train")\n'


# The program itself


@pytest.mark.slow
def test_nop_with_tensorflow(tmp_path: Path) -> None:
    """Spec check 22: exit 0, start lines, Task: No-operation, Quitting."""
    command = [sys.executable, str(_root / "rnn.py"), "-x", "nop", "++use_tensorflow", "1", "++log_verbosity", "5"]
    code, out, _ = run(command, cwd=tmp_path)
    lines = out.splitlines()
    assert code == 0
    assert re.fullmatch(
        r"RETURNN starting up, version \S+, date/time \d{4}(-\d\d){5} \(UTC[+-]\d{4}\),"
        rf" pid \d+, cwd {tmp_path}, Python {re.escape(sys.executable)}",
        lines[0],
    )
    assert lines[1] == "RETURNN command line options: ['-x', 'nop', '++use_tensorflow', '1', '++log_verbosity', '5']"
    assert lines[2].startswith("Hostname: ")
    assert any(line.startswith("TensorFlow: 2.") for line in lines)
    assert lines[-3] == "Task: No-operation" and lines[-1] == "Quitting"
    assert re.fullmatch(r"elapsed: \d+:\d\d:\d\d\.\d{4}", lines[-2])


@pytest.mark.parametrize("command", [[str(_root / "rnn.py")], ["-m", "returnn"]], ids=["rnn.py", "-m"])
def test_version(tmp_path: Path, command: list[str]) -> None:
    """Spec check 22."""
    code, out, err = run([sys.executable, *command, "--version"], cwd=tmp_path)
    assert code == 0 and err == ""
    assert re.fullmatch(r"RETURNN version \S+, date/time \S+ \(UTC\S+\), pid \d+, cwd \S+, Python \S+\n", out)


def test_rnn_py_is_executable() -> None:
    """Configs have it as interpreter: #!rnn.py."""
    assert os.access(_root / "rnn.py", os.X_OK) and (_root / "rnn.py").read_text().startswith("#!/usr/bin/env python")


def test_unknown_option(tmp_path: Path) -> None:
    """Spec check 22: usage on stderr, exit 2."""
    code, out, err = run([sys.executable, str(_root / "rnn.py"), "--foo"], cwd=tmp_path)
    assert code == 2 and out == ""
    assert err.startswith("usage: rnn.py CONFIG") and "unrecognized arguments: --foo" in err


def test_help(tmp_path: Path) -> None:
    code, out, _ = run([sys.executable, str(_root / "rnn.py"), "-h"], cwd=tmp_path)
    assert code == 0 and "--task VALUE" in out and "(key max_seqs)" in out


# Mistakes: one clear message, exit code 1, no traceback


@pytest.mark.parametrize(
    ("config", "args", "message"),
    [
        ("", ["++task", "foo"], "unknown task: 'foo'. Tasks: train, "),
        (
            "",
            ["-x", "compute_prior"],
            "unknown task: 'compute_prior'. Did you mean \"compute_priors\"? compute_priors is not supported yet",
        ),
        ("", ["-x", "analyze"], "task 'analyze' is not there yet in this version ("),
        ("", ["-x", "serach"], "unknown task: 'serach'. Did you mean \"search\"? Tasks: train, "),
        ("", ["-x", "search"], "search_data = 'eval': the config has no such dataset."),
        ("", ["-x", "nop", "++backend", "torch"], "backend 'torch' is not there yet in this version ("),
        ("", ["-x", "nop", "++backend", "tenserflow"], "backend 'tenserflow' is unknown. Did you mean \"tensorflow\""),
        ("", ["-x", "nop", "++backend", ""], "No backend defined. Please set the config option 'backend'."),
        ("", ["-x", "nop", "++dry_run", "abc"], "config key 'dry_run': expected a bool, got 'abc'"),
        ("", ["-x", "nop", "++log_verbosity", "6"], "log_verbosity: must be 0..5 for each log target, not 6."),
        ("", ["-x", "nop", "++key"], "expect (++key, value) config tuples in remaining args: ['++key']"),
        ("cleanup_old_models = (True,)\n", ["-x", "nop"], "config key 'cleanup_old_models': must be a bool, or "),
        ("x = = 1\n", [], "my.config, line 2: SyntaxError: invalid syntax\n    x = = 1\n        ^"),
        ("x = y\n", [], "my.config, line 2: NameError: name 'y' is not defined\n    x = y"),
        ("", [], "no train files specified, check 'train' option: None"),
        ("def f(): pass\n", ["-x", "config:g"], "task 'config:g': the config has no such function"),
        ("", ["-x", "eval"], "specify epoch or load_epoch"),
        ("", ["-x", "forward"], "no eval data provided"),
        ("", ["-x", "initialize_model"], "task 'initialize_model': set the config key `model`"),
        ("behavior_version = -1\n", ["-x", "nop"], "behavior_version = -1: must be 0..31."),
    ],
)
def test_mistake(tmp_path: Path, config: str, args: list[str], message: str) -> None:
    code, out, err = fake(*args, cwd=tmp_path, config=config)
    output = out + err
    assert code == 1 and message in output, output
    assert "Traceback" not in output and "Quitting" not in output


def test_missing_config(tmp_path: Path) -> None:
    """Nothing of the log is set up at that time, so the message is on stderr, alone."""
    code, out, err = run([sys.executable, str(_root / "rnn.py"), "none.config"], cwd=tmp_path)
    assert code == 1 and out == ""
    assert err == f"config file not found: 'none.config' (current folder: {tmp_path}).\n"


def test_debug_shows_where_a_mistake_was_found(tmp_path: Path) -> None:
    """DEBUG=1 also opens a shell, which ends with its input."""
    (tmp_path / "empty").touch()
    with open(tmp_path / "empty") as stdin:
        command = [*_fake, "-x", "foo"]
        result = subprocess.run(
            command, cwd=tmp_path, env=_environment(DEBUG="1"), stdin=stdin, capture_output=True, text=True, timeout=120
        )
    assert result.returncode == 1 and "get_task" in result.stdout + result.stderr


# Tasks


def test_greeting_and_end(tmp_path: Path) -> None:
    """Verbosity 3 shows neither the command line nor Quitting."""
    code, out, err = fake("-x", "nop", cwd=tmp_path)
    lines = out.splitlines()
    assert code == 0 and err == ""
    assert lines[0].startswith("RETURNN starting up, version ")
    assert lines[1:3] == ["backend: set up", "Task: No-operation"] and lines[3].startswith("elapsed: 0:00:00.")
    assert len(lines) == 4


def test_train(tmp_path: Path) -> None:
    code, out, err = fake(
        "++model", f"{tmp_path}/models/m", cwd=tmp_path, config=_train + 'dev = lambda: FakeDataset(name="dev")\n'
    )
    lines = out.splitlines()
    assert code == 0 and err == "", err
    assert lines[2:9] == [
        "Train data:",
        "  input: 9 x 1",
        "  output: {'classes': (2, 1), 'data': (9, 2)}",
        "  FakeDataset, sequences: 3, frames: unknown",
        "Dev data:",
        "  FakeDataset, sequences: 3, frames: unknown",
        "engine: init_train_from_config {'dev_data': <FakeDataset 'dev' epoch=None>,"
        " 'train_data': <FakeDataset 'train' epoch=None>}",
    ]
    assert lines[9] == "engine: train {}" and lines[-1] == "engine: finalize {'error_occurred': False}"
    assert list((tmp_path / "models").iterdir()) == []  # the lock is gone


def test_second_run_on_the_same_model_is_refused(tmp_path: Path) -> None:
    """Until the first one is killed."""
    with started("++model", "m", "++behave", "sleep", cwd=tmp_path, config=_train) as first:
        wait_for_line(first, "engine: train")
        code, out, err = fake("++model", "m", cwd=tmp_path, config=_train)
        assert code == 1 and f"model 'm' is in use by another run: host {os.uname().nodename}, pid {first.pid}," in out
        assert "engine: train" not in out and "Traceback" not in out + err
    code, out, _ = fake("++model", "m", cwd=tmp_path, config=_train)
    assert code == 0 and "engine: train" in out


def test_need_data_off(tmp_path: Path) -> None:
    code, out, _ = fake(
        "-x", "config:f", cwd=tmp_path, config="train = 1 / 3\nneed_data = False\ndef f(): print('f')\n"
    )
    assert code == 0 and "\nf\n" in out and "Train data" not in out


def test_config_function(tmp_path: Path) -> None:
    code, out, _ = fake("-x", "config:f", cwd=tmp_path, config="def f(): print('hi from', __name__)\n")
    assert code == 0 and "hi from __returnn_config__\n" in out
    code, out, _ = fake("-x", "optional-config:g", cwd=tmp_path)
    assert code == 0 and "Task: the config has no function 'g', nothing to do" in out


def test_eval_of_an_epoch(tmp_path: Path) -> None:
    code, out, err = fake("-x", "eval", "-e", "3", "++eval_output_file", "o", cwd=tmp_path, config=_train)
    assert code == 0 and err == ""
    assert "\nEvaluate epoch 3\n" in out
    assert (
        "engine: eval_model {'lr_control_update_scores': True, 'output_file': 'o',"
        " 'output_per_seq_file_format': 'txt', 'output_per_seq_format': ['score']}" in out
    )


def test_eval_of_a_file_records_no_scores(tmp_path: Path) -> None:
    code, out, _ = fake("-x", "eval", "-L", "some/net.003", cwd=tmp_path)
    assert code == 0 and "Evaluate model some/net.003\n" in out and "'lr_control_update_scores': False" in out


_eval = 'from tests.fake_dataset import FakeDataset\neval = FakeDataset(name="eval")\nforward_batch_size = 100\n'


def test_forward(tmp_path: Path) -> None:
    """The default file name has the epoch of the loaded model, 7 here."""
    code, out, _ = fake("-x", "forward", "++forward_output_layer", "enc", cwd=tmp_path, config=_eval)
    assert code == 0 and "'output_file': 'dump-fwd-epoch-7.hdf', 'output_layer': 'enc', 'overwrite': False}" in out
    assert "'batch_size': 100" in out


def test_forward_does_not_overwrite(tmp_path: Path) -> None:
    (tmp_path / "out.hdf").touch()
    code, out, _ = fake("-x", "hpx", "-k", "out.hdf", cwd=tmp_path, config=_eval)
    assert code == 1 and "output file 'out.hdf' exists already." in out and "engine: forward_to_hdf" not in out
    assert (tmp_path / "out.hdf").exists()
    code, out, _ = fake("-x", "hpx", "-k", "out.hdf", "++forward_override_hdf_output", "1", cwd=tmp_path, config=_eval)
    assert code == 0 and "HDF file exists, delete now (forward_override_hdf_output).\n" in out
    assert "'overwrite': True}" in out
    assert (tmp_path / "out.hdf").exists()  # the engine replaces it, when the new one is whole


def test_forward_removes_what_a_killed_one_left(tmp_path: Path) -> None:
    stale, other = tmp_path / "out.hdf.0a1b2c3d.new_tmp", tmp_path / "out2.hdf.0a1b2c3d.new_tmp"
    stale.touch()
    other.touch()
    assert fake("-x", "forward", "-k", "out.hdf", cwd=tmp_path, config=_eval)[0] == 0
    assert not stale.exists() and other.exists()


def test_order_of_sources(tmp_path: Path) -> None:
    """Spec section 1.2: the config sees the command line while it runs, and the command line wins afterwards."""
    config = "x = config.int('x', 1)\nseen = x\nx = 5\ndef f(): print('seen', seen, 'x', x)\n"
    assert "seen 1 x 5\n" in fake("-x", "config:f", cwd=tmp_path, config=config)[1]
    assert "seen 3 x 3\n" in fake("-x", "config:f", "++x", "3", cwd=tmp_path, config=config)[1]


def test_startup_callback_runs_after_the_backend(tmp_path: Path) -> None:
    config = "def startup_callback(config, **_): print('callback', config.value('task', None), file=log.v1)\n"
    code, out, _ = fake("-x", "nop", cwd=tmp_path, config="from returnn.log import log\n" + config)
    assert code == 0 and "backend: set up\ncallback nop\nTask: No-operation\n" in out


def test_warnings_about_the_config(tmp_path: Path) -> None:
    config = "optimizer_epsiloon = 1e-8\ntorch_amp = 'bfloat16'\nwatch_memory = True\nAttNumHeads = 4\n"
    code, out, _ = fake("-x", "nop", cwd=tmp_path, config=config)
    warnings = [line for line in out.splitlines() if line.startswith("WARNING")]
    assert code == 0 and len(warnings) == 3
    assert warnings[0].endswith(
        'key "optimizer_epsiloon" is unknown and has no effect. Did you mean "optimizer_epsilon"?'
    )
    assert "option watch_memory is not supported yet (version " in warnings[1]
    assert "config key 'torch_amp' belongs to another backend than 'fake'" in warnings[2]


# Crashes and signals


def test_bug_has_a_full_report(tmp_path: Path) -> None:
    """In the log file too: without colors, with the local variables."""
    code, out, _ = fake("++behave", "bug", "++log", "a.log", cwd=tmp_path, config=_train)
    log = (tmp_path / "a.log").read_text()
    assert code == 1 and "Unhandled exception <class 'RuntimeError'> in thread " in out
    assert "secret_local = <local> 12345" in log and "RuntimeError: bug 12345" in log and "\x1b" not in log
    assert log.splitlines()[-1] == "engine: finalize {'error_occurred': True}"


def test_bug_in_another_thread_ends_the_program(tmp_path: Path) -> None:
    start_time = time.monotonic()
    code, out, _ = fake("++behave", "bug_in_thread", cwd=tmp_path, config=_train)
    assert code == 1 and time.monotonic() - start_time < 30
    assert "Unhandled exception <class 'RuntimeError'> in thread <Thread(worker" in out
    assert "RuntimeError: bug 12345" in out and "\nKeyboardInterrupt\n" in out


def test_bug_in_another_thread_of_a_background_job(tmp_path: Path) -> None:
    """A shell lets jobs behind ``&`` ignore Ctrl-C."""
    (tmp_path / "my.config").write_text("#!rnn.py\n" + _train)
    command = [*_fake[:3], "my.config", *_fake[3:], "++behave", "bug_in_thread"]
    result = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command],
        **{"cwd": tmp_path, "env": _environment(), "capture_output": True, "text": True, "timeout": 30},
    )
    assert result.returncode == 1 and "RuntimeError: bug 12345" in result.stdout


def test_open_line_is_not_lost(tmp_path: Path) -> None:
    assert "no line end\n" in fake("++behave", "partial_line", cwd=tmp_path, config=_train)[1]


def test_ctrl_c(tmp_path: Path) -> None:
    with started("++behave", "sleep", cwd=tmp_path, config=_train) as process:
        wait_for_line(process, "engine: train")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 1 and err == ""
    assert out == "KeyboardInterrupt\nengine: finalize {'error_occurred': True}\n"


def test_sigterm(tmp_path: Path) -> None:
    """Stacks of all threads on stderr, then the usual clean-up; the model's lock is gone."""
    with started("++behave", "sleep", "++model", "m", cwd=tmp_path, config=_train) as process:
        wait_for_line(process, "engine: train")
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=30)
    assert process.returncode == 143
    assert "most recent call first" in err and "fake_program.py" in err
    assert out == f"Got SIGTERM, exiting. (pid {process.pid})\nengine: finalize {{'error_occurred': True}}\n"
    assert not (tmp_path / "m.lock").exists()


@pytest.mark.parametrize("signal_number", [signal.SIGUSR1, signal.SIGUSR2])
def test_sigusr_shows_stacks_and_goes_on(tmp_path: Path, signal_number: int) -> None:
    with started("++behave", "sleep", cwd=tmp_path, config=_train) as process:
        wait_for_line(process, "engine: train")
        process.send_signal(signal_number)
        assert any("fake_program.py" in line for line in process.stderr)
        assert process.poll() is None
