"""Times side by side: on a machine that others use too, only ratios within one run mean something."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping


def interleaved_medians(
    candidates: Mapping[str, Callable[[], object]],
    *,
    rounds: int = 5,
    min_seconds: float = 0.1,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, float]:
    """Median over the rounds of the seconds that one call takes; each round calls each candidate in turn.

    :param candidates: called once before, to warm up
    :param rounds: samples of each candidate
    :param min_seconds: a sample is the mean over as many calls as take that long
    :param clock: seconds; ``time.process_time`` for the processor time of all threads
    """
    calls = {}
    for name, run in candidates.items():
        run()
        start = clock()
        run()
        calls[name] = max(1, round(min_seconds / max(clock() - start, 1e-6)))
    samples: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(rounds):
        for name, run in candidates.items():
            start = clock()
            for _ in range(calls[name]):
                run()
            samples[name].append((clock() - start) / calls[name])
    return {name: statistics.median(values) for name, values in samples.items()}
