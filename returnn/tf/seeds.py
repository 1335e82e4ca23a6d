"""Where the random numbers of a graph come from."""

from __future__ import annotations

from returnn.config import Config

_DEFAULT_GRAPH_SEED = 42


def network_and_graph_seed(config: Config, *, epoch: int) -> tuple[int, int]:
    """
    :param config: option ``random_seed``; unset, None and 0 mean none
    :param epoch: start epoch of a training, or that of the loaded model
    :return: seed of the network (initial parameters), and graph-level seed of TensorFlow
    """
    seed = config.int("random_seed", None)
    if not seed:
        return epoch, _DEFAULT_GRAPH_SEED
    network_seed = (3 * epoch + 5 * seed + 7) % 2**31
    return network_seed, (2 * network_seed + 3) % 2**31
