"""Parts as folders, filters by part and length, a subset, targets in older forms."""

import os
import zipfile

from data_files import write_librispeech, write_text

libri = {
    "class": "LibriSpeechCorpus",
    "path": "zips",
    "prefix": "train",
    "use_zip": True,
    "audio": {"features": "raw"},
}
chars = {"vocab_file": "chars.txt", "unknown_label": "@"}


def filtered(new, limit):
    """:return: options of a filter for epochs 1 and 2"""
    opts = {"max_mean_len": limit}
    if new:
        opts["use_new_filter"] = True
    return {(1, 2): opts}


datasets = {
    "folders": dict(libri, path=".", use_zip=False, chars=chars, seq_ordering="reverse"),
    "subset": dict(libri, fixed_random_subset=5, chars=chars, seq_ordering="sorted"),
    "fraction": dict(libri, fixed_random_subset=0.4, orth_post_process="lowercase", targets="chars", chars=chars),
    "subdirs": dict(libri, epoch_wise_filter={(1, 1): {"subdirs": ["train-clean-100"]}}, seq_ordering="random"),
    "old_28": dict(libri, epoch_wise_filter=filtered(False, 2.8), seq_ordering="random"),
    "old_15": dict(libri, epoch_wise_filter=filtered(False, 1.5)),
    "old_05": dict(libri, epoch_wise_filter=filtered(False, 0.5)),
    "old_35": dict(libri, epoch_wise_filter=filtered(False, 3.5)),
    "old_100": dict(libri, epoch_wise_filter=filtered(False, 100.0), seq_ordering="laplace"),
    "new_28": dict(libri, epoch_wise_filter=filtered(True, 2.8), seq_ordering="random"),
    "new_31": dict(libri, epoch_wise_filter=filtered(True, 3.1), partition_epoch=2),
    "new_100": dict(libri, epoch_wise_filter=filtered(True, 100.0), seq_ordering="laplace"),
    "both": dict(
        libri, epoch_wise_filter={(1, 1): {"subdirs": ["train-clean-100"], "max_mean_len": 4.0, "use_new_filter": True}}
    ),
    "tags": dict(libri, seq_tag_format="%(speaker)i/%(seq)i-%(subdir)s", seq_ordering="sorted_reverse"),
}
epochs = [1, 2, 3]


def make_files(folder):
    """Ten sequences of 5, 3, 9, 1, 7, 3, 8, 2, 6, 4 characters."""
    lens = [5, 3, 9, 1, 7, 3, 8, 2, 6, 4]
    texts = [("ABCDEFGHIJ" * 2)[i : i + n] for i, n in enumerate(lens)]
    os.mkdir("zips")
    write_librispeech("zips", "train-clean-100", {(19, 198): texts[:3], (103, 1240): texts[3:6]})
    write_librispeech("zips", "train-other-500", {(20, 205): texts[6:8], (20, 9): texts[8:]})
    for part in ["train-clean-100", "train-other-500"]:
        with zipfile.ZipFile("zips/%s.zip" % part) as z:
            z.extractall("extracted")
        os.rename("extracted/LibriSpeech/" + part, part)
    write_text("chars.txt", "\n".join("@ABCDEFGHIJ") + "\n")
