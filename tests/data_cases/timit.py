"""TIMIT's layout, three sets of phones."""

import os

import numpy
from data_files import tone, wav_bytes

from returnn.datasets.generating import TimitDataset

timit = {"class": "TimitDataset", "timit_dir": "timit", "random_permute_audio": False, "num_feature_filters": 13}
switches = ["rnd_zoom_switch", "rnd_stretch_switch", "rnd_pitch_switch"]
datasets = {
    "61": dict(timit),
    "48": dict(timit, num_phones=48, seq_ordering="reverse"),
    "39": dict(timit, num_phones=39, train=False, with_delta=True, features="log_mel_filterbank"),
    "permuted": dict(
        timit, train=False, random_permute_audio={"rnd_zoom_switch": 0, "rnd_stretch_switch": 0, "rnd_pitch_switch": 0}
    ),
    "norm": dict(timit, norm_mean="mean.txt", norm_std_dev="mean.txt", feature_window_len=0.02, feature_step_len=0.005),
}
epochs = [1, 2]
phones = "0 500 h#\n500 900 sh\n900 1400 iy\n1400 1500 q\n1500 2000 ax-h\n2000 2800 pau\n2800 3000 h#\n"


def make_files(folder):
    """Two recordings for training, one for the test."""
    for part, names in [("train", ["sa1", "sx2"]), ("test", ["si3"])]:
        os.makedirs("timit/%s/dr1/fcjf0" % part)
        for i, name in enumerate(names):
            base = "timit/%s/dr1/fcjf0/%s" % (part, name)
            with open(base + ".wav", "wb") as f:
                f.write(wav_bytes(tone(3000 + 200 * i, i)))
            with open(base + ".phn", "w") as f:
                f.write(phones)
        with open("timit/%s/filelist%s.phn" % (part, ".core" if part == "test" else ""), "w") as f:
            f.write("".join("dr1/fcjf0/%s.phn\n" % name for name in names))
    numpy.savetxt("mean.txt", numpy.arange(1, 14))


def values():
    """:return: labels and maps between them"""
    res = {"labels%i" % n: TimitDataset.get_labels(n) for n in (61, 48, 39)}
    for pair in [(61, 48), (61, 39), (48, 39), (61, 61)]:
        try:
            label_map = TimitDataset.get_label_map(*pair)
        except Exception as exc:
            label_map = {str(type(exc)): "?"}
        res["map%i-%i" % pair] = ["%s %s" % item for item in sorted(label_map.items())]
    return res
