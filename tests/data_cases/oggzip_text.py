"""A zip without audio: bytes, characters; a subset, a list of segments, sorted by duration."""

from data_files import write_ogg_zip, write_text

ogg = {"class": "OggZipDataset", "path": "text.zip", "audio": None, "targets": {"class": "Utf8ByteTargets"}}
chars = {
    "class": "CharacterTargets",
    "vocab_file": None,
    "labels": list("@abcdefghijklmnopqrstuvwxyz '"),
    "seq_postfix": [0],
}
datasets = {
    "bytes": dict(ogg, seq_ordering="sorted"),
    "chars": dict(ogg, targets=chars, targets_post_process="lowercase"),
    "subset": dict(ogg, fixed_random_subset=4),
    "segments": dict(ogg, segment_file="segments.txt", seq_ordering="reverse"),
}
epochs = [1]


def make_files(folder):
    """Seven texts."""
    texts = ["hello wörld", "Yes", "a b c", "no more", "it's ok", "end", "The last one"]
    durations = [2.5, 0.5, 1.0, 0.9, 0.8, 0.7, 1.75]
    entries = [
        {"text": t, "duration": d, "seq_name": "c/s%i" % i}
        for i, (t, d) in enumerate(zip(texts, durations, strict=True))
    ]
    write_ogg_zip("text.zip", entries, audio=None)
    write_text("segments.txt", "c/s3\nc/s1\nc/zz\nc/s6\n")
