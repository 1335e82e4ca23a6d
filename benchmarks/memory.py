"""Memory of a training after 20 epochs of the 12AX demo, next to that after epoch 3.

python -m benchmarks.memory [--epochs 20]
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil

ROOT = Path(__file__).parent.parent


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=20)
    epochs = parser.parse_args().epochs
    command = [sys.executable, str(ROOT / "rnn.py"), str(ROOT / "demos/demo-12ax.config"), "++num_epochs", str(epochs)]
    env = dict(os.environ, PYTHONPATH=str(ROOT), CUDA_VISIBLE_DEVICES="")
    used: dict[int, float] = {}
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(
            command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        ) as process,
    ):
        for line in process.stdout:
            match = re.match(r"epoch (\d+) score:", line)
            if match:
                used[int(match.group(1))] = psutil.Process(process.pid).memory_info().rss / 2**20
    for epoch, mebibytes in used.items():
        print("epoch %2i: %.1f MiB" % (epoch, mebibytes))
    print("epoch %i / epoch 3: %.3f" % (epochs, used[epochs] / used[3]))


if __name__ == "__main__":
    main()
