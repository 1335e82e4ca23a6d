"""A run that is killed at any moment and started again ends as if nothing had happened."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy
import pytest
from tensorflow.compat import v1

ROOT = Path(__file__).parent.parent
NUM_EPOCHS = 6
CONFIG = (
    """
#!rnn.py
task = "train"
behavior_version = 31
train = {"class": "Task12AXDataset", "num_seqs": 60}
dev = {"class": "Task12AXDataset", "num_seqs": 20, "fixed_random_seed": 1}
extern_data = {"data": {"dim": 9}, "classes": {"dim": 2, "sparse": True}}
batching = "random"
batch_size = 1000
network = {
    "lstm": {"class": "rec", "unit": "lstm", "n_out": 12, "from": "data", "dropout": 0.1, "L2": 1e-4},
    "output": {"class": "softmax", "loss": "ce", "from": "lstm"},
}
optimizer = {"class": "nadam"}
accum_grad_multiple_step = 2
gradient_noise = 0.1
learning_rate = 0.02
learning_rate_control = "newbob_multi_epoch"
newbob_multi_num_epochs = 2
newbob_multi_update_interval = 1
learning_rate_file = "lr.txt"
cleanup_old_models = True
num_epochs = %i
model = "models/net"
log = "./log.txt"
log_verbosity = [5, 4]
random_seed = 3
tf_log_dir = None
"""
    % NUM_EPOCHS
)


def start(folder: Path) -> subprocess.Popen:
    """
    :return: a training process, its output in a file
    """
    env = dict(os.environ, OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="", PYTHONPATH=str(ROOT))
    with open(folder / "out.txt", "a") as out:
        return subprocess.Popen(
            [sys.executable, str(ROOT / "rnn.py"), "train.config"], cwd=folder, env=env, stdout=out, stderr=out
        )


def run_to_the_end(folder: Path) -> None:
    """Runs the training, which must succeed."""
    process = start(folder)
    assert process.wait(timeout=280) == 0, (folder / "out.txt").read_text()[-3000:]


def kill_in_an_epoch(folder: Path, *, which: int, delay: float) -> bool:
    """
    Starts the training and kills it some time after an epoch has begun.

    :param which: 1 for the first epoch that it works on
    :param delay: seconds
    :return: whether it was still alive
    """
    out = folder / "out.txt"
    wanted = which + (out.read_text().count("start epoch") if out.exists() else 0)
    process = start(folder)
    deadline = time.monotonic() + 200
    while process.poll() is None and out.read_text().count("start epoch") < wanted:
        assert time.monotonic() < deadline, "the training does not start"
        time.sleep(0.01)
    time.sleep(delay)
    alive = process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait(timeout=30)
    return alive


def final_state(folder: Path) -> dict[str, numpy.ndarray]:
    """
    :return: parameters and optimizer state of the last epoch
    """
    res = {}
    for prefix in ("net.%03d" % NUM_EPOCHS, "net.%03d.optim" % NUM_EPOCHS):
        reader = v1.train.NewCheckpointReader(str(folder / "models" / prefix))
        res.update({prefix + ":" + name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()})
    return res


def learning_rates_without_times(folder: Path) -> str:
    """
    :return: learning-rate file, without entries that are times
    """
    return re.sub(r"':meta:epoch_train_time_secs': [^,]*,\n", "", (folder / "lr.txt").read_text())


def check_killed_run(tmp_path: Path, *, num_kills: int, seed: int) -> None:
    """Compares a run with kills to one without."""
    folders = [tmp_path / "unbroken", tmp_path / "killed"]
    for folder in folders:
        folder.mkdir()
        (folder / "train.config").write_text(CONFIG.strip() + "\n")
    run_to_the_end(folders[0])
    rnd = random.Random(seed)
    num_alive = 0
    for _ in range(num_kills):
        which = rnd.choice([1, 1, 1, 2])  # mostly the first, so that many kills fit into the run
        num_alive += kill_in_an_epoch(folders[1], which=which, delay=rnd.uniform(0.0, 0.6))
    assert num_alive, "no kill hit a running process"
    run_to_the_end(folders[1])
    expected, found = (final_state(folder) for folder in folders)
    assert set(expected) == set(found)
    for name, value in expected.items():
        numpy.testing.assert_array_equal(found[name], value, err_msg=name)
    assert learning_rates_without_times(folders[1]) == learning_rates_without_times(folders[0])
    leftovers = [f.name for f in (folders[1] / "models").iterdir() if "tmp" in f.name]
    assert not leftovers


@pytest.mark.slow
def test_killed_run_ends_bit_identical(tmp_path: Path) -> None:
    """Parameters, optimizer state and learning-rate file (but for times) are those of an unbroken run."""
    check_killed_run(tmp_path, num_kills=4, seed=1)
