"""Functions over the stream: in worker processes, and in bins by length."""

import os
import sys

from data_files import simple_hdf

from returnn.datasets.postprocessing import LaplaceOrdering, Sequential

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from stream_functions import add_noise, without_short_ones

sub = {"class": "HDFDataset", "files": ["a.hdf"], "seq_ordering": "random"}
post = {"class": "PostprocessingDataset", "dataset": sub}
datasets = {
    "workers": {**post, "map_seq_stream": add_noise, "num_workers": 2, "buf_size": 3},
    "workers_less": {**post, "map_seq_stream": without_short_ones, "num_workers": 2},
    "bins": {**post, "map_seq_stream": Sequential(LaplaceOrdering(4), add_noise)},
}
epochs = [1, 2]
ignore = ["info.labels"]


def make_files(folder):
    """Ten sequences."""
    simple_hdf("a.hdf", dim=2)
