"""Trainings through the command line: what is left, and the exit code, when they end before their end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.program import default_sigint, root, run_program, run_python

pytestmark = pytest.mark.slow

CONFIG = """
#!rnn.py
import numpy
from returnn.datasets.static import StaticDataset

class Dataset(StaticDataset):
    def get_data_slice(self, seq_idx, *args):
        if config.bool("fail", False) and seq_idx == 7:
            raise OSError("disk gone")
        return super().get_data_slice(seq_idx, *args)

from returnn.config import get_global_config
config = get_global_config()
_rnd = numpy.random.RandomState(1)
_seqs = [
    {"data": _rnd.normal(size=(4, 3)).astype("float32"), "classes": _rnd.randint(0, 2, size=4).astype("int32")}
    for _ in range(config.int("num_seqs", 12))
]
if config.bool("with_nan", False):
    _seqs[7]["data"][:] = numpy.nan

def train():
    return Dataset(_seqs, output_dim={"data": (3, 2), "classes": (2, 1)}, name="train")

task = "train"
device = "cpu"
extern_data = {"data": {"dim": 3}, "classes": {"dim": 2, "sparse": True}}
network = {
    "hidden": {"class": "rec", "unit": "lstm", "n_out": 3, "from": "data"},
    "output": {"class": "softmax", "loss": "ce", "from": "hidden"},
}
batch_size = 100
max_seqs = 2
num_epochs = 1
model = "m/net"
learning_rate_file = "lr"
log_verbosity = 5
tf_log_dir = None
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """With a config: 12 sequences, 2 a step."""
    (tmp_path / "my.config").write_text(CONFIG.lstrip())
    return tmp_path


def _prefixes(folder: Path) -> set[str]:
    """
    :return: names of finished checkpoints
    """
    return {path.name.removesuffix(".index") for path in (folder / "m").glob("*.index")}


def test_error_in_the_data(folder: Path) -> None:
    """Sequence 7 is in step 3. Its error comes as soon as it is read, whatever was trained until then."""
    result = run_python(root / "rnn.py", "my.config", "++fail", "1", cwd=folder)
    assert result.returncode == 1
    assert "Exception in DataProvider thread: OSError('disk gone')\n" in result.stdout
    assert re.search(r"^Exception OSError\('disk gone'\) in step 3\. \(pid \d+\)$", result.stdout, re.MULTILINE)
    assert re.search(r"^Trainer not finalized, quitting\. \(pid \d+\)$", result.stdout, re.MULTILINE)
    assert _prefixes(folder) == {"net.001.crash_3"} and not (folder / "lr").exists()


def test_nan(folder: Path) -> None:
    """Sequence 7 is nan: step 3 ends the run; or, if that is wanted, the run ends well and says nan."""
    result = run_python(root / "rnn.py", "my.config", "++with_nan", "1", cwd=folder)
    assert result.returncode == 1 and "Model seems broken, got inf or nan score.\n" in result.stdout
    assert _prefixes(folder) == {"net.001.crash_3"} and not (folder / "lr").exists()
    out = run_program("my.config", "++with_nan", "1", "++stop_on_nonfinite_train_score", "0", cwd=folder)
    assert "Model seems broken, got inf or nan final score: {'cost:output': nan}\n" in out
    assert "'train_score': float('nan')" in (folder / "lr").read_text()
    assert "net.001" in _prefixes(folder)


def test_finished_training_again(folder: Path) -> None:
    """Exit code 0, a line that says so, and no new learning-rate file."""
    run_program("my.config", cwd=folder)
    before = (folder / "lr").read_bytes()
    out = run_program("my.config", cwd=folder)
    assert "No epochs to train, start_epoch: 2, final_epoch: 1\n" in out
    assert (folder / "lr").read_bytes() == before


def _start(folder: Path, *args: str) -> subprocess.Popen[str]:
    env = {**os.environ, "OMP_NUM_THREADS": "1", "TF_CPP_MIN_LOG_LEVEL": "2", "PYTHONPATH": str(root)}
    command = [sys.executable, "-u", str(root / "rnn.py"), "my.config", *args]
    out = open(folder / "out", "w")  # a file: nobody has to read it in time
    with out:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=env,
            stdout=out,
            stderr=subprocess.DEVNULL,
            text=True,
            preexec_fn=default_sigint,
        )


@pytest.mark.parametrize(
    ["signal_number", "exit_code", "name"],
    [(signal.SIGINT, 1, "KeyboardInterrupt"), (signal.SIGTERM, 143, "SystemExit")],
)
def test_signal_in_a_step(folder: Path, signal_number: int, exit_code: int, name: str) -> None:
    """Epoch 2 is under way: no crash file, no report, and epoch 1 stays the last one."""
    run_program("my.config", cwd=folder)
    lr_file = (folder / "lr").read_bytes()
    process = _start(folder, "++num_epochs", "2", "++num_seqs", "100000")
    deadline = time.monotonic() + 100
    while "train epoch 2, step 2," not in (folder / "out").read_text():
        assert process.poll() is None and time.monotonic() < deadline, (folder / "out").read_text()
        time.sleep(0.02)
    process.send_signal(signal_number)
    assert process.wait(60) == exit_code
    out = (folder / "out").read_text()
    assert re.search(rf"^{name}.* in step \d+\.$", out, re.MULTILINE)
    assert "Trainer not finalized, quitting. (pid %i)\n" % process.pid in out
    assert "Unhandled exception" not in out and "Step meta information" not in out
    assert _prefixes(folder) == {"net.001"}  # plain gradient descent has no state
    assert (folder / "lr").read_bytes() == lr_file
    assert "Finished training in epoch 2." in run_program("my.config", "++num_epochs", "2", cwd=folder)
