"""From the command to the first finished training step of the 12AX demo, next to the bare import of TensorFlow.

    python -m benchmarks.startup [--rounds 5]

Both are whole processes, started in turn, with empty folders. Also: `import returnn` with config and log, next to an
interpreter that does nothing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent


def seconds_until(command: Sequence[str], *, folder: str, line_with: str | None) -> float:
    """
    :param command:
    :param folder: to run it in
    :param line_with: stop at the first line of its output that holds this; None: wait for its end
    """
    env = dict(os.environ, PYTHONPATH=str(ROOT), CUDA_VISIBLE_DEVICES="")
    start = time.perf_counter()
    with subprocess.Popen(
        command, cwd=folder, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        for line in process.stdout:
            if line_with is not None and line_with in line:
                elapsed = time.perf_counter() - start
                process.kill()
                return elapsed
    if line_with is not None:
        sys.exit("no line with %r in the output of %s" % (line_with, " ".join(command)))
    return time.perf_counter() - start


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    python = sys.executable
    demo = [python, str(ROOT / "rnn.py"), str(ROOT / "demos/demo-12ax.config"), "++log_verbosity", "5"]
    candidates = {
        "import tensorflow": ([python, "-c", "import tensorflow"], None),
        "first training step": (demo, "train epoch 1, step 0,"),
        "python": ([python, "-c", "pass"], None),
        "import returnn, config, log": ([python, "-c", "import returnn, returnn.config, returnn.log"], None),
    }
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds + 1):
        for name, (command, line_with) in candidates.items():
            with tempfile.TemporaryDirectory() as folder:
                samples[name].append(seconds_until(command, folder=folder, line_with=line_with))
    medians = {name: statistics.median(values[1:]) for name, values in samples.items()}  # the first fills disk caches
    for name, seconds in medians.items():
        print("%-30s %.2f s" % (name, seconds))
    print(
        "first training step / import tensorflow: %.2f"
        % (medians["first training step"] / medians["import tensorflow"])
    )
    print("import returnn alone: %.2f s" % (medians["import returnn, config, log"] - medians["python"]))


if __name__ == "__main__":
    main()
