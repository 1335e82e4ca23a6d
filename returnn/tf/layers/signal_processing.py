"""Layers that process signals (old place; now :mod:`returnn.layers.signal`). Old name: ``TFNetworkSigProcLayer``."""

from returnn.layers.signal import (
    AlternatingRealToComplexLayer,
    BatchMedianPoolingLayer,
    ComplexLinearProjectionLayer,
    ComplexToAlternatingRealLayer,
    DctLayer,
    IstftLayer,
    MelFilterbankLayer,
    MultiChannelMultiResolutionStftLayer,
    MultiChannelStftLayer,
    NoiseEstimationByFirstTFramesLayer,
    SignalMaskingLayer,
    SplitConcatenatedMultiChannelLayer,
    StftLayer,
    TileFeaturesLayer,
)

__all__ = [
    "AlternatingRealToComplexLayer",
    "BatchMedianPoolingLayer",
    "ComplexLinearProjectionLayer",
    "ComplexToAlternatingRealLayer",
    "DctLayer",
    "IstftLayer",
    "MelFilterbankLayer",
    "MultiChannelMultiResolutionStftLayer",
    "MultiChannelStftLayer",
    "NoiseEstimationByFirstTFramesLayer",
    "SignalMaskingLayer",
    "SplitConcatenatedMultiChannelLayer",
    "StftLayer",
    "TileFeaturesLayer",
]
