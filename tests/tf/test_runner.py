"""A pass reports its steps, adds up, and stops at once, with the data named, when something is wrong."""

from __future__ import annotations

import math
import os
import re
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.log import log
from returnn.tensor import Tensor
from returnn.tf.compat import tf
from returnn.tf.engine import CancelTrainingException, Engine, Runner
from returnn.tf.runner import NonFiniteScoreError, cut_to_lengths
from returnn.util.errors import UserError
from tests.tf.engine_case import make_config, make_dataset, make_engine, make_seqs

pytestmark = pytest.mark.usefixtures("fake_network")


@pytest.fixture
def verbosity5() -> Iterator[None]:
    """All goes to stdout."""
    log.initialize([], [5])
    yield
    log.initialize([], [3])


def _runner(engine: Engine, *, epoch: int = 1, **opts: Any) -> Runner:
    engine.epoch = epoch
    dataset = opts.pop("dataset", engine.train_data)
    dataset.init_seq_order(epoch=epoch)
    return Runner(engine, dataset=dataset, **opts)


def test_step_lines_have_the_known_format(verbosity5: None, capsys: pytest.CaptureFixture[str]) -> None:
    """Each step: prefix, step, values sorted by key, time, elapsed, remaining, complete; then the closing line."""
    engine = make_engine(make_config(log_batch_size=True), dev=False)
    runner = _runner(engine, train=True)
    capsys.readouterr()
    runner.run("train epoch 1")
    lines = capsys.readouterr().out.splitlines()
    number = r"\d+\.\d+(?:e-\d+)?"
    pattern = (
        rf"train epoch 1, step (\d+), cost:output {number}, error:output {number}, loss {number}, "
        rf"max_size:classes (\d), max_size:data \2, num_seqs (\d), \d\.\d\d\d sec/step, elapsed 0:00:0\d, "
        r"exp\. remaining 0:00:0\d, complete (\d+\.\d\d)%"
    )
    matches = [m for m in (re.fullmatch(pattern, line) for line in lines) if m]
    assert [int(m[1]) for m in matches] == list(range(runner.num_steps))
    assert sum(int(m[3]) for m in matches) == 20
    fracs = [float(m[4]) for m in matches]
    assert fracs == sorted(fracs) and fracs[-1] == 100
    pattern = rf"train epoch 1, finished after {len(matches)} steps, 0:00:0\d elapsed \(\d+\.\d% computing time\)"
    assert any(re.fullmatch(pattern, line) for line in lines)
    assert "train epoch 1, sequences: 20 taken" in lines


def test_score_of_a_pass_is_the_mean_over_all_frames() -> None:
    """Two different batch sizes give the same score and error without training, as plain floats."""
    results = []
    for batch_size in (8, 1000):
        engine = make_engine(make_config(batch_size=batch_size), dev=False)
        runner = _runner(engine)
        runner.run("epoch 1 'train' eval")
        assert runner.finalized and type(runner.score["cost:output"]) is float
        assert runner.num_frames_accumulated["data"] == sum(len(s["data"]) for s in engine.train_data.data)
        results.append((runner.score["cost:output"], runner.error["error:output"]))
    assert results[0] == pytest.approx(results[1], rel=1e-6)


def test_training_moves_the_step_count_by_the_number_of_steps() -> None:
    """global_step is the number of steps after one epoch, and evaluation leaves it alone."""
    engine = make_engine(make_config(), dev=False)
    trainer = _runner(engine, train=True)
    trainer.run("train epoch 1")
    assert engine.graph.get_global_train_step() == trainer.num_steps > 1
    _runner(engine).run("eval")
    assert engine.graph.get_global_train_step() == trainer.num_steps
    assert engine.network.run_opts == {"epoch": 1, "dataset_name": "train"}
    assert engine.network.num_finished_runs == 2


def test_exp_loss_is_added(verbosity5: None, capsys: pytest.CaptureFixture[str]) -> None:
    """calculate_exp_loss gives ``cost:output:exp``, per step and as exp of the mean of the pass."""
    engine = make_engine(make_config(calculate_exp_loss=True), dev=False)
    runner = _runner(engine)
    runner.run("eval")
    assert runner.score["cost:output:exp"] == pytest.approx(math.exp(runner.score["cost:output"]))
    assert ", cost:output:exp " in capsys.readouterr().out


def _with_nan(seqs: list[dict[str, numpy.ndarray]], seq_idx: int) -> list[dict[str, numpy.ndarray]]:
    seqs[seq_idx]["data"][0] = math.nan
    return seqs


def test_nan_stops_at_once_with_step_and_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    """Sequences one by one, the third has a nan: step 2 is the last, seq-2 is named."""
    dataset = make_dataset("train", seqs=_with_nan(make_seqs(5, seed=1), 2))
    engine = make_engine(make_config(max_seqs=1), train=dataset, dev=False)
    runner = _runner(engine)
    runner.run("eval")
    assert not runner.finalized and isinstance(runner.run_exception, NonFiniteScoreError)
    assert str(runner.run_exception).startswith(
        "Inf/nan score in step 2. Not finite: cost:output, loss. Sequences: seq-2. "
    )
    assert runner.device_crash_batch == 2
    out = capsys.readouterr().out
    assert "Model seems broken, got inf or nan score.\nAccumulated scores: {'cost:output': nan" in out
    assert "Exception NonFiniteScoreError('Inf/nan score in step 2." in out
    assert "in step 2. (pid %i)" % os.getpid() in out


def test_nan_may_be_tolerated() -> None:
    """With stop_on_nonfinite_train_score = False the pass ends well, its score is nan."""
    dataset = make_dataset("train", seqs=_with_nan(make_seqs(5, seed=1), 2))
    engine = make_engine(make_config(max_seqs=1, stop_on_nonfinite_train_score=False), train=dataset, dev=False)
    runner = _runner(engine)
    runner.run("eval")
    assert runner.finalized and math.isnan(runner.score["cost:output"])


def test_error_of_the_dataset_is_reported_and_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """The thread's exception is the one of the run; the log has it with the step."""
    engine = make_engine(make_config(max_seqs=1), dev=False)
    runner = _runner(engine)
    get_data_slice = engine.train_data.get_data_slice

    def fail_at_3(seq_idx: int, *args: Any) -> numpy.ndarray:
        if seq_idx == 3:
            raise OSError("disk gone")
        return get_data_slice(seq_idx, *args)

    engine.train_data.get_data_slice = fail_at_3
    runner.run("eval")
    assert not runner.finalized and runner.device_crash_batch == 3
    out = capsys.readouterr().out
    assert "Exception in DataProvider thread: OSError('disk gone')" in out
    assert "Exception OSError('disk gone') in step 3. (pid %i)" % os.getpid() in out
    with pytest.raises(OSError, match="disk gone"):
        _runner(engine).run("eval", raise_exception=True)


def test_error_of_tensorflow_shows_what_was_fed(capsys: pytest.CaptureFixture[str]) -> None:
    """A failing op: its message, the step's meta info and the feed; the pass goes no further."""
    engine = make_engine(make_config(task="eval", allow_random_model_init=True), dev=False)
    check = tf.debugging.Assert(tf.constant(False), ["too bad"])
    runner = _runner(engine, extra_fetches={"check": check})
    runner.run("eval")
    assert isinstance(runner.run_exception, tf.errors.InvalidArgumentError)
    out = capsys.readouterr().out
    assert "TensorFlow exception:" in out and "too bad" in out
    assert "Step meta information:\n  {'seq_idx': [" in out
    assert re.search(r"\n  extern_data/placeholders/data/data:0: shape \(\d, \d, 3\), dtype float32, min/max ", out)


def test_keyboard_interrupt_ends_the_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """Ctrl-C in step 2: one line, and the exception is kept for the caller."""
    engine = make_engine(make_config(max_seqs=1), dev=False)

    def interrupt(**_values: Any) -> None:
        if runner.step_meta["seq_idx"] == [2]:
            raise KeyboardInterrupt

    runner = _runner(engine, extra_fetches={}, extra_fetches_callback=interrupt)
    runner.run("eval")
    assert isinstance(runner.run_exception, KeyboardInterrupt) and runner.device_crash_batch == 2
    assert "KeyboardInterrupt in step 2.\n" in capsys.readouterr().out


def test_sigterm_ends_the_pass(capsys: pytest.CaptureFixture[str]) -> None:
    """It comes as SystemExit(143): one line, no report of a bug."""
    engine = make_engine(make_config(max_seqs=1), dev=False)

    def end(**_values: Any) -> None:
        if runner.step_meta["seq_idx"] == [2]:
            raise SystemExit(143)

    runner = _runner(engine, extra_fetches={}, extra_fetches_callback=end)
    runner.run("eval")
    assert isinstance(runner.run_exception, SystemExit) and runner.device_crash_batch == 2
    out = capsys.readouterr().out
    assert "SystemExit(143) in step 2.\n" in out and "Exception" not in out and "Feed dict" not in out


def test_mistakes_of_users_in_the_data_have_one_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    """A label 7 of 2: thread and step have the start of the text, all of it is what the program ends with."""
    seqs = make_seqs(3, seed=1)
    seqs[1]["classes"][0] = 7
    engine = make_engine(make_config(max_seqs=1), train=make_dataset("train", seqs=seqs), dev=False)
    runner = _runner(engine)
    runner.run("eval")
    assert "Correct the data, or the dim." in str(runner.run_exception)
    out = capsys.readouterr().out
    start = (
        re.escape("UserError(\"Label out of range: data key 'classes' of sequence 'seq-1' of ") + r".{,40}\.\.\.\"\)"
    )
    assert re.search(rf"^Exception in DataProvider thread: {start}$", out, re.MULTILINE)
    assert re.search(rf"^Exception {start} in step 1\. \(pid \d+\)$", out, re.MULTILINE)
    assert "Correct the data" not in out


def test_interrupt_does_not_wait_long_for_the_data(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Sequence 5 hangs when Ctrl-C comes: a warning after the short time, here 0.1 seconds, not the long one."""
    monkeypatch.setattr("returnn.tf.data_pipeline._JOIN_TIMEOUT_SECONDS_IN_HURRY", 0.1)
    engine = make_engine(make_config(max_seqs=1), dev=False)
    go_on, hangs = threading.Event(), threading.Event()
    get_data_slice = engine.train_data.get_data_slice

    def hang_at_5(seq_idx: int, *args: Any) -> numpy.ndarray:
        if seq_idx == 5:
            hangs.set()
            go_on.wait(60)
        return get_data_slice(seq_idx, *args)

    def interrupt(**_values: Any) -> None:
        assert hangs.wait(60)
        raise KeyboardInterrupt

    engine.train_data.get_data_slice = hang_at_5
    runner = _runner(engine, extra_fetches={}, extra_fetches_callback=interrupt)
    start = time.monotonic()
    runner.run("eval")
    assert time.monotonic() - start < 20
    go_on.set()
    assert isinstance(runner.run_exception, KeyboardInterrupt)
    out = capsys.readouterr()
    assert "The dataset still loads a batch and does not answer." in out.out + out.err


def test_cancel_flag_ends_the_pass() -> None:
    """Set before the first step."""
    engine = make_engine(make_config(), dev=False)
    runner = _runner(engine)
    runner.cancel_flag = True
    runner.run("eval")
    assert isinstance(runner.run_exception, CancelTrainingException)


def test_extra_fetches_come_raw_or_by_sequence() -> None:
    """A TF tensor as it is; a Tensor as one array a sequence without padding; None stays None."""
    config = make_config(task="eval", allow_random_model_init=True)
    engine = make_engine(config, dev=False)
    data = engine.network.extern_data.data["data"]
    got: list[dict[str, Any]] = []
    tensor = Tensor("x", shape=(None, 3), dtype="float32")
    tensor.placeholder = data.placeholder
    tensor.size_placeholder[0] = data.size_placeholder[0]
    runner = _runner(
        engine,
        eval=False,
        extra_fetches={"raw": data.placeholder, "func": lambda: data.placeholder, "seqs": tensor, "none": None},
        extra_fetches_callback=lambda **values: got.append(values),
    )
    runner.run("epoch 1 forward", raise_exception=True)
    assert all(values["none"] is None and values["raw"].ndim == 3 for values in got)
    numpy.testing.assert_array_equal(got[0]["raw"], got[0]["func"])
    seqs = [seq for values in got for seq in values["seqs"]]
    order = engine.train_data.get_current_seq_order()
    for seq, corpus_idx in zip(seqs, order, strict=True):
        numpy.testing.assert_array_equal(seq, engine.train_data.data[corpus_idx]["data"])


def _events(folder: Path) -> dict[str, dict[int, float]]:
    """
    :return: tag -> global step -> value
    """
    (file,) = folder.glob("events.*")
    tags: dict[str, dict[int, float]] = {}
    for event in tf.compat.v1.train.summary_iterator(str(file)):
        for value in event.summary.value:
            tags.setdefault(value.tag, {})[event.step] = value.simple_value
    return tags


def test_event_files_have_the_scalars_of_each_step(tmp_path: Path) -> None:
    """One folder for the training, with a value of loss and error for each global step."""
    engine = make_engine(make_config(tf_log_dir=str(tmp_path)), dev=False)
    runner = _runner(engine, train=True)
    runner.run("train epoch 1")
    engine.finalize()
    (folder,) = tmp_path.iterdir()
    assert re.fullmatch(r"train-\d{4}(-\d\d){5}", folder.name)
    tags = _events(folder)
    assert set(tags) == {
        *("objective/loss", "objective/constraints", "objective/objective"),
        *("objective/loss/loss_output", "objective/loss/error_output"),
    }
    assert all(list(values) == list(range(runner.num_steps)) for values in tags.values())
    assert tags["objective/loss"] == tags["objective/objective"]
    assert set(tags["objective/constraints"].values()) == {0}


def test_folder_of_events_says_what_the_run_was(tmp_path: Path) -> None:
    """A few lines, and the config with these lines as comments; once, not in the folder of each evaluation."""
    (tmp_path / "my.config").write_text("#!rnn.py\nx = 1")
    config = make_config(tf_log_dir=str(tmp_path / "logs"))
    config.load_file(str(tmp_path / "my.config"))
    engine = make_engine(config, dev=False)
    _runner(engine, train=True).run("train epoch 1")
    _runner(engine, dataset=make_dataset("dev")).run("epoch 1 'dev' eval")
    engine.finalize()
    train, dev = sorted((tmp_path / "logs").iterdir(), key=lambda folder: folder.name.startswith("dev-1-"))
    assert len(list(dev.iterdir())) == 1
    start_time = train.name.removeprefix("train-")
    info = train / ("returnn.%s.%s.%i.log" % (start_time, socket.gethostname(), os.getpid()))
    lines = info.read_text().splitlines()
    assert lines[0] == "Returnn log file:"
    keys = [line.split(": ")[0] for line in lines[1:]]
    assert keys == ["Time", "Call", "Path", "Hostname", "PID", "Returnn", "TensorFlow", "Config files"]
    copy = (train / "my.config").read_text()
    assert copy == "#!rnn.py\nx = 1\n\n" + "".join("# %s\n" % line for line in lines)
    assert len(list(train.iterdir())) == 3


def test_no_event_files_where_one_cannot_write(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A file where the folder should be: a warning, and the pass ends well."""
    (tmp_path / "logs").write_text("")
    engine = make_engine(make_config(tf_log_dir=str(tmp_path / "logs")), dev=False)
    runner = _runner(engine, train=True)
    runner.run("train epoch 1")
    assert runner.finalized
    assert capsys.readouterr().out.count("Cannot write TensorBoard events to") == 1


def test_nothing_to_work_on_is_a_user_error() -> None:
    """All sequences are of length zero, or longer than the limit: the counts are in the message."""
    empty = [{"data": numpy.zeros((0, 3), "float32"), "classes": numpy.zeros(0, "int32")}] * 2
    engine = make_engine(make_config(), train=make_dataset("train", seqs=empty), dev=False)
    with pytest.raises(UserError, match="StaticDataset 'train' has nothing to work on .* 0 taken, 2 of length zero"):
        _runner(engine).run("eval")


def test_sequences_of_length_zero_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    """One among five is left out, and the closing lines say so."""
    seqs = make_seqs(5, seed=1)
    seqs[3] = {"data": numpy.zeros((0, 3), "float32"), "classes": numpy.zeros(0, "int32")}
    engine = make_engine(make_config(), train=make_dataset("train", seqs=seqs), dev=False)
    _runner(engine).run("eval")
    assert "eval, sequences: 4 taken, 1 of length zero\n" in capsys.readouterr().out


def test_rows_are_cut_to_their_lengths() -> None:
    """Lengths by row; one for all; by sequence, where the rows are two sequences times a beam of two."""
    rows = numpy.arange(24).reshape(4, 3, 2)
    lens = [len(row) for row in cut_to_lengths(rows, {0: numpy.array([3, 0, 1, 2], "int32")})]
    assert lens == [3, 0, 1, 2]
    assert [row.shape for row in cut_to_lengths(rows, {1: numpy.array(1, "int32")})] == [(3, 1)] * 4
    cut = cut_to_lengths(rows, {0: numpy.array([1, 2], "int32")})
    assert [row.tolist() for row in cut[1:3]] == [[[6, 7]], [[12, 13], [14, 15]]]
