"""Training fed by the data provider, next to the same steps fed from memory, on the digits demo.

    python -m benchmarks.provider [--rounds 5]

Both run in one process, in turn, over one epoch of the same batches.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from returnn.config import Config, set_global_config
from returnn.datasets import init_dataset
from returnn.tf.data_pipeline import FeedDictDataProvider
from returnn.tf.engine import Engine

ROOT = Path(__file__).parent.parent


def make_engine() -> Engine:
    """
    :return: ready to train the digits demo, whose data are in the current folder
    """
    config = Config()
    config.load_file(str(ROOT / "demos/digits/digits.config"))
    config.update({"tf_log_dir": None, "log": None})
    set_global_config(config)
    engine = Engine(config)
    engine.init_train_from_config(config, train_data=init_dataset(config.typed_value("train")))
    engine.updater.set_learning_rate(0.001, session=engine.tf_session)
    return engine


def feeds_of_provider(engine: Engine) -> Iterator[dict[Any, Any]]:
    """
    :return: those of epoch 1, as the provider's thread gives them
    """
    dataset = engine.train_data
    dataset.init_seq_order(epoch=1)
    provider = FeedDictDataProvider(
        dataset=dataset,
        batches=engine.make_batches(dataset, name="train"),
        extern_data=engine.network.extern_data,
        data_keys=engine.network.used_data_keys,
    )
    provider.start_threads(engine.tf_session)
    try:
        while provider.have_more_data(engine.tf_session):
            yield provider.get_feed_dict()[0]
    finally:
        provider.stop_threads()


def train(engine: Engine, feeds: Iterable[dict[Any, Any]]) -> float:
    """
    :return: seconds
    """
    graph = engine.graph
    fetches = graph.get_fetches(train=True, eval=True)
    start = time.perf_counter()
    for step, feed in enumerate(feeds):
        graph.session.run(fetches, {**feed, **graph.get_step_feed(train_flag=True, epoch_step=step)})
    return time.perf_counter() - start


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        env = dict(os.environ, PYTHONPATH=str(ROOT))
        subprocess.run([sys.executable, str(ROOT / "demos/digits/make_hdf.py")], cwd=folder, env=env, check=True)
        os.chdir(folder)
        engine = make_engine()
        memory = list(feeds_of_provider(engine))
        candidates: dict[str, Callable[[], Iterable[dict[Any, Any]]]] = {
            "from memory": lambda: memory,
            "by the provider": lambda: feeds_of_provider(engine),
        }
        samples: dict[str, list[float]] = {name: [] for name in candidates}
        for _ in range(rounds):
            for name, feeds in candidates.items():
                samples[name].append(train(engine, feeds()))
        os.chdir("/")
    medians = {name: statistics.median(values) for name, values in samples.items()}
    for name, seconds in medians.items():
        print("%-16s %.2f s for %i steps" % (name, seconds, len(memory)))
    print("by the provider / from memory: %.2f" % (medians["by the provider"] / medians["from memory"]))


if __name__ == "__main__":
    main()
