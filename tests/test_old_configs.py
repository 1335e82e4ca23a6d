"""Configs from the years of TensorFlow 1 run as they are, and give the scores of the public package.

See ``data/old_configs/README.md``.
"""

from __future__ import annotations

import re
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
    """Same seeds, data and arithmetic; random masks, too. The second epoch is by a second process, except where random
    operations of the config start anew with each."""
    expected = read_learning_rate_file(str(_configs / f"{name}.learning_rates"))
    config = _configs / f"{name}.config"
    if name != "specaugment_ctc":
        run_program(config, "++num_epochs", "1", cwd=tmp_path)
    log = run_program(config, cwd=tmp_path)
    assert "start training at epoch %i" % (1 if name == "specaugment_ctc" else 2) in log
    assert "Finished training in epoch 2." in log
    found = read_learning_rate_file(str(tmp_path / "newbob.data"))
    assert list(found) == list(expected) == [1, 2]
    for epoch in expected:
        assert found[epoch].learning_rate == expected[epoch].learning_rate
        assert found[epoch].error == pytest.approx(expected[epoch].error, abs=1e-4)


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
        padded_lens, best_labels = dump["seqLengths"][:, 1], dump["targets/data/labels"][:]
        numpy.testing.assert_array_equal(dump["targets/data/labels_seq_lens"][:], lens)
        labels = [x[:n] for x, n in zip(numpy.split(best_labels, padded_lens.cumsum()[:-1]), lens, strict=True)]
        numpy.testing.assert_array_equal(numpy.concatenate(labels), probs.argmax(axis=1))
        best = numpy.split(log_probs.max(axis=1), lens.cumsum()[:-1])
        numpy.testing.assert_allclose(dump["targets/data/score"][:], [x.sum() for x in best], rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        (
            "specaugment_ctc",
            "        x_masked = random_mask(",
            "        x_masked = random_masks(",
            "network[\"source\"] (class 'eval'): eval failed: NameError: name 'random_masks' is not defined",
        ),
        (
            "custom_layers",
            "alpha * tf.tanh(",
            "self.alpha * tf.tanh(",
            "network[\"first/hidden\"] (class 'scaled_tanh'): AttributeError: 'ScaledTanhLayer' object has no",
        ),
    ],
    ids=["function for eval", "layer class"],
)
def test_mistakes_in_functions_of_the_config(name: str, old: str, new: str, message: str, tmp_path: Path) -> None:
    """One message, with the place in the config, and no traceback."""
    text = (_configs / f"{name}.config").read_text()
    assert text.count(old) == 1
    (tmp_path / "my.config").write_text(text.replace(old, new))
    result = run_python(root / "rnn.py", "my.config", cwd=tmp_path)
    assert result.returncode == 1
    assert "Traceback" not in result.stdout + result.stderr
    lines = result.stdout.splitlines()
    (start,) = [i for i, line in enumerate(lines) if line.startswith(message)]
    assert len(lines) - start < 10
    line_number = text[: text.index(old)].count("\n") + 1
    assert re.search(rf"my.config\"?, line {line_number}, in ", "\n".join(lines[start:]))
