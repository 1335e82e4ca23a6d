"""Several zips, a folder, text files outside of them; a part of the utterances; order by duration."""

import os
import zipfile

from data_files import write_ogg_zip, write_text

ogg = {"class": "OggZipDataset", "audio": None, "targets": None}
raw = {"features": "raw"}
datasets = {
    "two": dict(ogg, path=["a.zip", "b.zip"], audio=raw, seq_ordering="random"),
    "sorted": dict(ogg, path=["a.zip", "b.zip"], seq_ordering="sorted"),
    "laplace": dict(ogg, path=["a.zip", "b.zip"], seq_ordering="laplace:.3", partition_epoch=2),
    "text_outside": dict(ogg, path=["a.zip", "a.txt.gz"], audio=raw),
    "folder": dict(ogg, path="./folder", audio=raw),
    "no_prefix": dict(ogg, path="c.zip", audio=raw, zip_audio_files_have_name_as_prefix=False),
    "content_name": dict(ogg, path="renamed.zip", content_name="a", audio=raw),
    "fraction": dict(ogg, path=["a.zip", "b.zip"], fixed_random_subset=0.3, fixed_random_subset_seed=7),
    "segments": dict(ogg, path=["a.zip", "b.zip"], segment_file="segments.txt.gz", seq_ordering="sorted_reverse"),
    "filter": dict(
        ogg, path=["a.zip", "b.zip"], epoch_wise_filter={(1, 1): {"max_mean_len": 55.0}}, seq_ordering="random"
    ),
    "post_process": dict(
        ogg,
        path="a.zip",
        targets={"class": "Utf8ByteTargets"},
        targets_post_process=["lowercase", "get_replace('a','b')"],
    ),
}
epochs = [1, 2]


def make_files(folder):
    """Five and four utterances. Some durations differ by less than 0.01 s, which the order does not see."""
    durations = [0.81, 0.508, 0.501, 0.9, 0.502]
    entries = [
        {"text": "Text %i a" % i, "num_samples": 300 + i, "duration": d, "seq_name": "a/%i" % i, "speaker_name": None}
        for i, d in enumerate(durations)
    ]
    write_ogg_zip("a.zip", entries)
    write_ogg_zip("b.zip", [{"text": "b%i" % i, "num_samples": 200 + i, "duration": 0.7 - 0.1 * i} for i in range(4)])
    write_ogg_zip("c.zip", [{"text": "c", "num_samples": 100, "file": "x/y.wav"}], prefix=False)
    write_text("a.txt.gz", repr([{"text": "other", "duration": 1.0, "file": "rec3/seg.wav"}]))
    write_text("segments.txt.gz", "a/3\nrec1/seg.wav\na/1\n")
    os.mkdir("folder")
    with zipfile.ZipFile("b.zip") as z:
        z.extractall(".")
    os.rename("b.txt", "folder.txt")
    os.rename("b", "folder/b")
    for name in os.listdir("folder/b"):
        os.rename("folder/b/" + name, "folder/" + name)
    os.rename("a.zip", "renamed.zip")
    write_ogg_zip("a.zip", entries)
