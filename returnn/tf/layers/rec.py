"""Recurrent layers (old place; now :mod:`returnn.layers.recurrent`). Old name: ``TFNetworkRecLayer``."""

from returnn.layers.attention import AttentionLayer as AttentionBaseLayer
from returnn.layers.attention import (
    ConcatAttentionLayer,
    DotAttentionLayer,
    GaussWindowAttentionLayer,
    GenericAttentionLayer,
    SelfAttentionLayer,
)
from returnn.layers.masked import MaskedComputationLayer, UnmaskLayer
from returnn.layers.positional import PositionalEncodingLayer, RelativePositionalEncodingLayer
from returnn.layers.recurrent.cell import GetLastHiddenStateLayer, RnnCellLayer
from returnn.layers.recurrent.rec import RecLayer
from returnn.tf.backend.user_cells import BaseRNNCell

__all__ = [
    "AttentionBaseLayer",
    "BaseRNNCell",
    "ConcatAttentionLayer",
    "DotAttentionLayer",
    "GaussWindowAttentionLayer",
    "GenericAttentionLayer",
    "GetLastHiddenStateLayer",
    "MaskedComputationLayer",
    "PositionalEncodingLayer",
    "RecLayer",
    "RelativePositionalEncodingLayer",
    "RnnCellLayer",
    "SelfAttentionLayer",
    "UnmaskLayer",
]
