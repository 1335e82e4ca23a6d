"""The shortest sequences up to a mean length, in the order they had."""

from returnn.datasets.meta import EpochWiseFilter

lens = [5, 3, 9, 1, 7, 3, 8, 2, 6, 4]
order = [9, 2, 1, 0, 3, 4, 5, 6, 7, 8]
filters = {
    (1, 2): {"max_mean_len": 3},
    (4, 4): {"max_mean_len": 4.4},
    (5, -1): {"max_mean_len": 3.4},
}


def values():
    """Per epoch the kept indices."""
    epoch_filter = EpochWiseFilter(filters)
    return {str(epoch): [int(i) for i in epoch_filter.filter(epoch, order, lens.__getitem__)] for epoch in range(1, 8)}
