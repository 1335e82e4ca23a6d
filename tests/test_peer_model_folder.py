"""A model folder that the public package left after two epochs is taken over: parameters, scores, learning rates.

See ``data/peer_12ax/README.md``.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from returnn.learning_rate_file import read_learning_rate_file
from tests.program import root, run_program, scores

pytestmark = pytest.mark.slow

_dev_score, _dev_error = 0.3393581807613373, 0.14269952476024628
"""Of epoch 2, as its learning-rate file says."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A copy of the folder."""
    return shutil.copytree(root / "tests" / "data" / "peer_12ax", tmp_path / "run")


def test_evaluation_gives_the_recorded_scores(folder: Path) -> None:
    """So the parameters mean the same: names, shapes, order of the gates."""
    log = run_program("12ax.config", "++task", "eval", "++load_epoch", "2", cwd=folder)
    assert "loading weights from model/model.002" in log
    assert scores(log, "dev") == [(pytest.approx(_dev_score, abs=1e-4), pytest.approx(_dev_error, abs=1e-4))]


def test_training_goes_on_at_epoch_3(folder: Path) -> None:
    """The dev score went from 0.388 to 0.339, by more than 1 %, so the learning rate stays."""
    before = read_learning_rate_file(str(folder / "model" / "learning_rates"))
    log = run_program("12ax.config", "++num_epochs", "3", cwd=folder)
    assert "start training at epoch 3" in log
    assert "start epoch 3 with learning rate 0.01 ..." in log
    after = read_learning_rate_file(str(folder / "model" / "learning_rates"))
    assert list(before) == [1, 2]
    assert list(after) == [1, 2, 3]
    assert {epoch: data.error for epoch, data in before.items()} == {epoch: after[epoch].error for epoch in before}
    assert after[3].error["train_score"] < after[2].error["train_score"]
    assert after[3].meta["global_train_step"] == 40  # 20 steps in each of the two epochs before
    assert (folder / "model" / "model.003.index").exists()


def test_training_anew_gives_the_same_scores(folder: Path) -> None:
    """Same seeds, same data, same arithmetic: over 40 steps of Adam, only rounding differs."""
    recorded = read_learning_rate_file(str(folder / "model" / "learning_rates"))
    run_program("12ax.config", "++model", "new/model", "++learning_rate_file", "new/learning_rates", cwd=folder)
    trained = read_learning_rate_file(str(folder / "new" / "learning_rates"))
    for epoch in (1, 2):
        assert trained[epoch].error == pytest.approx(recorded[epoch].error, abs=1e-4)
