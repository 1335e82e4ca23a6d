"""Runs a script in a fresh process, with the package of this checkout or with another one."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent


def run_child(python: str, script: str, args: Sequence[str], *, own: bool) -> dict[str, Any]:
    """
    :param python: interpreter
    :param script: prints a line "RESULT", and a dict as JSON; its first argument is the folder of the benchmarks
    :param args: its further arguments
    :param own: with the package of this checkout
    :return: that dict
    :raises SystemExit: it failed
    """
    env = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
    env.pop("PYTHONPATH", None)
    if own:
        env["PYTHONPATH"] = str(_FOLDER.parent)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "child.py"
        path.write_text(script, encoding="utf8")
        done = subprocess.run(
            [python, str(path), str(_FOLDER), *args],
            cwd=folder,
            env=env,
            capture_output=True,
            text=True,
            timeout=1200,
        )
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT ")]
    if not lines:
        raise SystemExit("%s failed:\n%s\n%s" % (python, done.stdout[-2000:], done.stderr[-4000:]))
    return json.loads(lines[0][len("RESULT ") :])
