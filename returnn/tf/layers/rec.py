"""Recurrent layers (old place; now :mod:`returnn.layers.recurrent`). Old name: ``TFNetworkRecLayer``."""

from returnn.layers.attention import AttentionLayer as AttentionBaseLayer
from returnn.layers.attention import (
    ConcatAttentionLayer,
    DotAttentionLayer,
    GaussWindowAttentionLayer,
    GenericAttentionLayer,
    SelfAttentionLayer,
)
from returnn.layers.beam_layers import (
    ChoiceGetBeamScoresLayer,
    ChoiceGetSrcBeamsLayer,
    DecideKeepBeamLayer,
    DecideLayer,
    SplitBatchBeamLayer,
)
from returnn.layers.choice import BaseChoiceLayer, ChoiceLayer
from returnn.layers.cum_concat import CumConcatLayer
from returnn.layers.kenlm import KenLmStateLayer
from returnn.layers.masked import MaskedComputationLayer, UnmaskLayer
from returnn.layers.positional import PositionalEncodingLayer, RelativePositionalEncodingLayer
from returnn.layers.recurrent.cell import GetLastHiddenStateLayer, RnnCellLayer
from returnn.layers.recurrent.distances import EditDistanceTableLayer, OptimalCompletionsLayer
from returnn.layers.recurrent.loop_layers import RecFrameLayer, RecPreviousLayer, RecStepInfoLayer
from returnn.layers.recurrent.outside import GetRecAccumulatedOutputLayer, RecLastOutputLayer, RecUnstackLayer
from returnn.layers.recurrent.rec import RecLayer
from returnn.layers.recurrent.user_layers import UserLayerInLoop
from returnn.layers.twod_lstm import TwoDLSTMLayer
from returnn.tf.backend.user_cells import BaseRNNCell

__all__ = [
    "AttentionBaseLayer",
    "BaseChoiceLayer",
    "BaseRNNCell",
    "ChoiceGetBeamScoresLayer",
    "ChoiceGetSrcBeamsLayer",
    "ChoiceLayer",
    "ConcatAttentionLayer",
    "CumConcatLayer",
    "DecideKeepBeamLayer",
    "DecideLayer",
    "DotAttentionLayer",
    "EditDistanceTableLayer",
    "GaussWindowAttentionLayer",
    "GenericAttentionLayer",
    "GetLastHiddenStateLayer",
    "GetRecAccumulatedOutputLayer",
    "KenLmStateLayer",
    "MaskedComputationLayer",
    "OptimalCompletionsLayer",
    "PositionalEncodingLayer",
    "RecFrameLayer",
    "RecLastOutputLayer",
    "RecLayer",
    "RecPreviousLayer",
    "RecStepInfoLayer",
    "RecUnstackLayer",
    "RelativePositionalEncodingLayer",
    "RnnCellLayer",
    "SelfAttentionLayer",
    "SplitBatchBeamLayer",
    "TwoDLSTMLayer",
    "UnmaskLayer",
    "UserLayerInLoop",
]
