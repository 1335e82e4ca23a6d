"""A training learns, resumes exactly, and fails with everything in its place."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.config import Config
from returnn.learning_rate_control import read_learning_rate_file
from returnn.log import log
from returnn.tf.checkpoint import read_checkpoint
from returnn.tf.engine import Engine
from returnn.tf.seeds import network_and_graph_seed
from returnn.util.behavior_version import BehaviorVersion
from returnn.util.errors import ConfigError, UserError
from tests.tf.engine_case import make_config, make_dataset, make_engine, make_seqs, run_training


@pytest.fixture
def verbosity4() -> Iterator[None]:
    """All but step lines goes to stdout."""
    log.initialize([], [4])
    yield
    log.initialize([], [3])


def _scores(folder: Path) -> dict[int, Any]:
    """
    :return: epoch -> learning rate and scores, without the time entry
    """
    data = read_learning_rate_file(str(folder / "learning_rates"))
    for epoch_data in data.values():
        epoch_data.meta.pop("epoch_train_time_secs", None)
    return {epoch: (d.learning_rate, d.error, d.meta) for epoch, d in data.items()}


def _assert_same_values(a: str, b: str) -> None:
    values_a, values_b = read_checkpoint(a), read_checkpoint(b)
    assert values_a.keys() == values_b.keys()
    for name, value in values_a.items():
        numpy.testing.assert_array_equal(value, values_b[name], err_msg=name)


def _assert_same_result(folder: Path, other: Path, *, epoch: int) -> None:
    """Model and optimizer bit by bit, and the learning-rate file."""
    for suffix in ("", ".optim"):
        _assert_same_values(str(folder / ("m.%03d" % epoch)) + suffix, str(other / ("m.%03d" % epoch)) + suffix)
    assert _scores(folder) == _scores(other)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of a training of 3 epochs that nothing disturbed."""
    folder = tmp_path_factory.mktemp("unbroken")
    run_training(make_config(folder, num_epochs=3))
    return folder


def test_training_learns(unbroken: Path) -> None:
    """The score of dev falls in each epoch."""
    scores = [error["dev_score"] for _, error, _ in _scores(unbroken).values()]
    assert scores == sorted(scores, reverse=True)


def test_files_of_a_training(unbroken: Path) -> None:
    """A model for each epoch, the optimizer of the newest two, the state file; no temporary file."""
    models = {"m.%03d.%s" % (e, x) for e in (1, 2, 3) for x in ("index", "meta", "data-00000-of-00001")}
    optimizers = {"m.%03d.optim.%s" % (e, x) for e in (2, 3) for x in ("index", "data-00000-of-00001")}
    assert set(os.listdir(unbroken)) == models | optimizers | {"checkpoint", "learning_rates"}
    assert 'model_checkpoint_path: "m.003"' in (unbroken / "checkpoint").read_text()


def test_checkpoint_has_the_parameters_and_global_step(unbroken: Path) -> None:
    """Exactly these names; the step is the sum of the steps of the epochs."""
    values = read_checkpoint(str(unbroken / "m.003"))
    assert sorted(values) == ["global_step", "output/W", "output/b"]
    assert values["global_step"].dtype == "int64"
    metas = [meta for _, _, meta in _scores(unbroken).values()]
    assert values["global_step"] == sum(meta["epoch_num_train_steps"] for meta in metas)
    assert [meta["global_train_step"] for meta in metas] == [
        0,
        metas[0]["epoch_num_train_steps"],
        metas[0]["epoch_num_train_steps"] + metas[1]["epoch_num_train_steps"],
    ]
    assert metas[0]["effective_learning_rate"] == 0.01


def test_checkpoint_of_two_layers(tmp_path: Path) -> None:
    """Linear and softmax: these five names, nothing of the optimizer; 2 epochs of 6 steps are 12 steps.

    The net is not recurrent, so max_seqs 1 means two sequences a step.
    """
    network = {
        "h": {"class": "linear", "activation": "tanh", "n_out": 5, "from": "data"},
        "output": {"class": "softmax", "loss": "ce", "from": "h"},
    }
    config = make_config(tmp_path, network=network, max_seqs=1, num_epochs=2)
    run_training(config, train=make_dataset("train", num_seqs=12), dev=False)
    values = read_checkpoint(str(tmp_path / "m.002"))
    assert {name: value.shape for name, value in values.items()} == {
        **{"h/W": (3, 5), "h/b": (5,), "output/W": (5, 2), "output/b": (2,), "global_step": ()}
    }
    assert values["global_step"] == 12


def test_two_runs_have_identical_step_losses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With a random seed, dropout, and data in random order."""
    network = {"output": {"class": "softmax", "loss": "ce", "from": "data", "dropout": 0.3}}
    logs = []
    log.initialize([], [5])
    try:
        for name in ("a", "b"):
            (tmp_path / name).mkdir()
            run_training(make_config(tmp_path / name, network=network, random_seed=3))
            logs.append(re.findall(r"epoch \d.* step \d+, cost.*, loss [^,]+", capsys.readouterr().out))
    finally:
        log.initialize([], [3])
    assert logs[0] == logs[1] and len(set(logs[0])) == len(logs[0]) > 10


def test_two_runs_are_identical(unbroken: Path, tmp_path: Path) -> None:
    """Same config, same parameters and scores, bit by bit."""
    run_training(make_config(tmp_path, num_epochs=3))
    _assert_same_result(unbroken, tmp_path, epoch=3)


def test_resumed_equals_unbroken(unbroken: Path, tmp_path: Path) -> None:
    """One epoch, then the same with three: the optimizer goes on too."""
    run_training(make_config(tmp_path, num_epochs=1))
    run_training(make_config(tmp_path, num_epochs=3))
    _assert_same_result(unbroken, tmp_path, epoch=3)


class _Killed(BaseException):
    """Ends a run at a chosen moment."""


def _run_killed_at(config: Config, monkeypatch: pytest.MonkeyPatch, *, num_renames: int) -> bool:
    """
    :param num_renames: the run ends just before this one, from 0, and nothing is cleaned up
    :return: whether it was killed
    """
    real_replace, real_remove = os.replace, os.remove
    seen = 0

    def replace(src: str, dst: str, **kwargs: Any) -> None:
        nonlocal seen
        if seen >= num_renames:
            raise _Killed
        seen += 1
        real_replace(src, dst, **kwargs)

    def remove(path: str, **kwargs: Any) -> None:
        if seen < num_renames:
            real_remove(path, **kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", replace)
        patch.setattr(os, "remove", remove)
        try:
            run_training(config)
        except _Killed:
            return True
    return False


@pytest.mark.slow
def test_killed_between_any_two_file_operations_goes_on_exactly(
    unbroken: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run of 3 epochs is killed before its k-th rename for each k; the next run ends as the unbroken one."""
    num_renames, killed = 0, True
    while killed:
        folder = tmp_path / str(num_renames)
        folder.mkdir()
        killed = _run_killed_at(make_config(folder, num_epochs=3), monkeypatch, num_renames=num_renames)
        run_training(make_config(folder, num_epochs=3))
        _assert_same_result(unbroken, folder, epoch=3)
        assert set(os.listdir(folder)) == set(os.listdir(unbroken))
        num_renames += 1
    assert num_renames >= 3 * 8  # optimizer 2, model 3, state 1, learning rates 2, an epoch


def _damage(path: Path) -> None:
    with open(path, "r+b") as f:
        f.truncate(os.path.getsize(path) // 2)


@pytest.mark.parametrize("file", ["m.003.data-00000-of-00001", "m.003.index", "m.003.optim.index"])
def test_damaged_newest_checkpoint_is_skipped(
    unbroken: Path, tmp_path: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Half of a file of epoch 3 is lost: a message, epoch 3 is trained again from 2, with the same result."""
    run_training(make_config(tmp_path, num_epochs=3))
    _damage(tmp_path / file)
    capsys.readouterr()
    run_training(make_config(tmp_path, num_epochs=3))
    out = capsys.readouterr().out
    assert re.search(
        r"The checkpoint .*m\.003(\.optim)?' is damaged: .*\nGoing on without it, from the one before", out
    )
    assert "start training at epoch 3" in out
    _assert_same_result(unbroken, tmp_path, epoch=3)


def test_only_damaged_checkpoints_are_an_error(unbroken: Path, tmp_path: Path) -> None:
    """Both epochs are empty: nothing is trained over them, also by a second engine, unless start_epoch says so."""
    run_training(make_config(tmp_path, num_epochs=2))
    for epoch in (1, 2):
        (tmp_path / ("m.%03d.index" % epoch)).write_bytes(b"")
    for _ in range(2):
        with pytest.raises(
            UserError, match=r"^All 2 checkpoints of model .*/m' are damaged\. Remove them, or set start"
        ):
            make_engine(make_config(tmp_path, num_epochs=3))
    run_training(make_config(tmp_path, num_epochs=3, start_epoch=1))
    _assert_same_result(unbroken, tmp_path, epoch=3)


def test_unreadable_newest_checkpoint_is_an_error(tmp_path: Path) -> None:
    """Nobody goes on from the one before, as with a damaged one."""
    run_training(make_config(tmp_path, num_epochs=2))
    os.remove(tmp_path / "m.002.data-00000-of-00001")
    os.mkdir(tmp_path / "m.002.data-00000-of-00001")
    with pytest.raises(UserError, match="m.002' cannot be read: .*data-00000-of-00001': Is a directory"):
        make_engine(make_config(tmp_path, num_epochs=3))


def test_missing_learning_rate_file_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The model of epoch 1 is there, the history is not."""
    run_training(make_config(tmp_path, num_epochs=1))
    os.remove(tmp_path / "learning_rates")
    assert "there is no learning_rate_file" not in capsys.readouterr().out
    run_training(make_config(tmp_path, num_epochs=2))
    assert "warning: the training goes on at epoch 2, but there is no learning_rate_file" in capsys.readouterr().out


@pytest.mark.parametrize(
    ["opts", "text"],
    [
        ({"save_interval": 0}, "save_interval = 0: must be 1 or more"),
        ({"batch_size": 0}, "batch_size = 0: must be greater than 0"),
        ({"batch_size": 500.7}, "batch_size = 500.7: must be a whole number"),
        ({"max_seq_length": 3.5}, "max_seq_length = 3.5: must be a whole number"),
        ({"start_batch": 3}, "custom start_batch '3' not supported"),
        (
            {"network": {"#config": {"learning_rate": 0.1, "batch_size": 9}}},
            'network["#config"] is not supported yet. Set in the config itself: learning_rate, batch_size',
        ),
    ],
)
def test_wrong_options_are_told_before_the_graph_is_built(opts: dict[str, Any], text: str) -> None:
    """Nothing is made yet."""
    engine = Engine(make_config(**opts))
    with pytest.raises(ConfigError, match=re.escape(text)):
        engine.init_train_from_config(engine.config, train_data=make_dataset("train"))
    assert engine.graph is None


def test_infinite_sequence_length_is_no_limit(capsys: pytest.CaptureFixture[str]) -> None:
    """All 20 sequences are taken."""
    run_training(make_config(num_epochs=1, max_seq_length=math.inf, inc_seq_length=1))
    assert "train epoch 1, sequences: 20 taken\n" in capsys.readouterr().out


_LSTM = {
    "lstm": {"class": "rec", "unit": "lstm", "n_out": 3, "from": "data"},
    "output": {"class": "softmax", "loss": "ce", "from": "lstm"},
}


def test_other_length_of_the_target_is_a_user_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """seq-2 lacks a label: its step names it, with both lists of lengths, and without reports of a bug."""
    seqs = make_seqs(4, seed=1)
    lens = [len(seq["data"]) for seq in seqs]
    seqs[2]["classes"] = seqs[2]["classes"][:-1]
    with pytest.raises(UserError) as exc_info:
        config = make_config(tmp_path, network=_LSTM, batch_size=1000)
        run_training(config, train=make_dataset("train", seqs=seqs), dev=False)
    assert str(exc_info.value).splitlines() == [
        "Loss ce of layer output: the lengths of target classes are not those of the output.",
        "Sequences: seq-0, seq-1, seq-2, seq-3",
        "Lengths: [%i %i %i %i]" % (lens[0], lens[1], lens[2] - 1, lens[3]),
        "of the output: [%i %i %i %i]" % tuple(lens),
        "They differ for: sequence 'seq-2' (%i, of the output %i)" % (lens[2] - 1, lens[2]),
        "Correct the data, or the layers that change the length of the output.",
    ]
    out = capsys.readouterr().out
    assert re.search(r"^Exception UserError\('Loss ce .*'\) in step 0\. \(pid", out, re.MULTILINE)
    assert "TensorFlow exception" not in out and "Feed dict" not in out


def test_random_ops_of_users_are_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    """One in an eval layer is; those of initializers and of dropout are not, and resume exactly."""
    network = {
        "noise": {"class": "eval", "from": "data", "eval": "source(0) + tf.random.uniform(tf.shape(source(0)))"},
        "output": {"class": "softmax", "loss": "ce", "from": "noise", "dropout": 0.3},
    }
    make_engine(make_config(network=network), dev=False).finalize()
    notes = re.findall(r"Note: these random ops start anew .*: (.*)\n", capsys.readouterr().out)
    assert notes == ["noise/random_uniform/RandomUniform"]
    del network["noise"]
    network["output"]["from"] = "data"
    make_engine(make_config(network=network), dev=False).finalize()
    assert "random ops" not in capsys.readouterr().out


def test_damaged_checkpoint_asked_for_is_an_error(tmp_path: Path) -> None:
    """With ``load`` or another task there is no going back to something else."""
    run_training(make_config(tmp_path, num_epochs=1))
    _damage(tmp_path / "m.001.data-00000-of-00001")
    with pytest.raises(UserError, match="is damaged"):
        make_engine(make_config(tmp_path, task="eval", load_epoch=1))


def test_folder_without_optimizer_state_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """As another program leaves it: noted once, and the training continues."""
    run_training(make_config(tmp_path, num_epochs=1))
    for name in os.listdir(tmp_path):
        if ".optim." in name:
            os.remove(tmp_path / name)
    capsys.readouterr()
    run_training(make_config(tmp_path, num_epochs=2))
    out = capsys.readouterr().out
    assert out.count("Note: the optimizer starts anew in 6 of its 6 variables") == 1
    assert "start training at epoch 2" in out


def test_missing_evaluation_of_the_last_epoch_comes_first(
    unbroken: Path, tmp_path: Path, verbosity4: None, capsys: pytest.CaptureFixture[str]
) -> None:
    """Killed between model and dev score of the last epoch: the next run only evaluates, with the same score."""
    run_training(make_config(tmp_path, num_epochs=3))
    expected = (tmp_path / "learning_rates").read_text()
    lines = [line for line in expected.splitlines() if line != "" and not line.startswith("'dev_")]
    before, _, after = expected.partition("3: EpochData(")
    (tmp_path / "learning_rates").write_text(
        before + "3: EpochData(" + "\n".join(x for x in after.split("\n") if not x.startswith("'dev_"))
    )
    assert len(lines) < len(expected.splitlines())
    capsys.readouterr()
    run_training(make_config(tmp_path, num_epochs=3))
    out = capsys.readouterr().out
    assert "Last epoch model not yet evaluated on dev. Doing that now.\n" in out
    assert "No epochs to train, start_epoch: 4, final_epoch: 3\n" in out
    assert (tmp_path / "learning_rates").read_text() == expected


def test_finished_training_again_does_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The line that says so, and no file changes."""
    run_training(make_config(tmp_path, num_epochs=1))
    before = {name: os.stat(tmp_path / name).st_mtime_ns for name in os.listdir(tmp_path)}
    run_training(make_config(tmp_path, num_epochs=1))
    assert "No epochs to train, start_epoch: 2, final_epoch: 1\n" in capsys.readouterr().out
    assert {name: os.stat(tmp_path / name).st_mtime_ns for name in os.listdir(tmp_path)} == before


def test_save_interval_and_initial_model(tmp_path: Path) -> None:
    """save_interval 2, 3 epochs, save_epoch1_initial_model: epochs 0, 2 and the last."""
    run_training(make_config(tmp_path, num_epochs=3, save_interval=2, save_epoch1_initial_model=True))
    models = [name for name in sorted(os.listdir(tmp_path)) if re.fullmatch(r"m\.\d+\.index", name)]
    assert models == ["m.000.index", "m.002.index", "m.003.index"]
    assert read_checkpoint(str(tmp_path / "m.000"))["global_step"] == 0


def test_dry_run_saves_nothing(tmp_path: Path) -> None:
    """No model, no learning-rate file."""
    run_training(make_config(tmp_path, num_epochs=1, dry_run=True))
    assert os.listdir(tmp_path) == []


def test_a_model_with_another_gelu(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The formula is in the model; a training that goes on with another one is warned, one with the same is not."""
    net = {"h": {"class": "linear", "activation": "gelu", "n_out": 3, "from": "data"}}
    net["output"] = {"class": "softmax", "loss": "ce", "from": "h"}
    run_training(make_config(tmp_path, network=net, num_epochs=1, gelu_formula="tanh"))
    for opts, is_other in [({"gelu_formula": "tanh"}, False), ({}, True)]:
        capsys.readouterr()
        make_engine(make_config(tmp_path, network=net, **opts)).finalize()
        warning = (
            'WARNING: The model %s/m.001 was trained with gelu_formula = "tanh", but here it is "exact".'
            " Set it in the config.\n" % tmp_path
        )
        assert (warning in capsys.readouterr().out) == is_other


def test_ctc_without_a_path_in_a_training(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Labels 0 0 need three frames; "seq-1" has two. Once an epoch, and the training goes on."""
    monkeypatch.setattr(BehaviorVersion, "_version", 31)
    frames = numpy.ones((3, 3), "float32")
    seqs = [{"data": frames[:n], "classes": numpy.array([0, 0], "int32")} for n in (3, 2, 3)]
    net = {"output": {"class": "softmax", "loss": "ctc", "from": "data"}}
    run_training(make_config(network=net, num_epochs=2, max_seqs=1), train=make_dataset("train", seqs=seqs), dev=False)
    text = "loss ctc of layer output: 1 of 3 sequences have more labels than their frames can hold. Their loss is 0:"
    lines = [line for line in capsys.readouterr().out.splitlines() if "more labels" in line]
    assert lines == ["WARNING: train, epoch %i: %s seq-1" % (epoch, text) for epoch in (1, 2)]


def test_log_lines_of_a_training(tmp_path: Path, verbosity4: None, capsys: pytest.CaptureFixture[str]) -> None:
    """In this order, with these words, which people grep for."""
    run_training(make_config(tmp_path, num_epochs=1))
    out = capsys.readouterr().out
    number = r"\d+\.\d+(e-\d+)?"
    patterns = [
        r"Setup TF session with options \{.*\} \.\.\.",
        r"start training at epoch 1",
        r"using batch size: 20, max seqs: -1",
        r"learning rate control: ConstantLearningRate\(.*",
        r"losses, as they are minimised:",
        r"  output: ce, scale 1\.0, sum over frames",
        r"start epoch 1 with learning rate 0\.01 \.\.\.",
        r"train epoch 1, finished after \d+ steps, 0:00:\d\d elapsed \(\d+\.\d% computing time\)",
        rf"Save model under {re.escape(str(tmp_path))}/m\.001",
        rf"epoch 1 score: {number} error: {number} elapsed: 0:00:\d\d",
        r"epoch 1 'dev' eval, finished after \d+ steps, 0:00:\d\d elapsed \(\d+\.\d% computing time\)",
        rf"dev: score {number} error {number}",
        r"Finished training in epoch 1\.",
    ]
    lines = iter(out.splitlines())
    for pattern in patterns:
        assert any(re.fullmatch(pattern, line) for line in lines), (pattern, out)


def test_nan_stops_the_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A crash file for inspection, no learning-rate file, nothing that a resume would take for an epoch.

    The net is not recurrent, so sequences stand end to end, and max_seqs 1 means two a step: seq-2 is in step 1.
    """
    seqs = make_seqs(5, seed=1)
    seqs[2]["data"][:] = math.nan
    with pytest.raises(UserError, match=r"Inf/nan score in step 1\. .*seq-2"):
        run_training(make_config(tmp_path, max_seqs=1), train=make_dataset("train", seqs=seqs))
    assert "Trainer not finalized, quitting. (pid %i)\n" % os.getpid() in capsys.readouterr().out
    prefixes = {name.rpartition(".")[0] for name in os.listdir(tmp_path)}
    assert "m.001.crash_1" in prefixes and "m.001" not in prefixes
    assert not (tmp_path / "learning_rates").exists()
    assert Engine.get_existing_models(make_config(tmp_path)) == {}


def test_nan_may_be_tolerated(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the option off the epoch is saved, and the file has float('nan')."""
    seqs = make_seqs(5, seed=1)
    seqs[2]["data"][:] = math.nan
    config = make_config(tmp_path, num_epochs=1, max_seqs=1, stop_on_nonfinite_train_score=False)
    run_training(config, train=make_dataset("train", seqs=seqs), dev=False)
    assert "Model seems broken, got inf or nan final score: {'cost:output': nan}\n" in capsys.readouterr().out
    assert "'train_score': float('nan')" in (tmp_path / "learning_rates").read_text()
    assert (tmp_path / "m.001.index").exists()


@pytest.mark.parametrize(
    ["end", "line"],
    [(KeyboardInterrupt(), "KeyboardInterrupt in step 2."), (SystemExit(143), "SystemExit(143) in step 2.")],
)
def test_interrupt_saves_nothing(
    unbroken: Path, tmp_path: Path, end: BaseException, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Ctrl-C or SIGTERM in step 2: the two lines, the exception, no file; the next run ends as if nothing had been."""
    engine = make_engine(make_config(tmp_path, num_epochs=3))
    steps = []
    run = engine.tf_session.run

    def run_or_interrupt(fetches: Any, feed_dict: Any = None) -> Any:
        if isinstance(fetches, dict) and "optim_op" in fetches:
            steps.append(1)
            if len(steps) == 3:
                raise end
        return run(fetches, feed_dict)

    engine.tf_session.run = run_or_interrupt
    with pytest.raises(type(end)) as raised:
        engine.train()
    assert raised.value is end
    engine.finalize(error_occurred=True)
    out = capsys.readouterr().out
    assert line + "\n" in out and "Trainer not finalized, quitting. (pid" in out and "Exception" not in out
    assert os.listdir(tmp_path) == []
    run_training(make_config(tmp_path, num_epochs=3))
    _assert_same_result(unbroken, tmp_path, epoch=3)


def test_extern_data_unlike_the_dataset_is_told_before_training(tmp_path: Path) -> None:
    """The config says 3 inputs, the data has 5: there is no session yet."""
    seqs = [{"data": numpy.zeros((4, 5), "float32"), "classes": numpy.zeros(4, "int32")}]
    dataset = make_dataset("train", seqs=seqs)
    dataset.num_outputs["data"] = (5, 2)
    engine = Engine(make_config(tmp_path))
    with pytest.raises(ConfigError, match="key 'data' dim mismatch. The network expects 3, the dataset delivers 5"):
        engine.init_train_from_config(engine.config, train_data=dataset)
    assert engine.graph is None


def test_checkpoint_of_another_network_is_a_user_error(tmp_path: Path) -> None:
    """An LSTM of 3 in between that is then of 5: the parameter is named with both shapes."""
    run_training(make_config(tmp_path, num_epochs=1, network=_LSTM))
    with pytest.raises(UserError, match=r"output/W +file \(3, 2\) float32, network \(5, 2\) float32"):
        make_engine(make_config(tmp_path, network={**_LSTM, "lstm": {**_LSTM["lstm"], "n_out": 5}}))


def test_import_takes_over_parameters_and_step(tmp_path: Path) -> None:
    """3 epochs of 6 steps are 18; import_model_train_epoch1 starts with epoch 1 from these, 6 more make 24."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    config = make_config(tmp_path / "a", num_epochs=3, max_seqs=1)
    run_training(config, train=make_dataset("train", num_seqs=12), dev=False)
    imported = str(tmp_path / "a" / "m.003")
    config = make_config(tmp_path / "b", num_epochs=1, max_seqs=1, import_model_train_epoch1=imported)
    engine = make_engine(config, train=make_dataset("train", num_seqs=12), dev=False)
    assert engine.start_epoch == 1 and engine.global_train_step == 18
    engine.save_model(str(tmp_path / "start"))
    _assert_same_values(imported, str(tmp_path / "start"))
    engine.train()
    engine.finalize()
    assert read_checkpoint(str(tmp_path / "b" / "m.001"))["global_step"] == 24


def test_eval_writes_scores(tmp_path: Path) -> None:
    """Task eval gives the score of the training's own evaluation, into the output file."""
    run_training(make_config(tmp_path, num_epochs=1))
    engine = make_engine(make_config(tmp_path, task="eval", load_epoch=1))
    engine.eval_model(output_file=str(tmp_path / "scores"), lr_control_update_scores=False)
    engine.finalize()
    scores = eval((tmp_path / "scores").read_text())
    error = _scores(tmp_path)[1][1]
    assert scores == {
        "dev": {
            "error": {"error:output": pytest.approx(error["dev_error"])},
            "score": {"cost:output": pytest.approx(error["dev_score"])},
        }
    }


def test_growing_sequence_length_is_a_function_of_the_epoch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Limit 4 growing by 1: 5 in epoch 1, 6 in epoch 2, also after a restart."""
    opts: dict[str, Any] = {"max_seq_length": 4, "inc_seq_length": 1}
    run_training(make_config(tmp_path, num_epochs=1, **opts))
    assert "increasing sequence lengths to 5\n" in capsys.readouterr().out
    run_training(make_config(tmp_path, num_epochs=2, **opts))
    assert "increasing sequence lengths to 6\n" in capsys.readouterr().out


def test_graph_does_not_grow(tmp_path: Path) -> None:
    """It is final before the first step; as many ops after 3 epochs as before."""
    engine = make_engine(make_config(tmp_path, num_epochs=3))
    num_ops = len(engine.graph.graph.get_operations())
    assert engine.graph.graph.finalized
    engine.train()
    assert len(engine.graph.graph.get_operations()) == num_ops
    engine.finalize()


@pytest.mark.parametrize(
    ["random_seed", "epoch", "expected"], [(1, 1, (15, 33)), (None, 7, (7, 42)), (0, 2, (2, 42)), (2**31, 1, (10, 23))]
)
def test_seeds(random_seed: int | None, epoch: int, expected: tuple[int, int]) -> None:
    """(3 epoch + 5 s + 7) mod 2^31 and (2 network seed + 3) mod 2^31; without a seed epoch and 42."""
    assert network_and_graph_seed(Config({"random_seed": random_seed}), epoch=epoch) == expected


def test_format_score_is_a_method() -> None:
    """As users call it."""
    assert Engine.format_score({"cost:output": 0.5}) == "0.5"


def test_setting_a_dataset_to_none_removes_it() -> None:
    """``dev_data`` and ``eval_data`` are views of ``eval_datasets``."""
    engine = Engine(Config())
    engine.dev_data = make_dataset("dev")
    assert list(engine.get_eval_datasets()) == ["dev"] and engine.dev_data is not None
    engine.dev_data = None
    assert engine.get_eval_datasets() == {} and engine.eval_data is None
