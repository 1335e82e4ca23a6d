"""Train flag, step and seed around operations."""

from __future__ import annotations

import subprocess
import sys

import pytest

from returnn.frontend.run_ctx import RunCtx, get_run_ctx, run_ctx


def test_inside_and_outside() -> None:
    """nested contexts end in order, also after an error; outside nothing is trained"""
    assert get_run_ctx().train_flag is False
    with pytest.raises(ValueError, match="stop"), run_ctx(RunCtx(train_flag=True, step=3)) as outer:
        with run_ctx(RunCtx(step=4)):
            assert get_run_ctx().step == 4
        assert get_run_ctx() is outer
        raise ValueError("stop")
    assert get_run_ctx().train_flag is False


def test_seed_depends_on_the_name_and_the_experiment_and_on_nothing_else() -> None:
    """the same in another process, whatever Python's hash seed is"""
    seed = RunCtx(random_seed=5).seed_for("layer/a")
    assert 0 <= seed < 2**31
    assert seed != RunCtx(random_seed=5).seed_for("layer/b")
    assert seed != RunCtx(random_seed=6).seed_for("layer/a")
    code = "from returnn.frontend.run_ctx import RunCtx; print(RunCtx(random_seed=5).seed_for('layer/a'))"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60).stdout
    assert int(output) == seed
