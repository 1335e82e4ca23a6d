"""Frames of samples."""

from data_files import tone, wav_bytes, write_text

wav = {"class": "RawWavDataset", "listFile": "wavs.txt", "num_outputs": 1}
datasets = {
    "overlap": dict(wav, frameLength=160, frameShift=80),
    "gaps": dict(wav, frameLength=50, frameShift=70),
    "one": dict(wav, frameLength=600, frameShift=600),
}
epochs = [1]
ignore = ["info.num_outputs.data", "info.num_outputs.classes", "epochs.1.tags"]  # ours: names of the files


def make_files(folder):
    """Two files."""
    for i in range(2):
        with open("w%i.wav" % i, "wb") as f:
            f.write(wav_bytes(tone(500 + 37 * i, i)))
    write_text("wavs.txt", "w0.wav\nw1.wav\n")
