"""The program with a backend that says what it is asked to do, for tests of the command line."""

from __future__ import annotations

import sys
import threading
import time
from typing import Any

from returnn import __main__, backends
from returnn.config import Config
from returnn.log import log


def setup_backend(config: Config) -> None:
    print("backend: set up", file=log.v3)


class Engine:
    """Tasks do what the config key ``behave`` says."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.epoch = 7

    def __getattr__(self, name: str) -> Any:
        def method(*args: Any, **kwargs: Any) -> None:
            shown = {key: value for key, value in sorted(kwargs.items()) if value is not None}
            print(f"engine: {name} {shown}", file=log.v3)
            if name == self.config.value("behave_in", "train"):
                _behave(self.config.value("behave", "well"))

        return method


def _behave(how: str) -> None:
    if how == "sleep":
        time.sleep(60)
    elif how == "bug":
        secret_local = 12345
        raise RuntimeError(f"bug {secret_local}")
    elif how == "bug_in_thread":
        thread = threading.Thread(target=_behave, args=("bug",), name="worker")
        thread.start()
        time.sleep(60)
    elif how == "partial_line":
        print("no line end", end="", file=log.v1)


backends.BACKENDS["fake"] = backends.Backend(
    name="fake",
    key_prefix="fake_",
    setup="tests.fake_program:setup_backend",
    engine="tests.fake_program:Engine",
    min_behavior_version=0,
)

if __name__ == "__main__":
    sys.argv[0] = "rnn.py"
    __main__.main()
