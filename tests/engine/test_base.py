"""returnn.engine.base: epochs, names of model files, from where to go on, which old models go."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import pytest

from returnn.config import Config
from returnn.engine import base, model_cleanup
from returnn.engine.base import EngineBase
from returnn.util.errors import ConfigError
from tests.engine.common import Scores, capture_log, falling, make_models, models_here


class TorchNames(EngineBase):
    """File names of the other backend."""

    model_suffix = ".pt"
    training_suffix = ".opt.pt"


@pytest.fixture(autouse=True)
def _in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def log_lines(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """What the modules log, each line with its level."""
    return capture_log(monkeypatch, base, model_cleanup)


def make_config(**options: Any) -> Config:
    """A config for models ``./net.*``."""
    config = Config()
    config.update({"model": "./net", **options})
    return config


# Names


def test_epoch_model_filename() -> None:
    """Three digits or more; pretrain epochs have an infix."""
    assert EngineBase.epoch_model_filename("net", 1) == "net.001"
    assert EngineBase.epoch_model_filename("net", 12, is_pretrain=True) == "net.pretrain.012"
    assert EngineBase.epoch_model_filename("net", 1234) == "net.1234"


def test_engine_knows_its_epoch_and_file() -> None:
    engine = EngineBase(make_config())
    engine.epoch = 7
    assert engine.get_epoch_str() == "epoch 7"
    assert engine.get_epoch_model_filename() == "./net.007"
    assert engine.get_epoch_model_filename(epoch=8) == "./net.008"


# Existing models


def test_existing_models_are_those_up_to_the_final_epoch() -> None:
    make_models("net.001", "net.009", "net.010")
    assert EngineBase.get_existing_models(make_config()) == {1: "./net.001"}  # num_epochs 5 by default
    assert EngineBase.get_existing_models(make_config(num_epochs=9)) == {1: "./net.001", 9: "./net.009"}
    assert EngineBase.get_existing_models(make_config(load_epoch=9)) == {1: "./net.001", 9: "./net.009"}


@pytest.mark.parametrize("reverse", [False, True])
def test_plain_name_goes_before_pretrain(monkeypatch: pytest.MonkeyPatch, reverse: bool) -> None:
    """In whatever order the system lists the folder."""
    make_models("net.001", "net.pretrain.001", "net.pretrain.002", "net.003")
    names = sorted(os.listdir(), reverse=reverse)
    monkeypatch.setattr(os, "listdir", lambda path: names)
    assert EngineBase.get_existing_models(make_config()) == {1: "./net.001", 2: "./net.pretrain.002", 3: "./net.003"}


def test_other_files_are_no_models() -> None:
    """Crash files, optimizer states, temporary files, other models, half checkpoints."""
    make_models("net.001.crash_3", "net.002.broken", "net.003.optim", "net.003.1234abcd.new_tmp", "net2.001", "net")
    make_models("net.004", "my-net.001", "netX001")
    os.remove("net.004.index")
    assert EngineBase.get_existing_models(make_config()) == {}


def test_model_needs_its_index_file_only() -> None:
    Path("net.001.index").write_text("")
    assert EngineBase.get_existing_models(make_config()) == {1: "./net.001"}


def test_no_folder_or_no_model_option_is_no_model() -> None:
    assert EngineBase.get_existing_models(make_config(model="not-there/net")) == {}
    make_models("net.001")
    assert EngineBase.get_existing_models(make_config(model=None)) == {}
    assert EngineBase.get_existing_models(Config()) == {}


def test_model_name_is_no_pattern() -> None:
    make_models("netX1.001")
    assert EngineBase.get_existing_models(make_config(model="net.1")) == {}


@pytest.mark.parametrize(
    "options, final", [({}, 5), ({"num_epochs": 7}, 7), ({"load_epoch": 9}, 9), ({"num_epochs": 7, "load_epoch": 3}, 7)]
)
def test_final_epoch(options: dict[str, int], final: int) -> None:
    assert EngineBase.config_get_final_epoch(make_config(**options)) == final


# Which model


@pytest.mark.parametrize(
    "models, options, epoch_model, start_epoch",
    [
        ([], {}, (None, None), 1),
        ([1, 2], {}, (2, "./net.002"), 3),
        ([1, 2], {"start_epoch": "auto", "start_batch": "auto"}, (2, "./net.002"), 3),
        ([1, 3], {"num_epochs": 2}, (1, "./net.001"), 2),
        # own models go before "load" and "load_epoch"
        ([1], {"load": "o/net.007"}, (1, "./net.001"), 2),
        ([1, 2], {"load_epoch": 1}, (2, "./net.002"), 3),
        # unless start_epoch is a number; then the training starts anew from that file
        ([1], {"load": "o/net.007", "start_epoch": 1}, (None, "o/net.007"), 1),
        ([1], {"load": "o/net.007", "start_epoch": 3}, (None, "o/net.007"), 1),
        ([1, 2], {"load_epoch": 1, "start_epoch": 1}, (None, "./net.001"), 1),
        # no models
        ([], {"load": "o/net.007"}, (7, "o/net.007"), 8),
        ([], {"load": "o/net.007.meta"}, (7, "o/net.007"), 8),
        ([], {"load": "o/noname"}, (None, "o/noname"), 1),
        ([], {"import_model_train_epoch1": "o/net.007"}, (0, "o/net.007"), 1),
        ([], {"import_model_train_epoch1": "o/net.007.index", "start_epoch": 1}, (0, "o/net.007"), 1),
        ([], {"import_model_train_epoch1": "o/net.007", "start_epoch": 2}, (None, None), 1),
        ([], {"import_model_train_epoch1": "o/net.007", "load": "o/net.007"}, (0, "o/net.007"), 1),
        ([], {"start_epoch": 3}, (None, None), 1),
        ([1, 2], {"import_model_train_epoch1": "o/net.007"}, (2, "./net.002"), 3),
        # start_epoch
        ([1, 2, 3], {"start_epoch": 1}, (None, None), 1),
        ([1, 2, 3], {"start_epoch": 3}, (2, "./net.002"), 3),
        ([1, 2, 3], {"start_epoch": 4}, (3, "./net.003"), 4),
        ([1, 2], {"import_model_train_epoch1": "o/net.007", "start_epoch": 1}, (None, None), 1),
        # other tasks
        ([1, 2], {"task": "forward"}, (2, "./net.002"), None),
        ([1, 2], {"task": "eval", "load_epoch": 1}, (1, "./net.001"), None),
        ([1, 9], {"task": "eval", "load_epoch": 9}, (9, "./net.009"), None),
        ([1], {"task": "eval", "load": "o/net.007.index"}, (7, "o/net.007"), None),
        ([], {"task": "forward", "load": "o/net.007", "load_epoch": 3}, (3, "o/net.007"), None),
        ([1, 2], {"task": "search", "start_epoch": 2}, (1, "./net.001"), None),
        ([], {"task": "search", "allow_random_model_init": True}, (None, None), None),
        ([], {"task": "initialize_model"}, (None, None), None),
        ([], {"task": "nop"}, (None, None), None),
    ],
)
def test_which_model(
    models: list[int], options: dict[str, Any], epoch_model: tuple[int | None, str | None], start_epoch: int | None
) -> None:
    make_models("o/net.007", "o/noname", *("net.%03d" % epoch for epoch in models))
    config = make_config(**options)
    assert EngineBase.get_epoch_model(config) == epoch_model
    if start_epoch is not None:
        assert EngineBase.get_train_start_epoch(config) == start_epoch


def test_untyped_options_from_the_command_line() -> None:
    make_models("net.001", "net.002")
    config = Config()
    config.add_line("model", "./net")
    config.add_line("start_epoch", "2")
    assert EngineBase.get_epoch_model(config) == (1, "./net.001")
    assert EngineBase.get_train_start_epoch(config) == 2


@pytest.mark.parametrize("value", [None, "auto"])
def test_none_means_unset(value: str | None) -> None:
    make_models("net.001")
    config = make_config(start_epoch=value, start_batch=value, load=None, load_epoch=None, num_epochs=None)
    assert EngineBase.get_epoch_model(config) == (1, "./net.001")
    assert EngineBase.get_train_start_epoch(config) == 2


def test_which_model_with_torch_names() -> None:
    """Models of epochs 1 to 3, optimizer state of epoch 2 only: training needs both, evaluation does not."""
    for name in ("ep.001.pt", "ep.002.pt", "ep.003.pt", "ep.002.opt.pt"):
        Path(name).write_text("")

    def choose(**options: Any) -> tuple[int | None, str | None]:
        return TorchNames.get_epoch_model(make_config(model="ep", **options))

    assert choose() == (2, "ep.002")
    assert TorchNames.get_train_start_epoch(make_config(model="ep")) == 3
    assert choose(task="eval") == (3, "ep.003")
    assert choose(start_epoch=1) == (None, None)
    assert TorchNames.get_train_start_epoch(make_config(model="ep", start_epoch=1)) == 1
    assert choose(start_epoch=3) == (2, "ep.002")
    assert TorchNames.get_existing_models(make_config(model="ep"), for_training=False).keys() == {1, 2, 3}


@pytest.mark.parametrize(
    "options, lines",
    [
        ({"load": "o/net.007"}, "4 note: there is a 'load' which we ignore because of existing model\n"),
        ({"start_epoch": 1}, "4 warning: there is an existing model: (3, './net.003')\n"),
        ({"start_epoch": 3}, "4 warning: start_epoch 3 but there is (3, './net.003')\n"),
        ({"start_epoch": 4}, ""),
        ({"model": "other", "start_epoch": 3}, "2 warning: start_epoch 3 has no effect, there are no models\n"),
    ],
)
def test_which_model_log_lines(log_lines: io.StringIO, options: dict[str, Any], lines: str) -> None:
    make_models("o/net.007", "net.001", "net.002", "net.003")
    EngineBase.get_epoch_model(make_config(**options))
    assert log_lines.getvalue() == lines


@pytest.mark.parametrize(
    "options, message",
    [
        (
            {"load": "o/net.008"},
            "config option load='o/net.008', file 'o/net.008.index' does not exist. Did you mean \"net.007\"?",
        ),
        ({"load": "p/q"}, "config option load='p/q', file 'p/q.index' does not exist."),
        (
            {"import_model_train_epoch1": "p/q", "model": "other"},
            "config option import_model_train_epoch1='p/q', file 'p/q.index' does not exist.",
        ),
        (
            {"load_epoch": 7},
            "config option load_epoch=7: there is no model of that epoch. Stored under model='./net': epochs [1, 3].",
        ),
        (
            {"start_epoch": 3},
            "config option start_epoch=3: there is no model of epoch 2. Stored: epochs [1, 3].",
        ),
        ({"start_epoch": 0}, "start_epoch must be 'auto' or a number from 1, but is '0'."),
        ({"start_epoch": "first"}, "start_epoch must be 'auto' or a number from 1, but is 'first'."),
        (
            {"task": "eval", "model": "other"},
            "Task 'eval' needs a trained model, but under model='other' there is none up to epoch 5."
            " Set the option 'load' to a model file, or 'model' and 'load_epoch' to those of a training.",
        ),
    ],
)
def test_which_model_errors(options: dict[str, Any], message: str) -> None:
    make_models("o/net.007", "net.001", "net.003")
    with pytest.raises(ConfigError) as info:
        EngineBase.get_epoch_model(make_config(**options))
    assert str(info.value) == message


def test_start_batch_must_be_auto() -> None:
    with pytest.raises(ConfigError, match="^custom start_batch '3' not supported"):
        EngineBase.get_train_start_epoch(make_config(start_batch=3))


# Scores


def test_is_dataset_evaluated() -> None:
    """ "dev_clean" is another dataset than "dev"; losses add their names."""
    engine = make_engine({1: {"train_score": 1.0, "dev_clean_score": 1.0}, 2: {"dev_score_output/out": 1.0}})
    engine.epoch = 1
    assert engine.is_dataset_evaluated("train") and engine.is_dataset_evaluated("dev_clean")
    assert not engine.is_dataset_evaluated("dev")
    assert engine.is_dataset_evaluated("dev", epoch=2)
    assert not engine.is_dataset_evaluated("dev", epoch=3)


# Cleanup


def make_engine(scores: Scores, **options: Any) -> EngineBase:
    """An engine that has seen these scores."""
    engine = EngineBase(make_config(num_epochs=1000, **options))
    engine.learning_rate_control = base.load_learning_rate_control_from_config(engine.config)
    for epoch, epoch_scores in scores.items():
        engine.learning_rate_control.set_epoch_error(epoch, epoch_scores)
    return engine


def test_cleanup_deletes_files_and_says_so(log_lines: io.StringIO) -> None:
    """3 epochs of 3 files of 100 bytes, and one optimizer state of 300: 1200 bytes are 1.2 KB."""
    make_models(*("net.%03d" % e for e in range(1, 9)), "net.001.optim", "net.008.optim", "other.001")
    make_engine(falling(range(1, 9)), cleanup_old_models=True).cleanup_old_models()
    assert models_here() == ["net.004", "net.005", "net.006", "net.007", "net.008", "net.008.optim", "other.001"]
    assert not any(name.startswith("net.001") for name in os.listdir())
    assert log_lines.getvalue() == (
        "3 We have stored models for epochs [1, 2, 3, ..., 6, 7, 8] and keep epochs [4, 5, 6, 7, 8].\n"
        "3 We will delete the models of epochs [1, 2, 3].\n"
        "2 Deleted 1.2KB.\n"
    )


def test_cleanup_with_few_models_deletes_nothing(log_lines: io.StringIO) -> None:
    make_models("net.001", "net.002", "net.003")
    make_engine(falling([1, 2, 3])).cleanup_old_models()
    assert models_here() == ["net.001", "net.002", "net.003"]
    assert log_lines.getvalue() == (
        "2 Only 3 epochs stored so far and keeping last 2 epochs and best 4 epochs,"
        " thus not cleaning up any epochs yet.\n"
    )


def test_cleanup_with_all_kept(log_lines: io.StringIO) -> None:
    make_models(*("net.%03d" % e for e in range(4, 9)))
    make_engine(falling(range(1, 9))).cleanup_old_models()
    assert len(models_here()) == 5
    assert log_lines.getvalue() == "2 5 epochs stored so far and keeping all.\n"


def test_cleanup_without_any_score_deletes_nothing(log_lines: io.StringIO) -> None:
    """The history may be lost: then nobody knows which models are the best."""
    make_models(*("net.%03d" % e for e in range(1, 9)))
    make_engine({9: {"dev_score": 1.0}}).cleanup_old_models()
    assert len(models_here()) == 8
    assert log_lines.getvalue() == ("2 No scores of the stored epochs are known, thus not cleaning up any epochs.\n")
    make_engine({}, cleanup_old_models={"keep_best_n": 0, "keep": []}).cleanup_old_models()  # nothing to know
    assert models_here() == ["net.007", "net.008"]


def test_cleanup_dry_run(log_lines: io.StringIO) -> None:
    make_models(*("net.%03d" % e for e in range(1, 9)))
    make_engine(falling(range(1, 9)), dry_run=True).cleanup_old_models()
    assert len(models_here()) == 8
    assert log_lines.getvalue().endswith("2 Dry-run, will not delete models.\n")


@pytest.mark.parametrize("answer, num_left", [("yes", 5), ("no", 8), ("", 8), (None, 8)])
def test_cleanup_asks(answer: str | None, num_left: int) -> None:
    make_models(*("net.%03d" % e for e in range(1, 9)))
    questions = []

    def ask(text: str) -> str:
        questions.append(text)
        if answer is None:
            raise EOFError
        return answer

    make_engine(falling(range(1, 9))).cleanup_old_models(ask_for_confirmation=True, ask=ask)
    assert questions == ["Delete those models? Confirm? [yes/no] "]
    assert len(models_here()) == num_left


def test_cleanup_reads_the_learning_rate_file_itself() -> None:
    """For the task: there is no training that has the scores."""
    make_models(*("net.%03d" % e for e in range(1, 9)))
    engine = make_engine(falling(range(1, 9)), learning_rate_file="lr")
    assert engine.learning_rate_control
    engine.learning_rate_control.save()
    EngineBase(engine.config).cleanup_old_models()
    assert len(models_here()) == 5


@pytest.mark.parametrize(
    "value, message",
    [
        (
            ({"keep": [1]},),
            "cleanup_old_models must be True, False or a dict of options, but is ({'keep': [1]},)."
            " Is there a comma too much?",
        ),
        ("yes", "cleanup_old_models must be True, False or a dict of options, but is 'yes'."),
        (
            {"keep_lastn": 1},
            'cleanup_old_models: unknown option \'keep_lastn\'. Did you mean "keep_last_n" or "keep_best_n"?'
            " Known: keep_last_n, keep_best_n, keep.",
        ),
        ({"keep_last_n": 0}, "cleanup_old_models: keep_last_n must be an int of at least 1, but is 0."),
        ({"keep_best_n": 2.5}, "cleanup_old_models: keep_best_n must be an int of at least 0, but is 2.5."),
        ({"keep": 5}, "cleanup_old_models: keep must be a list of epochs, but is 5."),
        ({"keep": "12"}, "cleanup_old_models: keep must be a list of epochs, but is '12'."),
    ],
)
def test_cleanup_wrong_options_delete_nothing(value: Any, message: str) -> None:
    make_models(*("net.%03d" % e for e in range(1, 9)))
    with pytest.raises(AssertionError) as info:
        make_engine(falling(range(1, 9)), cleanup_old_models=value).cleanup_old_models()
    assert str(info.value) == message
    assert len(models_here()) == 8


def test_cleanup_removes_old_crash_checkpoints_too() -> None:
    make_models("net.001.crash_1", "net.001.crash_2", "net.001")
    make_engine(falling([1])).cleanup_old_models()
    assert len(models_here()) == 2
