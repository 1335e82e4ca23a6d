"""Fourier transforms of signals, back again, and the usual mel features."""

extern_data = {
    "data": {"dim": 1},
    "flat": {"shape": (None,), "dtype": "float32", "feature_dim_axis": None, "available_for_inference": True},
    "pairs": {"shape": (3, None, 1), "dim": 1, "time_dim_axis": 2, "available_for_inference": True},
}


def stft(source="data", shift=2, size=4, **opts):
    return {
        "class": "stft",
        "frame_shift": shift,
        "frame_size": size,
        "from": source,
        "is_output_layer": True,
        **opts,
    }


def istft(shift, **opts):
    return {
        "class": "istft",
        "frame_shift": shift,
        "frame_size": 4,
        "from": "stft",
        "is_output_layer": True,
        **opts,
    }


def activation(name, source, **opts):
    return {"class": "activation", "activation": name, "from": source, "is_output_layer": True, "opts": opts or None}


network = {
    "stft": stft(),
    "flat": stft("data:flat"),
    "odd": stft("data:flat", 1, 3),
    "filled": stft("data:flat", 3, 5, fft_size=8),
    "cut_frames": stft("data:flat", 2, 4, fft_size=3),
    "wide_shift": stft(shift=6),
    "masked": stft("data:flat", use_time_mask=True),
    "in_spatial_dims": stft("data:pairs", 3, 4, in_spatial_dims=["T"]),
    "many_samples": stft("data:flat", 5, 10, fft_size=16),
    "istft": istft(2),
    "istft_dense": istft(1),
    "istft_fft": istft(3, fft_size=4),
    "magnitude": activation("abs", "stft"),
    "angle": activation("angle", "stft"),
    "long_magnitude": activation("abs", "many_samples"),
    "power": {"class": "eval", "eval": "source(0) ** 2", "from": "long_magnitude"},
    "mel": {
        "class": "mel_filterbank",
        "sampling_rate": 8000,
        "fft_size": 16,
        "nr_of_filters": 3,
        "n_out": 3,
        "from": "power",
        "is_output_layer": True,
    },
    "mel_range": {
        "class": "mel_filterbank",
        "fft_size": 16,
        "nr_of_filters": 4,
        "n_out": 4,
        "f_min": 500,
        "f_max": 7000,
        "from": "power",
        "is_output_layer": True,
    },
    "log_mel": activation("safe_log", "mel", eps=1e-10),
    "log10_mel": {"class": "eval", "eval": "source(0) / 2.3026", "from": "log_mel", "is_output_layer": True},
    "output": {"class": "linear", "activation": None, "n_out": 2, "from": "log10_mel", "loss": "as_is"},
}
lens = {"data": [12, 7], "flat": [21, 14], "pairs": [9, 4]}
batch = {"n_batch": 2}
train = True
