"""Configs from the years of TensorFlow 1 run as they are, and give the scores of the public package.

See ``data/old_configs/README.md``.
"""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy
import pytest

from returnn.learning_rate_file import read_learning_rate_file
from tests.program import root, run_program, run_python

pytestmark = pytest.mark.slow

_configs = root / "tests" / "data" / "old_configs"


@pytest.mark.parametrize("name", ["hybrid_blstm", "specaugment_ctc", "custom_layers", "transformer_dump"])
def test_scores_of_each_epoch(name: str, tmp_path: Path) -> None:
    """Same seeds, data and arithmetic; random masks, too. The second epoch is by a second process."""
    expected = read_learning_rate_file(str(_configs / f"{name}.learning_rates"))
    config = _configs / f"{name}.config"
    run_program(config, "++num_epochs", "1", cwd=tmp_path)
    assert list(read_learning_rate_file(str(tmp_path / "newbob.data"))) == [1]
    if name == "specaugment_ctc":  # its random operations start anew with each process
        (tmp_path / "model" / "network.001.index").unlink()
        (tmp_path / "newbob.data").unlink()
    log = run_program(config, cwd=tmp_path)
    found = read_learning_rate_file(str(tmp_path / "newbob.data"))
    assert list(found) == list(expected) == [1, 2]
    for epoch in expected:
        assert found[epoch].learning_rate == expected[epoch].learning_rate
        assert found[epoch].error == pytest.approx(expected[epoch].error, abs=1e-4)
    assert "Finished training in epoch 2." in log


def test_dumped_posteriors(tmp_path: Path) -> None:
    """Beside the output, the same as logarithms, the best label of each frame, and the sum of their logarithms."""
    config = _configs / "transformer_dump.config"
    run_program(config, "++num_epochs", "1", cwd=tmp_path)
    log = run_program(config, "++task", "forward", "++load_epoch", "1", cwd=tmp_path)
    assert "HDFDumpLayer, wrote 6 seqs to file 'log_posteriors.hdf'." in log
    with h5py.File(tmp_path / "posteriors.hdf") as output, h5py.File(tmp_path / "log_posteriors.hdf") as dump:
        assert sorted(output["seqTags"][:]) == [b"seq-%i" % i for i in range(6)]
        numpy.testing.assert_array_equal(dump["seqTags"][:], output["seqTags"][:])
        lens = output["seqLengths"][:, 0]
        assert dump["seqLengths"][:, 0].tolist() == lens.tolist()
        log_probs, probs = dump["inputs"][:], output["inputs"][:]
        numpy.testing.assert_allclose(numpy.exp(log_probs), probs, rtol=1e-5)
        numpy.testing.assert_array_equal(dump["targets/data/labels"][:], probs.argmax(axis=1))
        best = numpy.split(log_probs.max(axis=1), lens.cumsum()[:-1])
        numpy.testing.assert_allclose(dump["targets/data/score"][:], [x.sum() for x in best], rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "specaugment_ctc",
            "        x_masked = random_mask(",
            "        x_masked = random_masks(",
            """network["source"] (class 'eval'): eval failed: NameError: name 'random_masks' is not defined""",
        ),
        (
            "custom_layers",
            "axes=[[2], [0]]",
            "axes=[[1], [0]]",
            """network["first/hidden"] (class 'scaled_tanh'): """,
        ),
        (
            "custom_layers",
            '"alpha_init": 0.9',
            '"alpha_int": 0.9',
            'network["first/hidden"]: option "alpha_int" is unknown to layer class "scaled_tanh". Did you mean "alpha_init"?',
        ),
    ],
)
def test_mistakes_in_functions_of_the_config(name: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    """One message, with the place in the config, and no traceback."""
    text = (_configs / f"{name}.config").read_text()
    assert old in text
    (tmp_path / "my.config").write_text(text.replace(old, new))
    result = run_python(root / "rnn.py", "my.config", cwd=tmp_path)
    assert result.returncode == 1
    assert "Traceback" not in result.stdout + result.stderr
    lines = result.stdout.splitlines()
    (start,) = [i for i, line in enumerate(lines) if line.startswith(message)]
    assert len(lines) - start < 10
    if "option" not in message:
        line_number = 1 + next(i for i, line in enumerate(text.splitlines()) if old in line)
        assert any("my.config" in line and f"line {line_number}" in line for line in lines[start:])
