"""Texts by tag, single ones and lists with scores."""

from data_files import write_text

vocab = {"class": "CharacterTargets", "vocab_file": None, "labels": list("@abc "), "unknown_label": "@"}
texts = {"t-0": "a b", "t-1": "abcab", "t-2": "", "t-3": "c"}
nbest = {
    "t-x": [(-1.0, "abcabcab")],
    "t-y": [(-4.0, "aa"), (-3.0, "bb"), (-5.0, "cc")],
    "t-0": [(-1.5, "a b"), (-0.5, "ab"), (-3.25, "abc c")],
    "t-1": [(-2.0, "c")],
    "t-2": [(0.5, "b b"), (0.25, "xa")],
}
datasets = {
    "single": {"class": "TextDictDataset", "filename": "single.py", "item_format": "single", "vocab": vocab},
    "nbest": {"class": "TextDictDataset", "filename": "nbest.py.gz", "vocab": vocab, "seq_ordering": "sorted"},
}
epochs = [1]
ignore = ["info.labels"]


def make_files(folder):
    """Both formats."""
    write_text("single.py", repr(texts))
    write_text("nbest.py.gz", repr(nbest))
