"""Words of several parts; other postfixes, and unknown words by key. Source factors are inputs here."""

import os

from data_files import write_pickle, write_text

translation = {"class": "TranslationDataset", "path": "data", "file_postfix": "train", "unknown_label": "<UNK>"}
factors = dict(translation, **{"class": "TranslationFactorsDataset", "file_postfix": "parts"})
datasets = {
    "plain": dict(translation, source_postfix="</S>", target_postfix=" </S> </S>", seq_ordering="sorted_reverse"),
    "unknown": dict(translation, unknown_label={"data": "<UNK>", "classes": "A"}, partition_epoch=2),
    "without_reference": dict(translation, search_without_reference=True),
    "source": dict(factors, source_factors=["lemma", "pos"], source_postfix=" </S>"),
    "both": dict(factors, source_factors=["lemma", "pos"], target_factors=["form"], target_postfix=" </S>"),
}
epochs = [1, 2]
ignore = ["info.all_tags", "info.total_num_seqs", "info.target_keys", "info.dim.classes", "info.dim.form"]
ignore += ["info.dim.lemma", "info.dim.pos"]


def make_files(folder):
    """Four lines, and three of parts."""
    os.mkdir("data")
    write_text("data/source.train", "a b\nb b c a\n\n x a  b\n")
    write_text("data/target.train", "A B\nB\n\nC Y A\n")
    write_text("data/source.parts", "a|x|p b|y|q\nc|z|r q|q|q\n\n")
    write_text("data/target.parts", "A|f B|g\nB|g\n\n")
    write_pickle("data/source.vocab.pkl", {"<S>": 0, "</S>": 0, "<UNK>": 1, "a": 2, "b": 3, "c": 4})
    write_pickle("data/target.vocab.pkl", {"</S>": 0, "<UNK>": 1, "A": 2, "B": 3, "C": 4, "A|f": 5, "B|g": 6})
    write_pickle("data/lemma.vocab.pkl", {"</S>": 0, "<UNK>": 1, "x": 2, "y": 3, "z": 4})
    write_pickle("data/pos.vocab.pkl", {"</S>": 0, "<UNK>": 1, "p": 2, "q": 3, "r": 4})
    write_pickle("data/form.vocab.pkl", {"</S>": 0, "<UNK>": 1, "f": 2, "g": 3})
