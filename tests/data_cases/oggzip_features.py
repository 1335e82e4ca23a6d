"""Audio of a zip as mfcc, log-mel, raw samples; normalised, with derivatives, frames joined."""

from data_files import write_ogg_zip

ogg = {"class": "OggZipDataset", "path": "speech.zip", "targets": {"class": "Utf8ByteTargets"}}
datasets = {
    "mfcc": dict(ogg, audio={}),
    "log_mel": dict(
        ogg, audio={"features": "log_mel_filterbank", "num_feature_filters": 23}, seq_ordering="sorted_reverse"
    ),
    "raw": dict(ogg, audio={"features": "raw", "peak_normalization": False, "preemphasis": 0.97}, targets=None),
    "norm": dict(
        ogg, audio={"norm_mean": "per_seq", "norm_std_dev": "per_seq", "num_feature_filters": 13, "join_frames": 3}
    ),
    "delta": dict(ogg, audio={"with_delta": 1, "num_feature_filters": 8}),
}
epochs = [1]


def make_files(folder):
    """Three recordings, about 0.1 s."""
    texts = ["one", "two three", "four"]
    write_ogg_zip("speech.zip", [{"text": t, "num_samples": n} for t, n in zip(texts, [1600, 2240, 1913], strict=True)])
