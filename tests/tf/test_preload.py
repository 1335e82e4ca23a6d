"""``preload_from_files``, through the engine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy
import pytest

from returnn.tf.preload import files_to_preload
from returnn.util.errors import ConfigError

from .engine_case import make_config, make_engine

LAYERS = {"lm_hidden": {"class": "linear", "n_out": 3, "activation": None, "from": "data"}}
NET = {**LAYERS, "output": {"class": "softmax", "loss": "ce", "from": "lm_hidden"}}
LM = {"hidden": LAYERS["lm_hidden"], "output": {"class": "softmax", "loss": "ce", "from": "hidden"}}


@pytest.fixture
def lm_file(tmp_path: Path) -> str:
    """a model trained for an epoch, its hidden weights all 5"""
    engine = make_engine(make_config(tmp_path / "lm", network=LM, num_epochs=1))
    var = next(v for v in engine.network.get_params_list() if v.op.name == "hidden/W")
    engine.tf_session.run(var.initializer, {var.initializer.inputs[1]: numpy.full((3, 3), 5.0, "float32")})
    engine.save_model(str(tmp_path / "lm.001"))
    engine.finalize()
    return str(tmp_path / "lm.001")


def hidden_of(engine: Any) -> Any:
    return engine.network.get_param_values_dict(engine.tf_session)["lm_hidden"]["W"]


def entry(filename: str, **opts: Any) -> dict[str, Any]:
    return {"lm": {"filename": filename, "prefix": "lm_", **opts}}


def test_training_from_nothing_starts_with_it(lm_file: str, tmp_path: Path) -> None:
    """And an epoch later, the model has its own weights."""
    opts = {"network": NET, "preload_from_files": entry(lm_file, init_for_train=True)}
    engine = make_engine(make_config(tmp_path / "m", num_epochs=1, **opts))
    assert (hidden_of(engine) == 5).all()
    engine.train()
    trained = hidden_of(engine)
    assert not (trained == 5).all()
    engine.finalize()
    engine = make_engine(make_config(tmp_path / "m", num_epochs=2, **opts))
    assert numpy.array_equal(hidden_of(engine), trained)
    engine.finalize()


def test_without_init_for_train_only_other_tasks_have_it(lm_file: str, tmp_path: Path) -> None:
    """The model's own checkpoint does not overwrite it, and has not got to have it."""
    opts = {"network": NET, "preload_from_files": entry(lm_file)}
    engine = make_engine(make_config(tmp_path / "m", num_epochs=1, **opts))
    assert not (hidden_of(engine) == 5).any()
    engine.train()
    engine.finalize()
    engine = make_engine(make_config(tmp_path / "m", task="eval", load_epoch=1, **opts))
    assert (hidden_of(engine) == 5).all()
    engine.finalize()


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"lm": {"file": "x"}}, r"\['lm'\]: option \"file\" is unknown. Did you mean \"filename\""),
        ({"lm": {"prefix": "x"}}, r"\['lm'\]: \"filename\" must be the name of a checkpoint, but is None"),
        ({"lm": "x"}, r"\['lm'\]: must be a dict with \"filename\""),
        ({"lm": {"filename": "x", "init_for_train": "always"}}, r"\"init_for_train\" must be True or False"),
        ({"lm": {"filename": "x", "ignore_params": "l/W"}}, r"\"ignore_params\" must be a list of names"),
        ({"lm": {"filename": "/nowhere/x.007.meta"}}, r"\['lm'\]: there is no checkpoint '/nowhere/x.007.meta'"),
    ],
)
def test_wrong_entries(wrong: dict[str, Any], message: str) -> None:
    config = make_config(preload_from_files=wrong)
    with pytest.raises(ConfigError, match=message):
        files_to_preload(config, training=False, first_epoch=True)


def test_a_file_that_is_not_loaded_now_may_be_gone() -> None:
    """The training goes on from its own checkpoint, the file of the start is deleted."""
    config = make_config(preload_from_files={"lm": {"filename": "/nowhere/x", "init_for_train": True}})
    assert files_to_preload(config, training=True, first_epoch=False) == {}


def test_entry_that_fits_nothing_is_named(lm_file: str, tmp_path: Path) -> None:
    opts = {"network": NET, "preload_from_files": entry(lm_file, init_for_train=True, prefix="am_")}
    with pytest.raises(ConfigError, match=r"preload_from_files\['lm'\]: .*no saveable vars"):
        make_engine(make_config(tmp_path / "m", **opts))
