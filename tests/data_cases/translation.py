"""Parallel text with a vocabulary each; and without a reference."""

import os

from data_files import write_pickle, write_text

translation = {
    "class": "TranslationDataset",
    "path": "data",
    "file_postfix": "train",
    "source_postfix": " </S>",
    "target_postfix": " </S>",
    "unknown_label": "<UNK>",
}
datasets = {
    "default": translation,
    "sorted": dict(translation, seq_ordering="sorted"),
    "source_only": dict(translation, source_only=True, seq_ordering="random"),
}
batches = {"batch_size": 12}
ignore = ["info.all_tags", "info.total_num_seqs"]


def make_files(folder):
    """Four lines, one of them empty in the target."""
    os.mkdir("data")
    write_text("data/source.train", "a b\nb b c a\na\nx a b\n")
    write_text("data/target.train.gz", "A B\nB\n\nC Y A\n")
    write_pickle("data/source.vocab.pkl", {"<S>": 0, "</S>": 0, "<UNK>": 1, "a": 2, "b": 3, "c": 4})
    write_pickle("data/target.vocab.pkl", {"</S>": 0, "<UNK>": 1, "A": 2, "B": 3, "C": 4})
